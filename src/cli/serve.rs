//! `hcert serve`: opens the data, listens, and serves until it is told to stop.

use std::io::{ErrorKind, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Common, Failure, last_word, log, open, open_files};
use crate::access::Tokens;
use crate::audit::Log;
use crate::backup::{Plan, Schedule};
use crate::config::{self, BACKUP_WITHIN_DATA, Config, is_within};
use crate::engine::{Engine, system_clock};
use crate::http::{self, Server, Settings};
use crate::interaction::Service;
use crate::management::{self, Management, Phase, Watched};
use crate::metrics::Metrics;
use crate::socket;

/// Serve health certificates over HTTP.
///
/// Stops on SIGTERM or Ctrl-C, after finishing what is under way.
#[derive(Debug, Args)]
pub struct Serve {
    /// Address and port to listen on, such as 127.0.0.1:8080; port 0 takes a free one [setting: server.listen]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    #[command(flatten)]
    common: Common,
}

impl Serve {
    /// Runs until SIGTERM or SIGINT.
    pub fn run(self) -> Result<(), Failure> {
        let Serve { listen, common } = self;
        let config = common.load(|config| {
            if let Some(listen) = listen {
                config.server.listen = listen;
            }
        })?;
        // Only the service that will write there looks where links lead: whoever asks after its health must not wait for another disk.
        if config.backup.folder.as_deref().is_some_and(|folder| is_within(folder, &config.storage.data)) {
            return Err(Failure::Usage(BACKUP_WITHIN_DATA.to_owned()));
        }
        log::start(&config.log);
        open::for_owner_only();
        last_word::prepare().map_err(|error| Failure::Failed(format!("SIGBUS cannot be caught: {error}")))?;
        let mut runtime = runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(config.server.workers).enable_all().build();
        runtime
            .map_err(|error| Failure::Failed(format!("no threads could be started: {error}")))?
            .block_on(serve(config))
    }
}

async fn serve(config: Config) -> Result<(), Failure> {
    let metrics = Metrics::new();
    let management = Management::new(metrics.clone(), config.access.mode.name());
    let watched_at = watch(&config.management, &management).await?;
    let listener = bind(&config.server.listen).await?;
    let address = listener.local_addr().map_err(|error| Failure::Failed(error.to_string()))?;
    let mut settings = Settings::new(&config, address)?;
    settings.metrics = metrics.clone();
    let fitting = open_files::make_room_for(settings.connections_max);
    let fitting = fitting.map_err(|error| Failure::Failed(format!("the limit of open files: {error}")))?;
    if fitting < settings.connections_max {
        tracing::warn!(connections_max = fitting, "the limit of open files allows fewer connections than the setting");
        settings.connections_max = fitting;
    }
    // The files are no settings: their disk may come late, and a renewal may be under way.
    settings.tls = http::present(&config.tls).map_err(|problem| Failure::Failed(problem.to_string()))?;
    if let Some(presented) = settings.tls.clone() {
        tokio::spawn(http::keep_current(presented, catch(SignalKind::hangup())?));
    } else if !std::io::stderr().is_terminal() {
        // Whoever keeps a service may ask any of them to read again what it reads. On a terminal it means that the terminal is gone.
        let mut asked = catch(SignalKind::hangup())?;
        tokio::spawn(async move {
            while asked.recv().await.is_some() {
                tracing::info!("SIGHUP: without TLS there is nothing to read again");
            }
        });
    }
    let stop = stop()?;
    let notice = Duration::from_secs(config.management.drain_notice_s);
    let (engine, trail) = open::engine_and_trail(&config, system_clock(), metrics).map_err(Failure::Failed)?;
    let mut policy = open::policy(&config).map_err(Failure::Failed)?;
    policy.audit = Some(trail.clone());
    let service = open::service(&config, engine.clone(), policy, &settings.base_url, system_clock());
    let service = service.map_err(Failure::Failed)?;
    let tokens = Tokens::open(&config, &config.storage.data, system_clock()).map_err(Failure::Failed)?;
    settings.tokens = Some(Arc::new(tokens));
    service.registry().welcome().await.map_err(Failure::Failed)?;
    let folder = &config.storage.data;
    let socket = socket::Server::start(
        folder,
        engine.clone(),
        service.rulebook().clone(),
        trail.clone(),
        service.settings().names.clone(),
    );
    let schedule = scheduled(&config, &engine, &trail)?;
    let socket = socket.map_err(|error| Failure::Failed(format!("{}: {error}", socket::path(folder).display())))?;
    let told = introduction(&settings.base_url, folder, watched_at);
    let server = Server::new(service, settings);
    let mut parts = watched(&config, &engine, trail, &server);
    parts.push(Box::new(management::Backup {
        status: schedule.as_ref().map(|schedule| Box::new(schedule.teller()) as _),
        every_minutes: config.backup.every_minutes,
        clock: system_clock(),
    }));
    management.watch(parts);
    management.enter(Phase::Serving);
    if std::io::stdout().write_all(told.as_bytes()).is_err() {
        tracing::debug!("nobody reads the introduction");
    }
    let stop = async {
        stop.await;
        // Whoever sends requests learns of it first, and comes no more.
        management.enter(Phase::Draining);
        tokio::time::sleep(notice).await;
    };
    http::serve(listener, server, stop).await;
    drop(socket);
    // A backup that is being taken ends between two pieces.
    drop(schedule);
    // Whatever is watched is let go with the folder.
    management.enter(Phase::Closing);
    management.watch(Vec::new());
    tokio::task::spawn_blocking(move || engine.close()).await.map_err(|error| Failure::Failed(error.to_string()))
}

/// Lets the service be watched from here on, and tells where.
///
/// # Errors
/// The address of the settings cannot be listened on. The usual one may be in use: two servers on one machine are no mistake.
async fn watch(settings: &config::Management, management: &Arc<Management>) -> Result<Option<SocketAddr>, Failure> {
    let Some(address) = settings.address() else { return Ok(None) };
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) if settings.listen.is_none() => {
            tracing::warn!(%address, %error, "nobody can watch the service; management.listen names another address");
            return Ok(None);
        }
        Err(error) => return Err(Failure::Failed(format!("management.listen = {address} cannot be used: {error}"))),
    };
    let at = listener.local_addr().map_err(|error| Failure::Failed(error.to_string()))?;
    tokio::spawn(management::serve(listener, management.clone()));
    Ok(Some(at))
}

fn watched(
    config: &Config,
    engine: &Arc<Engine>,
    trail: Arc<Log>,
    server: &Arc<Server<Service>>,
) -> Vec<Box<dyn Watched>> {
    let free_bytes_min = config.management.disk_free_mb_min * 1024 * 1024;
    vec![
        Box::new(management::Storage(engine.clone())),
        Box::new(management::Disk { folder: config.storage.data.clone(), free_bytes_min }),
        Box::new(management::Trail(trail)),
        Box::new(management::Registry(server.clone())),
        Box::new(management::Door(server.clone())),
        Box::new(management::Tls(server.clone())),
    ]
}

/// Backups by the clock, where the settings name a folder for them.
fn scheduled(config: &Config, engine: &Arc<Engine>, trail: &Arc<Log>) -> Result<Option<Schedule>, Failure> {
    let Some(folder) = config.backup.folder.clone() else { return Ok(None) };
    let config::Backup { every_minutes, full_every, keep_days, .. } = config.backup;
    let plan = Plan { folder, every_minutes, full_every, keep_days };
    let schedule = Schedule::start(plan, engine.clone(), trail.clone(), system_clock());
    schedule.map(Some).map_err(Failure::Failed)
}

async fn bind(listen: &str) -> Result<TcpListener, Failure> {
    http::bind(listen).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            let advice = "stop what listens there or choose another address with --listen";
            Failure::Failed(format!("{listen} is already in use; {advice}"))
        }
        ErrorKind::PermissionDenied => {
            Failure::Failed(format!("{listen} may not be used by this user; ports below 1024 often need more rights"))
        }
        ErrorKind::AddrNotAvailable => Failure::Failed(format!("{listen} is no address of this machine")),
        ErrorKind::InvalidInput => {
            Failure::Usage(format!("server.listen = '{listen}' is not an address with a port, such as 127.0.0.1:8080"))
        }
        _ => Failure::Failed(format!("{listen} cannot be listened on: {error}")),
    })
}

fn catch(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::Failed(format!("signals cannot be caught: {error}")))
}

/// Ready on the first SIGTERM or SIGINT. A second one ends the process at once.
fn stop() -> Result<impl Future<Output = ()>, Failure> {
    let (mut terminate, mut interrupt) = (catch(SignalKind::terminate())?, catch(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping; a second signal ends at once");
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            super::leave(1);
        });
    })
}

fn introduction(base_url: &str, data: &Path, watched_at: Option<SocketAddr>) -> String {
    let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    let version = env!("CARGO_PKG_VERSION");
    let watched_at = watched_at.map(|address| format!("health http://{address}/health\n")).unwrap_or_default();
    format!(
        "hcert {version} listens on {base_url}\ndata   {}\n{watched_at}try    curl '{base_url}/metadata?_pretty=true'\n",
        data.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_introduction_says_where_and_what_to_try() {
        let watched_at = "127.0.0.1:8081".parse().ok();
        let told = introduction("http://127.0.0.1:8080/fhir", Path::new("/var/lib/hcert"), watched_at);
        assert!(told.contains("listens on http://127.0.0.1:8080/fhir\n"));
        assert!(told.contains("/var/lib/hcert\n"));
        assert!(told.contains("health http://127.0.0.1:8081/health\n"));
        assert!(told.contains("curl 'http://127.0.0.1:8080/fhir/metadata?_pretty=true'"));
    }

    #[tokio::test]
    async fn an_address_that_cannot_be_used_is_explained() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let _holder = TcpListener::bind(taken).await.unwrap();
        for (listen, told) in [
            (taken.to_string().as_str(), "already in use"),
            ("192.0.2.1:0", "no address of this machine"),
            ("127.0.0.1", "not an address with a port"),
        ] {
            let failure = bind(listen).await.unwrap_err();
            assert!(failure.to_string().contains(told), "{failure}");
        }
    }
}
