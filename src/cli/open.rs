//! What commands open: the data folder and the service over it, as the settings say.

use std::borrow::Cow;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use super::note;
use super::writable::{hindrance, unreadable};
use crate::access::rights::permissions::{self, Roles};
use crate::access::rights::{BUILT_IN, Permissions};
use crate::access::token::DEVELOPER_KEY_FILE;
use crate::audit::{
    self, AuditAction, AuditEvent, AuditTrail, ChainHead, TRAIL_DAMAGED, TrailFiles, TrailVerifyReport,
};
use crate::backup;
use crate::bulk;
use crate::config::{AccessMode, Config, FullUrl, QuickRepairSetting};
use crate::interaction::changes;
use crate::interaction::{Policy, Rulebook, Service, ServiceSettings, TokenPolicy, subjects};
use crate::registry::Registry;
use crate::socket::{self, CommandConnection, CommandRequest};
use base::log::event;
use base::metrics::Metrics;
use base::{owner, regular_file};
use certificate::search::paging::Counts;
use certificate::{Id, Names, Seq};
use engine::{
    self, Clock, DAMAGED, Engine, EngineOrigin, ErasedCertificate, FOLDER_LOCK, FolderPurpose, JOURNAL_FILES,
    RESTORING, RestoredStore, STORE_FILE,
};

/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Files this process makes from here on are for their owner only: 0600, folders 0700. They hold health data. Contract 9.1.
pub(super) fn for_owner_only() {
    // SAFETY: umask only changes a number of this process, and no call of it can fail.
    unsafe { libc::umask(0o077) };
}

/// Files of the data folder beside the store that are made where they are missing.
const MADE_AGAIN: [&str; 9] = [
    "hcert.pid",
    FOLDER_LOCK,
    JOURNAL_FILES[0],
    JOURNAL_FILES[1],
    "store.room",
    "store.unsynced",
    "audit.unsynced",
    DEVELOPER_KEY_FILE,
    backup::SIGNING_KEY_FILE,
];

/// What is written to in the data folder, or in it, by its own name. Whoever else can write there can lay links in the way of what is made.
const WRITTEN_WITHIN: [&str; 8] =
    ["audit", "index", "index.new", "index.old", STORE_FILE, JOURNAL_FILES[0], JOURNAL_FILES[1], FOLDER_LOCK];

/// Refuses a data folder with a FIFO or a device among its files, because opening one may wait for ever, and with a folder or a socket in
/// place of one. In the folder of the audit trail only its own names count; what has the name of an index is left out, since it is opened
/// as a folder only, and the next start replaces it.
///
/// # Errors
/// One of them is none. In place of the store or of a file of the audit trail that is damage.
pub(super) fn expect_regular_files(folder: &Path) -> Result<(), String> {
    let audit = audit::folder(folder);
    let files = [folder, &audit].into_iter().filter_map(|folder| fs::read_dir(folder).ok());
    let mut paths = files.flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_of_trail = |path: &Path| path.parent() == Some(&audit) && audit::is_file_name(&name(path));
    let is_own = |path: &Path| {
        let made_again = MADE_AGAIN.contains(&name(path).as_str()) && path.parent() == Some(folder);
        made_again || is_of_trail(path) || path.ends_with(STORE_FILE)
    };
    let kind = |path: &Path| {
        let is_folder = (is_own(path) || *path == socket::path(folder)) && path.is_dir();
        let is_socket = is_own(path) && fs::metadata(path).is_ok_and(|found| found.file_type().is_socket());
        match (is_folder, is_socket) {
            // No link to a file of the trail is followed.
            _ if is_of_trail(path) && path.is_symlink() => Some("a link"),
            (true, _) => Some("a folder"),
            (_, true) => Some("a socket"),
            // What else lies beside the trail is nobody's business. Other folders may be there, such as lost+found.
            _ if path.parent() == Some(&audit) && !is_own(path) => None,
            _ => regular_file::kind(path).filter(|_| path.file_stem().is_none_or(|name| name != "index")),
        }
    };
    let Some((kind, path)) = paths.find_map(|path| Some((kind(&path)?, path))) else { return Ok(()) };
    let problem = format!("{} is {kind} and no regular file; remove it", path.display());
    Err(match (is_of_trail(&path), path.ends_with(STORE_FILE)) {
        (true, _) => format!("{TRAIL_DAMAGED}: {problem}, and put the file back if you have it"),
        (_, true) => format!("{DAMAGED}: {problem}"),
        _ => problem,
    })
}

/// Whoever owns the folder may have laid a link to what only the user of this command can read, to get it out of the answer. What is in it by
/// its own name is a file or a folder of its own; links are an operator's, in a folder of theirs.
///
/// # Errors
/// The folder belongs to another user than root, and one of its files is a link.
fn expect_no_links_of_others(folder: &Path) -> Result<(), String> {
    if owner::other_owner(folder).is_none() {
        return Ok(());
    }
    let names = MADE_AGAIN.into_iter().chain(WRITTEN_WITHIN);
    let of_trail = fs::read_dir(audit::folder(folder)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths = names.map(|name| folder.join(name)).chain(of_trail);
    match paths.find(|path| path.is_symlink()) {
        None => Ok(()),
        Some(path) => Err(format!(
            "{} is a link, which is not followed in a folder of another user; run this as the owner of the folder",
            path.display()
        )),
    }
}

/// Nobody named the data folder that happens to lie in the working directory: whoever else owns it may have laid it there to be taken for
/// one of the caller's, with a server of their own. One that was named is looked at and asked, whoever owns it.
///
/// # Errors
/// It is the default one and belongs to another user than root, in words for the person at the terminal.
fn expect_named(config: &Config) -> Result<(), String> {
    let folder = &config.storage.data;
    match owner::other_owner(folder) {
        Some(owner) if *folder == Config::default().storage.data => Err(format!(
            "{0}: it belongs to user {owner} of this machine and was not named; run this as that user, or name it: --data ./{0}",
            folder.display()
        )),
        _ => Ok(()),
    }
}

/// Whether no other process has the data folder, whatever became of the files in it. Those who look share it.
///
/// # Errors
/// One has, in words for the person at the terminal.
pub(super) fn expect_unused(folder: &Path, looks: bool) -> Result<(), String> {
    engine::expect_unused(folder, looks).map_err(|error| unopened(folder, &error))
}

/// Whether the data folder holds a store, for commands that look at one and make none. A running server is asked before: it still has the
/// store that was removed from the folder. Decision 216.
///
/// # Errors
/// There is none, or another process has the folder, in words for the person at the terminal.
pub(super) fn expect_store(config: &Config) -> Result<(), String> {
    // A link of another user is reported as that, before it is reported as damage.
    expect_no_links_of_others(&config.storage.data)?;
    expect_regular_files(&config.storage.data)?;
    expect_store_alone(config)
}

/// As [`expect_store`], whatever became of the files beside the store.
///
/// # Errors
/// As there.
pub(super) fn expect_store_alone(config: &Config) -> Result<(), String> {
    let folder = &config.storage.data;
    let told = |problem: &str| Err(format!("{}: {problem}", folder.display()));
    expect_named(config)?;
    expect_no_links_of_others(folder)?;
    expect_unused(folder, true)?;
    match fs::metadata(folder.join(STORE_FILE)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            told("this is no folder: it is a file, or lies below one")
        }
        Err(error) if error.kind() != ErrorKind::NotFound => told(&unreadable(folder, &error)),
        Err(_) if folder.join(RESTORING).exists() => Ok(()),
        Err(_) if !folder.is_dir() => {
            told("there is no data folder; --data names another one, `hcert serve` or `hcert dev` makes a new one")
        }
        Err(_) => {
            told("there is no store in this folder; is its disk mounted? `hcert serve` or `hcert dev` makes a new one")
        }
    }
}

/// Opens the data folder to look at it, which changes nothing in it and needs no right to write there.
///
/// # Errors
/// Why it cannot be opened, in words for the person at the terminal.
pub(super) fn look(config: &Config) -> Result<Engine, String> {
    let folder = &config.storage.data;
    expect_store(config)?;
    let looked = Engine::open_read_only(options(config, engine::system_clock(), Metrics::new()));
    looked.map_err(|error| unopened(folder, &error))
}

/// Why a data folder cannot be opened, in words for the person at the terminal.
fn unopened(folder: &Path, error: &engine::StoreError) -> String {
    let hint = match (error, hindrance(folder)) {
        (engine::StoreError::InUse(_), Some(why)) => format!("; only its owner can ask it ({why})"),
        (engine::StoreError::InUse(_), None) if !socket::path(folder).exists() => {
            "; it has no socket (hcert.sock) to be asked through: it is starting, or its socket was removed and a restart makes it again"
                .to_owned()
        }
        _ => String::new(),
    };
    format!("{}: {error}{hint}", folder.display())
}

/// Asks the server of the data folder, for commands that change something; none when none is running.
///
/// # Errors
/// The server cannot be asked, in words for the person at the terminal.
pub(super) fn server(config: &Config, request: &CommandRequest) -> Result<Option<CommandConnection>, String> {
    let folder = &config.storage.data;
    expect_named(config)?;
    socket::connect(folder, request).map_err(|error| match (error.kind(), hindrance(folder)) {
        (ErrorKind::PermissionDenied, Some(why)) => {
            format!("{}: only its owner can ask the server ({why})", folder.display())
        }
        _ => format!("{}: {error}", folder.display()),
    })
}

/// Asks the server of the data folder, for commands that can look at the folder themselves; none when none is running. Its socket is for
/// the owner of the folder. For others the lock of the store says whether a server runs.
///
/// # Errors
/// The server cannot be asked, in words for the person at the terminal.
pub(super) fn ask(config: &Config, request: &CommandRequest) -> Result<Option<CommandConnection>, String> {
    let folder = &config.storage.data;
    expect_named(config)?;
    match socket::connect(folder, request) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied && hindrance(folder).is_some() => Ok(None),
        asked => asked.map_err(|error| format!("{}: {error}", folder.display())),
    }
}

/// Opens the data folder to look at it, behind the event of the command that looks.
///
/// # Errors
/// As [`look`] and [`tell_of_look`].
pub(super) fn look_and_tell(config: &Config, action: AuditAction, command: &str) -> Result<Engine, String> {
    let engine = look(config)?;
    tell_of_look(config, &engine, action, command).map(|()| engine)
}

/// Writes the event of a command that only looks. Where the folder cannot be written to that is said on standard error instead.
///
/// # Errors
/// The trail takes nothing, though the folder can be written to.
pub(super) fn tell_of_look(config: &Config, engine: &Engine, action: AuditAction, command: &str) -> Result<(), String> {
    tell_event_of_look(config, engine, command, &AuditEvent::of_command(action, engine::system_clock()(), command))
}

/// As [`tell_of_look`], with all that the event says.
///
/// # Errors
/// As there.
pub(super) fn tell_event_of_look(
    config: &Config,
    engine: &Engine,
    command: &str,
    event: &AuditEvent,
) -> Result<(), String> {
    if untold(config, command) {
        return Ok(());
    }
    bulk::write_event_down(&trail(config, engine)?, event)
}

/// Whether nothing can be written into the folder, so that the audit trail does not record a command; says so.
pub(super) fn untold(config: &Config, command: &str) -> bool {
    let folder = &config.storage.data;
    let Some(why) = hindrance(folder) else { return false };
    let folder = folder.display();
    note(format_args!(
        "{folder}: nothing can be written here, since {why}; so the audit trail does not tell that {command} was run"
    ));
    true
}

/// Whether files can be made in a data folder, for commands that write.
///
/// # Errors
/// They cannot, in words for the person at the terminal.
pub(super) fn expect_writable(folder: &Path) -> Result<(), String> {
    match hindrance(folder) {
        Some(why) => Err(format!("{}: nothing can be written here, since {why}", folder.display())),
        None => Ok(()),
    }
}

/// Opens the data folder, which holds a store already.
///
/// # Errors
/// Why it cannot be opened, in words for the person at the terminal.
pub(super) fn existing(config: &Config) -> Result<Engine, String> {
    expect_store(config)?;
    engine(config, engine::system_clock())
}

/// Opens the data folder.
///
/// # Errors
/// Why it cannot be opened, in words for the person at the terminal.
pub(super) fn engine(config: &Config, clock: Clock) -> Result<Engine, String> {
    opened(config, None, clock, Metrics::new())
}

/// Opens the data folder that a restore has filled, while its mark keeps everybody else out.
///
/// # Errors
/// Why it cannot be opened, in words for the person at the terminal.
pub(super) fn restored(config: &Config, store: &RestoredStore, clock: Clock) -> Result<Engine, String> {
    let opened = store.open(&options(config, clock, Metrics::new()));
    opened.map_err(|error| unopened(&config.storage.data, &error))
}

/// Opens a data folder of `hcert dev`.
///
/// # Errors
/// As [`engine`]; or it is one of `hcert serve`.
pub(super) fn developers_engine(config: &Config, clock: Clock) -> Result<Engine, String> {
    opened(config, Some(FolderPurpose::Developer), clock, Metrics::new())
}

fn opened(
    config: &Config,
    purpose: Option<FolderPurpose>,
    clock: Clock,
    metrics: Arc<Metrics>,
) -> Result<Engine, String> {
    let folder = &config.storage.data;
    expect_mine(folder)?;
    // A folder of a release that did not write down what it is for.
    if purpose == Some(FolderPurpose::Service) && folder.join(DEVELOPER_KEY_FILE).exists() {
        return Err(unopened(folder, &engine::StoreError::OtherPurpose(FolderPurpose::Developer)));
    }
    let options = engine::EngineOptions { purpose, ..options(config, clock, metrics) };
    Engine::open(options).map_err(|error| unopened(folder, &error))
}

/// Whether a restore may go on in the data folder: it holds a store, nobody else uses it or can write to it.
///
/// # Errors
/// Why it may not, in words for the person at the terminal.
pub(super) fn expect_to_go_on(config: &Config) -> Result<(), String> {
    expect_store(config)?;
    expect_mine(&config.storage.data)
}

/// Makes everything anew that the store of a data folder keeps beside its entries. The names of the tables come back that were not as they
/// should be.
///
/// # Errors
/// Why it cannot be done, in words for the person at the terminal.
pub(super) fn derive(config: &Config) -> Result<Vec<String>, String> {
    expect_store(config)?;
    let folder = &config.storage.data;
    expect_mine(folder)?;
    let options = options(config, engine::system_clock(), Metrics::new());
    Engine::derive(&options).map_err(|error| unopened(folder, &error))
}

/// Erases a certificate in a data folder that no server has.
///
/// # Errors
/// Why it cannot be done, in words for the person at the terminal.
pub(super) fn erase(config: &Config, id: Id, reason: &str) -> Result<ErasedCertificate, String> {
    let folder = &config.storage.data;
    expect_mine(folder)?;
    let options = options(config, engine::system_clock(), Metrics::new());
    Engine::erase(&options, id, reason).map_err(|error| unopened(folder, &error))
}

/// Whether a data folder can be written to, and by nobody else.
fn expect_mine(folder: &Path) -> Result<(), String> {
    expect_writable(folder)?;
    let is_private = owner::expect_private(folder).and_then(|()| owner::expect_private_within(folder, &WRITTEN_WITHIN));
    is_private.map_err(|problem| format!("{}: {problem}", folder.display()))?;
    expect_regular_files(folder)?;
    expect_unused(folder, false)?;
    expect_not_lost(folder).map_err(|problem| format!("{}: {problem}", folder.display()))
}

/// Whether a folder without a store never had one. A new store beside the trail or the index of another one would give its ids again.
///
/// # Errors
/// What is left of another store, in words that begin as those about damage.
fn expect_not_lost(folder: &Path) -> Result<(), String> {
    let has = |name: &str| folder.join(name).try_exists().unwrap_or(true);
    if has(STORE_FILE) || has(RESTORING) {
        return Ok(());
    }
    let changes = trail_report(folder)?.map_or(0, |trail| trail.last_change.0);
    let journal = JOURNAL_FILES.into_iter().find(|name| has(name));
    let left = match (changes, folder.join("index").is_dir(), journal) {
        (0, false, None) => return Ok(()),
        (0, false, Some(journal)) => format!("{journal} is there"),
        (0, true, _) => "index/ is there".to_owned(),
        (changes, ..) => format!("audit/ holds events up to change {changes}"),
    };
    Err(format!(
        "{DAMAGED}: {STORE_FILE} is gone, and {left}; is the right disk mounted? To begin anew, choose an empty folder, or move audit/, \
         index/ and the store's journal away"
    ))
}

/// The last change that the audit trail of a stopped folder names; nothing where it has no trail.
///
/// # Errors
/// The trail is damaged, or cannot be read: the event of a later change may be what is damaged.
pub(super) fn last_change_named(folder: &Path) -> Result<Option<Seq>, String> {
    match trail_report(folder)? {
        Some(trail) if !trail.is_whole() => Err(TRAIL_DAMAGED.to_owned()),
        trail => Ok(trail.map(|trail| trail.last_change)),
    }
}

/// What a check of the audit trail of a stopped folder finds; nothing where it has no trail.
///
/// # Errors
/// It cannot be read.
fn trail_report(folder: &Path) -> Result<Option<TrailVerifyReport>, String> {
    let audit = audit::folder(folder);
    if !audit.is_dir() {
        return Ok(None);
    }
    let trail = TrailFiles::list(&audit).map_err(|error| format!("the audit trail cannot be read: {error}"))?;
    audit::verify(&trail, &[]).map(Some)
}

fn options(config: &Config, clock: Clock, metrics: Arc<Metrics>) -> engine::EngineOptions {
    let storage = &config.storage;
    engine::EngineOptions {
        folder: storage.data.clone(),
        cache_bytes: storage.cache_mb * 1024 * 1024,
        quick_repair: match storage.quick_repair {
            QuickRepairSetting::Auto => engine::QuickRepair::Auto,
            QuickRepairSetting::On => engine::QuickRepair::On,
            QuickRepairSetting::Off => engine::QuickRepair::Off,
        },
        names: engine::FolderNames(config.namespaces.pairs()),
        purpose: None,
        unique_number: config.certificate.unique_number,
        metrics,
        clock,
        elapsed: engine::elapsed_clock(),
    }
}

/// Opens the data folder to serve it, and the audit trail in it, which follows every change from then on.
///
/// # Errors
/// Why one of them cannot be opened, in words for the person at the terminal.
pub(super) fn engine_and_trail(
    config: &Config,
    clock: Clock,
    metrics: Arc<Metrics>,
) -> Result<(Arc<Engine>, Arc<AuditTrail>), String> {
    let purpose = match config.access.mode {
        AccessMode::Developer => FolderPurpose::Developer,
        AccessMode::Jwt => FolderPurpose::Service,
    };
    let engine = Arc::new(opened(config, Some(purpose), clock.clone(), metrics)?);
    let options = audit::TrailOptions { keep_from: keep_from(config, &engine), ..audit_options(config, clock.clone()) };
    expect_folder(config, &engine)?;
    let mut log = AuditTrail::open(options)?;
    log.index(subjects(&engine))?;
    let log = Arc::new(log);
    // Before a crash's changes are written into it, which would come behind what is missing.
    kept_head(&engine).into_iter().try_for_each(|head| log.expect(head).map(drop))?;
    tell_migration(&engine, &log)?;
    let followed = changes::catch_up(&engine, &log, clock())?;
    if followed > 0 {
        event!(AUDIT_COMPLETED, events = followed);
    }
    changes::follow(&engine, &log);
    Ok((engine, log))
}

/// The service over an open engine; `base_url` is the address it is reached at.
///
/// # Errors
/// The code lists in the store cannot be used.
pub(super) fn service(
    config: &Config,
    engine: Arc<Engine>,
    policy: Policy,
    base_url: &str,
    clock: Clock,
) -> Result<Service, String> {
    let names = names(config, base_url);
    let rulebook = rulebook_of(config, engine.clone(), names.clone())?;
    let settings = ServiceSettings {
        names,
        issue_system: config.namespaces.hcert_issue_system.clone(),
        count: Counts { default: config.search.count_default, max: config.search.count_max },
        link_seconds: i64::from(config.search.link_minutes) * 60,
        full_url_absolute: config.server.full_url == FullUrl::Absolute,
        external_reference_system: config.registry.external_reference_system.clone(),
    };
    let registry = Registry::open(config, engine.clone(), clock.clone())?;
    Ok(Service::new(engine, registry, policy, Arc::new(rulebook), settings, clock))
}

/// Bytes of a file of permissions. The built-in one has some 5 KB.
const PERMISSIONS_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A table of permissions as it was read.
pub(super) struct PermissionsTable {
    /// Where it comes from, for messages.
    pub(super) name: String,
    pub(super) text: Cow<'static, str>,
}

impl PermissionsTable {
    /// What its roles may do.
    ///
    /// # Errors
    /// It makes no sense, in words for whoever wrote it.
    pub(super) fn roles(&self) -> Result<Roles, String> {
        permissions::read(&self.text).map_err(|problem| format!("{}: {problem}", self.name))
    }
}

/// The table of a file, or the built-in one.
///
/// # Errors
/// The file cannot be read.
pub(super) fn permissions_table(file: Option<&Path>) -> Result<PermissionsTable, String> {
    let Some(path) = file else {
        return Ok(PermissionsTable { name: "the built-in table".to_owned(), text: Cow::Borrowed(BUILT_IN) });
    };
    let name = path.display().to_string();
    let text = regular_file::text(path, PERMISSIONS_FILE_BYTES_MAX).map_err(|error| format!("{name}: {error}"))?;
    Ok(PermissionsTable { name, text: Cow::Owned(text) })
}

/// Who may do what.
///
/// # Errors
/// The file of permissions cannot be read, or makes no sense.
pub(super) fn policy(config: &Config) -> Result<Policy, String> {
    let names = names(config, &config.base_url());
    let placed = |problem: String| match config.access.permissions {
        Some(_) => format!("access.permissions = {problem}"),
        None => problem,
    };
    let table = permissions_table(config.access.permissions.as_deref()).map_err(placed)?;
    let permissions = Permissions::of(&table.text, table.roles().map_err(placed)?, &names);
    let by_mode = config.access.mode == AccessMode::Jwt;
    Ok(Policy {
        permissions: permissions.with_changes_by(config.access.change_by),
        tokens: token_policy(config),
        author_must_be_caller: config.access.author_must_be_caller.unwrap_or(by_mode),
        audit: None,
    })
}

/// What clients have to know of tokens.
pub(super) fn token_policy(config: &Config) -> TokenPolicy {
    TokenPolicy {
        is_needed: config.access.mode == AccessMode::Jwt,
        authorization_endpoint: config.access.token.authorization_endpoint.clone(),
        token_endpoint: config.access.token.token_endpoint.clone(),
    }
}

/// Opens the audit trail beside an engine that was opened to write, for one event of a command: what was run, and the last change of an
/// import that ends. The store knows of the event then.
///
/// # Errors
/// The trail cannot be opened or written; what the event is about must not happen.
pub(super) fn tell(
    config: &Config,
    engine: &Engine,
    action: AuditAction,
    command: &str,
    note: Option<String>,
    change: Option<Seq>,
) -> Result<(), String> {
    let log = match change {
        None => trail(config, engine)?,
        Some(_) => trail_of_before(config, engine)?,
    };
    bulk::write_down(&log, action, command, note, change)?;
    bulk::hand_head_over(engine, &log)
}

/// As [`tell`], with all that the event says.
///
/// # Errors
/// As there.
pub(super) fn tell_event(config: &Config, engine: &Engine, event: &AuditEvent) -> Result<(), String> {
    let log = trail(config, engine)?;
    bulk::write_event_down(&log, event)?;
    bulk::hand_head_over(engine, &log)
}

/// The head of the audit trail that the store knows.
pub(super) fn kept_head(engine: &Engine) -> Option<ChainHead> {
    engine.audit_head().ok().flatten().and_then(|head| ChainHead::parse(&head))
}

/// Opens the audit trail beside an open engine. What a crash kept out of it is written into it first.
///
/// # Errors
/// The trail cannot be opened or written.
pub(super) fn trail(config: &Config, engine: &Engine) -> Result<AuditTrail, String> {
    let log = trail_of_before(config, engine)?;
    changes::catch_up(engine, &log, engine::system_clock()())?;
    Ok(log)
}

/// As [`trail`], without the events that a crash kept out of it. A trail that lacks what the store knows of it is told on standard error.
///
/// # Errors
/// The trail cannot be opened or written.
pub(super) fn trail_of_before(config: &Config, engine: &Engine) -> Result<AuditTrail, String> {
    expect_folder(config, engine)?;
    let log = AuditTrail::open(audit_options(config, engine::system_clock()))?;
    if let Some(problem) = kept_head(engine).map(|head| log.expect(head)).transpose()?.flatten() {
        note(format_args!("{}: {problem}", config.storage.data.display()));
    }
    tell_migration(engine, &log)?;
    Ok(log)
}

/// A command may take hours, and its folder may be moved away meanwhile: what happened in it is told in no other folder's trail.
fn expect_folder(config: &Config, engine: &Engine) -> Result<(), String> {
    engine.expect_folder().map_err(|error| {
        format!("{}: the audit trail cannot record this command: {error}", config.storage.data.display())
    })
}

/// Writes down that opening changed the format of the store.
fn tell_migration(engine: &Engine, log: &AuditTrail) -> Result<(), String> {
    let EngineOrigin { migrated_from: Some(from), format: to, .. } = engine.origin() else { return Ok(()) };
    bulk::write_down(log, AuditAction::StoreMigrate, "hcert", Some(format!("from format {from} to {to}")), None)
}

/// What retention keeps, by a clock that the engine believes. The trail does not keep the engine open.
fn keep_from(config: &Config, engine: &Arc<Engine>) -> audit::RetentionLimit {
    let (days, engine) = (i64::from(config.audit.retention_days), Arc::downgrade(engine));
    Arc::new(move || {
        let state = engine.upgrade().filter(|_| days > 0)?.clock();
        state.problem.is_none().then_some(state.settled.saturating_sub(days * DAY_MS))
    })
}

/// How the audit trail beside an open engine is opened by a command, which removes nothing.
pub(super) fn audit_options(config: &Config, clock: Clock) -> audit::TrailOptions {
    audit::TrailOptions {
        folder: config.storage.data.clone(),
        file_bytes: config.audit.file_mb * 1024 * 1024,
        keep_from: Arc::new(|| None),
        clock,
    }
}

/// What an import into an open engine judges new certificates by.
///
/// # Errors
/// The code lists in the store, or the profiles, cannot be used.
pub(super) fn rulebook(config: &Config, engine: Arc<Engine>) -> Result<Rulebook, String> {
    rulebook_of(config, engine, names(config, &config.base_url()))
}

fn rulebook_of(config: &Config, engine: Arc<Engine>, names: Names) -> Result<Rulebook, String> {
    let rulebook = Rulebook::open(engine, names, config.validation.strict)?;
    Ok(rulebook.final_must_be_usable(config.certificate.final_must_be_usable))
}

/// The namespaces a certificate is written in.
pub(super) fn names(config: &Config, base_url: &str) -> Names {
    Names::new(base_url.to_owned(), &config.namespaces.pairs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_default_settings_are_the_default_names() {
        let (config, default) = (Config::default(), Names::default());
        assert_eq!(names(&config, &default.base_url), default);
        for (name, value) in engine::FolderNames::UNRECORDED {
            assert!(config.namespaces.pairs().contains(&(name.to_owned(), value.to_owned())), "{name}");
        }
    }
}
