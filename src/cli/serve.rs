//! `hcert serve`: opens the data, listens, and serves until it is told to stop.

use std::io::{self, ErrorKind, IsTerminal};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::{Common, Failure, console, crash_message, demo, log, open, open_files};
use crate::access::{Tokens, token};
use crate::audit::{AuditAction, AuditEvent, AuditTrail};
use crate::backup::{self, BackupPlan, Schedule};
use crate::bench::parse_count;
use crate::bulk;
use crate::config::{self, AccessMode, BACKUP_WITHIN_DATA, Config, LoadedConfig, exposure, is_within};
use crate::console::SettingInEffect;
use crate::documents::Documents;
use crate::http::exchanges::Exchanges;
use crate::http::{self, HttpServer, HttpSettings};
use crate::interaction::Service;
use crate::management::{self, CallerGuard, ManagementService, ServicePhase, WatchedPart};
use crate::output::{QueuedOutput, write_aside};
use crate::registry::Registry;
use crate::socket;
use base::log::{event, shown};
use base::metrics::Metrics;
use base::threads;
use engine::{Engine, MADE_BY, system_clock};

/// Seconds between two times that the store is told the head of the audit trail. One commit each, where events came.
const AUDIT_HEAD_S: u64 = 30;

/// The year 10000, counted from 1970.
const HTTP_DATES_END: Duration = Duration::from_secs(253_402_300_800);

/// What becomes of `console.listen` in `hcert dev`.
const CONSOLE_UNUSED: &str =
    "console.listen is for `hcert serve`; `hcert dev` has its pages at server.listen, and ignores it";

/// Serve health certificates of real people over HTTP
///
/// Nobody is let in without a token of the issuer that [access.token] names; without that it does not start. Stops on SIGTERM or Ctrl-C,
/// after finishing what is under way.
#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    flags: Flags,
}

/// Run the whole service on this machine for trying it out, with made-up people
///
/// Every caller on this machine may do everything without a token; one with a token (POST /auth/v2/token, hcert token) has that token's
/// rights. Requests through proxies, from pages of other origins and over HTTP/1.0 are refused. Where --listen is an address that other
/// machines reach, the printed address holds a secret. Stops on SIGTERM or Ctrl-C.
#[derive(Debug, Args)]
pub(super) struct Dev {
    /// Fill a folder that holds no certificates with made-up people and so many certificates first, such as 1000, 10k or 1M
    #[arg(long, value_name = "N", value_parser = parse_count)]
    demo: Option<u64>,
    #[command(flatten)]
    flags: Flags,
}

impl Serve {
    /// Runs until SIGTERM or SIGINT.
    pub(super) fn run(self, documents: &'static Documents) -> Result<(), Failure> {
        self.flags.run(AccessMode::Jwt, None, documents)
    }
}

impl Dev {
    /// Runs until SIGTERM or SIGINT.
    pub(super) fn run(self, documents: &'static Documents) -> Result<(), Failure> {
        self.flags.run(AccessMode::Developer, self.demo, documents)
    }
}

/// The flags of both.
#[derive(Debug, Args)]
struct Flags {
    /// Address and port to listen on, such as 127.0.0.1:8080; port 0 takes a free one [setting: server.listen]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    #[command(flatten)]
    common: Common,
}

impl Flags {
    fn run(self, mode: AccessMode, demo: Option<u64>, documents: &'static Documents) -> Result<(), Failure> {
        let Flags { listen, common } = self;
        ignore_signals();
        let failed = |what: &str, error: io::Error| Failure::Failed(format!("{what}: {error}"));
        threads::expect(0).map_err(Failure::Failed)?;
        let output = log::open().map_err(|error| failed("the log cannot be written", error))?;
        let names_listen = listen.is_some();
        let flags = |config: &mut Config| {
            config.access.mode = mode;
            if let Some(listen) = listen {
                config.server.listen = listen;
            }
        };
        let mut loaded = common.load_with(flags, named_files)?;
        if names_listen {
            loaded.given_by("server.listen", "--listen");
        }
        let in_effect = console::settings(&loaded);
        let LoadedConfig { config, warnings, .. } = loaded;
        // Only the service that will write there looks where links lead: whoever asks after its health must not wait for another disk.
        if config.backup.folder.as_deref().is_some_and(|folder| is_within(folder, &config.storage.data)) {
            return Err(Failure::Usage(BACKUP_WITHIN_DATA.to_owned()));
        }
        log::start(&config.log, &output);
        let unused =
            (mode == AccessMode::Developer && config.console.listen.is_some()).then(|| CONSOLE_UNUSED.to_owned());
        for warning in warnings.into_iter().chain(unused).chain(exposure::all(&config)) {
            event!(SETTINGS_WARNING, problem = warning.as_str());
        }
        expect_clock(SystemTime::now())?;
        open::for_owner_only();
        // Before any address: where both are in use, the folder says more of why.
        open::expect_unused(&config.storage.data, false).map_err(Failure::Failed)?;
        crash_message::prepare().map_err(|error| Failure::Failed(format!("SIGBUS cannot be caught: {error}")))?;
        connections(config.server.connections_max)?;
        threads::expect(config.server.workers).map_err(Failure::Failed)?;
        let mut runtime = runtime::Builder::new_multi_thread();
        let runtime = threads::keep_blocking(runtime.worker_threads(config.server.workers).enable_all());
        let runtime = runtime.map_err(|error| failed("no threads could be started", error))?;
        let metrics = Metrics::new();
        let management = ManagementService::new(metrics.clone(), config.access.mode.name());
        let watched = watch(&config.management)?;
        let watched_at = watched.as_ref().map(TcpListener::local_addr).transpose();
        let watched_at = watched_at.map_err(|error| failed("management.listen", error))?;
        let guard = CallerGuard::open(&config.management).map_err(Failure::Failed)?;
        let started = management::start(management.clone(), watched, guard.clone(), runtime.handle().clone());
        started.map_err(|error| failed("the service cannot be watched", error))?;
        let served = runtime.block_on(serve(
            config,
            metrics,
            management,
            guard,
            watched_at,
            (output, demo, documents, in_effect),
        ));
        // Everything that has to last was written, so nothing that still hangs holds up the end.
        runtime.shutdown_background();
        served
    }
}

/// How many connections fit under the limit of open files, which is raised as far as it may be. Libraries panic where there are too few.
fn connections(wanted: usize) -> Result<management::Connections, Failure> {
    let fitting = open_files::make_room_for(wanted);
    let fitting = fitting.map_err(|error| Failure::Failed(format!("the limit of open files: {error}")))?;
    let connections = management::Connections { wanted, fitting };
    connections.check().map_err(Failure::Failed)?;
    Ok(connections)
}

/// Keeps signals that mean nothing to the service from ending it: SIGUSR1 and SIGUSR2, which rotators of logs send, and SIGHUP until
/// `serve` catches it. On a terminal SIGHUP means that the terminal is gone. Decision 212.
fn ignore_signals() {
    let hangup = (!io::stderr().is_terminal()).then_some(libc::SIGHUP);
    for number in [libc::SIGUSR1, libc::SIGUSR2].into_iter().chain(hangup) {
        // SAFETY: it changes what a signal does, and runs no code of ours.
        unsafe { libc::signal(number, libc::SIG_IGN) };
    }
}

/// What is wrong with the files that the settings name. Certificates and keys of TLS are not among them: their disk may come late, and a renewal may
/// be under way, so that trying again helps. Contract 9.4.
pub(super) fn named_files(config: &Config) -> Vec<String> {
    let token = config.management.token_file.as_deref().map_or(Ok(()), |path| management::token(path).map(drop));
    [
        open::policy(config).map(drop),
        token::check(config),
        Registry::check(config),
        http::check_lists(&config.tls),
        token,
    ]
    .into_iter()
    .filter_map(Result::err)
    .chain(console::check(config))
    .collect()
}

async fn serve(
    config: Config,
    metrics: Arc<Metrics>,
    management: Arc<ManagementService>,
    guard: Arc<CallerGuard>,
    watched_at: Option<SocketAddr>,
    (output, demo, documents, settings_in_effect): (
        QueuedOutput,
        Option<u64>,
        &'static Documents,
        Vec<SettingInEffect>,
    ),
) -> Result<(), Failure> {
    let listener = bind("server.listen", &config.server.listen).await?;
    let is_developer = config.access.mode == AccessMode::Developer;
    let address = listener.local_addr().map_err(|error| Failure::Failed(error.to_string()))?;
    let pages = pages_address(&config).await?;
    let mut settings = HttpSettings::new(&config, address)?;
    if !settings.secret.is_empty() {
        let secret = token::kept_secret(&config.storage.data).map_err(Failure::Failed)?;
        settings = settings.with_secret(&secret);
    }
    settings.metrics = metrics.clone();
    let connections = connections(settings.connections_max)?;
    let fitting = connections.fitting;
    if fitting < settings.connections_max {
        event!(CONNECTIONS_FEWER, connections_max = fitting);
        settings.connections_max = fitting;
    }
    if let Some(problem) = memory(&config).problem() {
        event!(MEMORY_BEYOND_LIMIT, problem = problem.as_str());
    }
    // As `named_files` says.
    settings.tls = http::present(&config.tls).map_err(|problem| Failure::Failed(problem.to_string()))?;
    for server_certificate in settings.tls.iter().chain(&guard.tls) {
        tokio::spawn(http::keep_current(server_certificate.clone(), catch(SignalKind::hangup())?));
    }
    if settings.tls.is_none() && guard.tls.is_none() && !io::stderr().is_terminal() {
        // Whoever keeps a service may ask any of them to read again what it reads. On a terminal it means that the terminal is gone.
        let mut asked = catch(SignalKind::hangup())?;
        tokio::spawn(async move {
            while asked.recv().await.is_some() {
                event!(HANGUP_WITHOUT_TLS);
            }
        });
    }
    let mut stop = stop(management.clone(), settings.drain_timeout)?;
    let notice = Duration::from_secs(config.management.drain_notice_s);
    let opened = open::engine_and_trail(&config, system_clock(), metrics);
    let (engine, trail) = opened.map_err(|problem| match problem.contains(MADE_BY) {
        true => Failure::Usage(problem),
        false => Failure::Failed(problem),
    })?;
    let mut policy = open::policy(&config).map_err(Failure::Failed)?;
    policy.audit = Some(trail.clone());
    let permissions = policy.permissions.clone();
    let in_effect = format!("settings {}, permissions {}", config.fingerprint(), permissions.fingerprint());
    let service = open::service(&config, engine.clone(), policy, &settings.base_url, system_clock());
    let service = service.map_err(Failure::Failed)?;
    let tokens = Tokens::open(&config, &config.storage.data, system_clock()).map_err(Failure::Failed)?;
    let tokens = Arc::new(tokens.for_roles_of(permissions));
    settings.tokens = Some(tokens.clone());
    if is_developer || pages.is_some() {
        let sign_in = pages.as_ref().map(|(_, base_url)| console::sign_in(&config, base_url)).transpose();
        let exchanges = Arc::new(Exchanges::new(is_developer));
        let parts = console::ConsoleParts {
            config: &config,
            settings: settings_in_effect,
            engine: &engine,
            trail: &trail,
            tokens: tokens.clone(),
            names: service.settings().names.clone(),
            faults: service.registry().faults().clone(),
            management: management.clone(),
            metrics: settings.metrics.clone(),
            exchanges: exchanges.clone(),
            documents,
            sign_in: sign_in.map_err(Failure::Failed)?,
        };
        settings.exchanges = Some(exchanges);
        settings.pages = Some(console::pages(parts)?);
    }
    service.registry().add_samples().await.map_err(Failure::Failed)?;
    let demo = match demo {
        Some(count) => {
            let filled = demo::fill(&config, &engine, &trail, count).await.map_err(Failure::Failed)?;
            format!("demo   {}\n{}", filled.summary(), demo::people())
        }
        None => String::new(),
    };
    let folder = &config.storage.data;
    let recipients = backup::recipients(&config.backup.recipients).map_err(Failure::Failed)?;
    let socket = socket::SocketServer::start(
        folder,
        engine.clone(),
        service.rulebook().clone(),
        trail.clone(),
        service.settings().names.clone(),
        recipients,
        config.server.body_bytes_max,
    );
    let schedule = scheduled(&config, &engine, &trail)?;
    let socket = socket.map_err(|error| Failure::Failed(format!("{}: {error}", folder.display())))?;
    let (pages, console_url) = pages.unzip();
    let open_at = if is_developer { Some(settings.root()) } else { console_url };
    let told = introduction(
        config.access.mode,
        (open_at.as_deref(), &settings.base_url),
        folder,
        watched_at.map(|address| (config.management.scheme(), address)),
    );
    let server = HttpServer::new(service, settings);
    let pool = server.pool().clone();
    let mut parts = watched(&config, &engine, trail.clone(), &server);
    parts.push(Box::new(management::ManagementAddress(guard)));
    parts.push(Box::new(management::LogOutput(output)));
    parts.push(Box::new(connections));
    if is_developer {
        parts.push(Box::new(management::DeveloperMode));
    }
    parts.push(Box::new(management::BackupPart {
        status: schedule.as_ref().map(|schedule| Box::new(schedule.teller()) as _),
        every_minutes: config.backup.every_minutes,
        clock: system_clock(),
    }));
    management.watch(parts);
    management.watch_pool(Some(pool));
    management.enter(ServicePhase::Serving);
    let command = config.access.mode.command();
    bulk::write_down(&trail, AuditAction::ServiceStart, command, Some(in_effect), None).map_err(Failure::Failed)?;
    let keys_trail = trail.clone();
    tokens.observe_keys(Box::new(move |keys| {
        let mut event = AuditEvent::of_command(AuditAction::ServiceKeys, system_clock()(), command);
        event.note = Some(format!("keys {keys}"));
        // A trail that takes nothing refuses the requests that come with them.
        drop(keys_trail.append(&event));
    }));
    tell_start(&config, &engine, address, watched_at);
    if let Err(error) = write_aside(io::stdout(), told + &demo) {
        event!(INTRODUCTION_UNREAD, %error);
    }
    let keeping = tokio::spawn(keep_trail_head(engine.clone(), trail.clone()));
    let stop = async {
        // The value stays when the task that sends it has ended.
        drop(stop.wait_for(|is_asked| *is_asked).await);
        // Whoever sends requests learns of it first, and comes no more.
        management.enter(ServicePhase::Draining);
        tokio::time::sleep(notice).await;
    };
    http::serve_with_pages(listener, pages, server, stop).await;
    drop(socket);
    // A backup that is being taken ends between two pieces.
    drop(schedule);
    // Whatever is watched is let go with the folder.
    management.enter(ServicePhase::Closing);
    management.watch(Vec::new());
    management.watch_pool(None);
    let written = bulk::write_down(&trail, AuditAction::ServiceStop, command, None, None);
    keeping.abort();
    drop(keeping.await);
    if let Err(problem) = bulk::keep_trail_head(&engine, &trail, None).await {
        event!(AUDIT_HEAD_NOT_KEPT, problem);
    }
    drop(trail);
    let closed = tokio::task::spawn_blocking(move || engine.close()).await;
    log::finish();
    event!(SERVICE_STOP, version = env!("CARGO_PKG_VERSION"));
    closed.map_err(|error| Failure::Failed(error.to_string()))?;
    written.map_err(Failure::Failed)
}

/// Lets the store know the head of the audit trail now and then, until it is aborted.
async fn keep_trail_head(engine: Arc<Engine>, trail: Arc<AuditTrail>) {
    let mut kept = open::kept_head(&engine);
    loop {
        tokio::time::sleep(Duration::from_secs(AUDIT_HEAD_S)).await;
        match bulk::keep_trail_head(&engine, &trail, kept).await {
            Ok(head) => kept = head,
            Err(problem) => event!(AUDIT_HEAD_NOT_KEPT, problem),
        }
    }
}

/// The line that says what runs here. The data folder's name is the operator's, and may hold a personal code.
fn tell_start(config: &Config, engine: &Engine, listen: SocketAddr, management: Option<SocketAddr>) {
    let data = std::path::absolute(&config.storage.data).unwrap_or_else(|_| config.storage.data.clone());
    event!(
        SERVICE_START,
        version = env!("CARGO_PKG_VERSION"),
        settings = config.fingerprint(),
        format = engine.origin().format,
        epoch = engine.origin().epoch,
        access = config.access.mode.name(),
        data = shown(&data.to_string_lossy()),
        %listen,
        management = management.map(tracing::field::display),
        level = config.log.level.name(),
        sample = config.log.sample
    );
}

/// Listens for whoever watches the service.
///
/// # Errors
/// The address of the settings cannot be listened on. The usual one may be in use: two servers on one machine are no mistake.
fn watch(settings: &config::ManagementSettings) -> Result<Option<TcpListener>, Failure> {
    let Some(address) = settings.address() else { return Ok(None) };
    match TcpListener::bind(address) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if settings.listen.is_none() => {
            event!(MANAGEMENT_IN_USE, %address, %error);
            Ok(None)
        }
        Err(error) => Err(Failure::Failed(format!("management.listen = {address} cannot be used: {error}"))),
    }
}

fn watched(
    config: &Config,
    engine: &Arc<Engine>,
    trail: Arc<AuditTrail>,
    server: &Arc<HttpServer<Service>>,
) -> Vec<Box<dyn WatchedPart>> {
    let named = config.clone();
    let free_bytes_min = config.management.disk_free_mb_min * 1024 * 1024;
    vec![
        Box::new(management::StoragePart(engine.clone())),
        Box::new(management::ClockPart(engine.clone())),
        Box::new(management::DiskPart { folder: config.storage.data.clone(), free_bytes_min }),
        Box::new(management::TrailPart(trail)),
        Box::new(management::RegistryPart(server.clone())),
        Box::new(management::HttpPart(server.clone())),
        Box::new(management::TlsPart(server.clone())),
        Box::new(management::TokenKeys(server.clone())),
        Box::new(management::FilesPart(Box::new(move || exposure::all(&named)))),
        Box::new(memory(config)),
    ]
}

/// The sum of the bounds on memory, and the limit of this process.
pub(super) fn memory(config: &Config) -> management::MemorySum {
    management::MemorySum { bytes_max: config.memory_bytes_max(), limit: management::MemoryLimit::of_process() }
}

/// Backups by the clock, where the settings name a folder for them.
fn scheduled(config: &Config, engine: &Arc<Engine>, trail: &Arc<AuditTrail>) -> Result<Option<Schedule>, Failure> {
    let Some(folder) = config.backup.folder.clone() else { return Ok(None) };
    let config::BackupSettings { every_minutes, full_every, keep_days, ref recipients, .. } = config.backup;
    let (recipients, data) = (recipients.clone(), config.storage.data.clone());
    let plan = BackupPlan { folder, every_minutes, full_every, keep_days, recipients, data };
    // A recipient that is none is told before the first backup is due.
    backup::Sealing::open(&plan.recipients, &plan.data).map_err(Failure::Failed)?;
    let schedule = Schedule::start(plan, engine.clone(), trail.clone(), system_clock());
    schedule.map(Some).map_err(Failure::Failed)
}

/// Whether the system clock is within the years that HTTP has dates for; the library that writes the header `Date` panics outside of them.
/// Decision 218.
fn expect_clock(now: SystemTime) -> Result<(), Failure> {
    match now.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) if since < HTTP_DATES_END => Ok(()),
        _ => Err(Failure::Failed("the system clock is outside of the years 1970 to 9999; set it right".to_owned())),
    }
}

/// Listens on the address of a setting.
async fn bind(setting: &str, listen: &str) -> Result<tokio::net::TcpListener, Failure> {
    http::bind(listen).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            let flag = if setting == "server.listen" { " (--listen)" } else { "" };
            let advice = format!("stop what listens there or choose another address with {setting}{flag}");
            Failure::Failed(format!("{listen} is already in use; {advice}"))
        }
        ErrorKind::PermissionDenied => {
            Failure::Failed(format!("{listen} may not be used by this user; ports below 1024 often need more rights"))
        }
        ErrorKind::AddrNotAvailable => Failure::Failed(format!("{listen} is not an address of this machine")),
        ErrorKind::InvalidInput => {
            Failure::Usage(format!("{setting} = '{listen}' is not an address with a port, such as 127.0.0.1:8080"))
        }
        _ => Failure::Failed(format!("{listen} cannot be listened on: {error}")),
    })
}

/// Where `hcert serve` has pages, and how browsers find them.
async fn pages_address(config: &Config) -> Result<Option<(tokio::net::TcpListener, String)>, Failure> {
    let listen = config.console.listen.as_deref().filter(|_| config.access.mode == AccessMode::Jwt);
    let Some(listen) = listen else { return Ok(None) };
    let listener = bind("console.listen", listen).await?;
    let address = listener.local_addr().map_err(|error| Failure::Failed(format!("console.listen: {error}")))?;
    Ok(Some((listener, config.console_base_url(address))))
}

fn catch(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::Failed(format!("signals cannot be caught: {error}")))
}

/// Becomes true on the first SIGTERM or SIGINT. A second one ends the process at once. A start that has not come to its end within
/// `patience` after the first is given up, as if the process were killed: what was opened is as safe as after a crash.
fn stop(management: Arc<ManagementService>, patience: Duration) -> Result<watch::Receiver<bool>, Failure> {
    let (mut terminate, mut interrupt) = (catch(SignalKind::terminate())?, catch(SignalKind::interrupt())?);
    let (asked, stop) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        event!(SERVICE_STOPPING);
        asked.send_replace(true);
        tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            if management.phase() == ServicePhase::Opening {
                super::leave(0);
            }
        });
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            super::leave(1);
        });
    });
    Ok(stop)
}

const DEVELOPER_NOTE: &str = "mode   developer: everybody on this machine may do everything, and people are made up; hcert serve is for real data\n";

fn introduction(
    mode: AccessMode,
    (open_at, base_url): (Option<&str>, &str),
    data: &Path,
    watched_at: Option<(&str, SocketAddr)>,
) -> String {
    let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    let version = env!("CARGO_PKG_VERSION");
    let watched_at =
        watched_at.map(|(scheme, address)| format!("health {scheme}://{address}/health\n")).unwrap_or_default();
    let (mode, note) = match mode {
        AccessMode::Developer => (" in developer mode", DEVELOPER_NOTE),
        AccessMode::Jwt => ("", ""),
    };
    let open = open_at.map(|root| format!("open   {root}/ in a browser\n")).unwrap_or_default();
    format!(
        "hcert {version}{mode} listens on {base_url}\n{open}{note}data   {}\n{watched_at}try    curl '{base_url}/metadata?_pretty=true'\n",
        data.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_introduction_says_where_and_what_to_try() {
        let watched_at = Some(("http", "127.0.0.1:8081".parse().unwrap()));
        let address = (None, "http://127.0.0.1:8080/fhir");
        let told = introduction(AccessMode::Jwt, address, Path::new("/var/lib/hcert"), watched_at);
        assert!(told.contains("listens on http://127.0.0.1:8080/fhir\n"));
        assert!(told.contains("/var/lib/hcert\n"));
        assert!(told.contains("health http://127.0.0.1:8081/health\n"));
        assert!(told.contains("curl 'http://127.0.0.1:8080/fhir/metadata?_pretty=true'"));
    }

    #[test]
    fn a_clock_without_http_dates_ends_the_start() {
        let begin = SystemTime::UNIX_EPOCH;
        let second = Duration::from_secs(1);
        assert!(expect_clock(begin).is_ok() && expect_clock(begin + HTTP_DATES_END - second).is_ok());
        for wrong in [begin - second, begin + HTTP_DATES_END] {
            assert!(expect_clock(wrong).unwrap_err().to_string().contains("1970 to 9999"));
        }
    }

    #[tokio::test]
    async fn an_address_that_cannot_be_used_is_explained() {
        let holder = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = holder.local_addr().unwrap();
        for (listen, told) in [
            (taken.to_string().as_str(), "already in use"),
            ("192.0.2.1:0", "not an address of this machine"),
            ("127.0.0.1", "not an address with a port"),
        ] {
            let failure = bind("server.listen", listen).await.unwrap_err();
            assert!(failure.to_string().contains(told), "{failure}");
        }
    }
}
