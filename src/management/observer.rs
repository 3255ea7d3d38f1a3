//! The thread that watches the service, with a runtime of its own: it answers and keeps systemd informed also while every thread that
//! answers requests hangs.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime::{self, Handle};
use tokio::select;
use tokio::time::{MissedTickBehavior, interval};

use super::liveness::Heartbeat;
use super::systemd::Systemd;
use super::{CallerGuard, ManagementService, listener};
use base::log::event;
use base::threads;

/// Starts the thread. It watches the threads of `requests` until the process ends, and answers where there is a listener.
///
/// # Errors
/// No thread can be started.
pub fn start(
    management: Arc<ManagementService>,
    listener: Option<TcpListener>,
    guard: Arc<CallerGuard>,
    requests: Handle,
) -> io::Result<()> {
    let systemd = Systemd::of_environment();
    let mut runtime = runtime::Builder::new_current_thread();
    let runtime = threads::keep_blocking(runtime.enable_all().thread_name("management-look"))?;
    if let Some(listener) = &listener {
        listener.set_nonblocking(true)?;
    }
    let run = move || {
        runtime.block_on(async {
            if let Some(listener) = listener {
                tokio::spawn(Arc::clone(&guard).keep_current());
                tokio::spawn(listener::serve(listener, Arc::clone(&management), guard));
            }
            observe(&management, Heartbeat::new(requests), systemd).await;
        });
    };
    thread::Builder::new().name("management".to_owned()).spawn(run).map(drop)
}

async fn observe(management: &ManagementService, mut heartbeat: Heartbeat, mut systemd: Option<Systemd>) {
    let mut seconds = interval(Duration::from_secs(1));
    // A process that was suspended has missed no heartbeats meanwhile.
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let second = select! {
            _ = seconds.tick() => true,
            () = management.phase_changed.notified() => false,
        };
        if second {
            let (before, now) = (management.liveness().problem(), heartbeat.beat(management.pool().as_ref()));
            management.set_liveness(now);
            match (before, now.problem()) {
                (None, Some(problem)) => event!(SERVICE_HANGS, problem),
                (Some(_), None) => event!(SERVICE_RUNS_AGAIN),
                _ => {}
            }
        }
        if let Some(systemd) = &mut systemd {
            systemd.report(management.phase(), management.liveness().problem().is_none(), second);
        }
    }
}
