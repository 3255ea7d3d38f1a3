//! The console, with what it is given to work with.

use std::sync::Arc;

use http_body_util::{BodyExt, Collected};
use hyper::Method;
use tokio::sync::Semaphore;

use super::catalogue::settings::{SettingsBlock, ShownSetting, blocks};
use super::{Failure, demo, open};
use crate::access::Tokens;
use crate::access::token::{self, SignInClient};
use crate::audit::{AuditAction, AuditTrail};
use crate::bulk;
use crate::config::{AccessMode, Config, ConsoleSettings, LoadedConfig, SettingSource};
use crate::console::{
    CheckTrail, Console, ConsoleSources, FaultSwitch, FillStore, NoteFault, OwnWords, RETURN_PATH, ServiceHealth,
    SettingInEffect, SignIn, TellHealth, Texts, TrailCheck,
};
use crate::documents::Documents;
use crate::http::exchanges::Exchanges;
use crate::http::pages::{PAGES_PATH, PageMaker};
use crate::management::ManagementService;
use crate::registry::fault::FaultRules;
use base::metrics::Metrics;
use base::metrics::names::{COMMIT_DURATION, HTTP_REQUEST_DURATION, INDEX_ROUND_DURATION};
use certificate::Names;
use engine::Engine;

/// What a running service has for its console.
pub(super) struct ConsoleParts<'a> {
    pub config: &'a Config,
    pub settings: Vec<SettingInEffect>,
    pub engine: &'a Arc<Engine>,
    pub trail: &'a Arc<AuditTrail>,
    pub tokens: Arc<Tokens>,
    pub names: Names,
    pub faults: Arc<FaultRules>,
    pub management: Arc<ManagementService>,
    pub metrics: Arc<Metrics>,
    pub exchanges: Arc<Exchanges>,
    pub documents: &'static Documents,
    pub sign_in: Option<SignIn>,
}

/// Who makes the pages.
///
/// # Errors
/// The table of rights cannot be read.
pub(super) fn pages(parts: ConsoleParts<'_>) -> Result<Arc<dyn PageMaker>, Failure> {
    let ConsoleParts {
        config,
        settings,
        engine,
        trail,
        tokens,
        names,
        faults,
        management,
        exchanges,
        metrics,
        documents,
        sign_in,
    } = parts;
    let is_developer = config.access.mode == AccessMode::Developer;
    let table = open::permissions_table(config.access.permissions.as_deref()).map_err(Failure::Usage)?;
    let sources = ConsoleSources {
        key: engine.origin().seal_key,
        tokens,
        is_developer,
        roles: table.roles().map_err(Failure::Usage)?,
        documents,
        names,
        words: words(config).map_err(|problems| Failure::Usage(problems.join("\n")))?,
        sign_in,
        check_trail: check_trail(engine, trail),
        settings,
        health: health(management, metrics),
        exchanges,
        faults: is_developer.then(|| FaultSwitch { rules: faults, note: note(trail, config.access.mode.command()) }),
        fill: is_developer.then(|| fill(config, engine, trail)),
    };
    Ok(Arc::new(Console::new(sources)))
}

/// How people sign in to the console that browsers find at `base_url`.
///
/// # Errors
/// A setting is missing, or one of its files cannot be used.
pub(super) fn sign_in(config: &Config, base_url: &str) -> Result<SignIn, String> {
    let client = SignInClient::open(config, base_url, &format!("{PAGES_PATH}{RETURN_PATH}"))?;
    Ok(SignIn { client, warning_s: i64::try_from(config.console.expiry_warning_s).unwrap_or(i64::MAX) })
}

/// What is wrong with the files that `[console]` names.
pub(super) fn check(config: &Config) -> Vec<String> {
    let texts = words(config).err().unwrap_or_default();
    let secret = token::check_secret(&config.console).err();
    let signs_in = config.console.listen.is_some() && secret.is_none();
    let client = signs_in.then(|| sign_in(config, "").err()).flatten();
    texts.into_iter().chain(secret).chain(client).collect()
}

/// What the settings say to readers.
///
/// # Errors
/// All that is wrong with all files.
fn words(config: &Config) -> Result<OwnWords, Vec<String>> {
    let (mut texts, mut problems) = (Vec::new(), Vec::new());
    for file in &config.console.texts {
        match Texts::open(ConsoleSettings::language(file).unwrap_or_default(), file) {
            Ok(read) => texts.push(read),
            Err(found) => {
                let named = |problem: String| format!("console.texts: {}: {problem}", file.display());
                problems.extend(found.into_iter().map(named));
            }
        }
    }
    let announcement = config.console.announcement.clone();
    if problems.is_empty() { Ok(OwnWords { announcement, texts }) } else { Err(problems) }
}

/// Every setting with its value, where that is from, and what it does.
pub(super) fn settings(loaded: &LoadedConfig) -> Vec<SettingInEffect> {
    let shown = |block: &SettingsBlock, setting: &ShownSetting| {
        let (key, source) = (setting.path(), loaded.source(&setting.path()));
        SettingInEffect {
            value: loaded.shown(&key),
            default: (!setting.is_unset).then_some(setting.value),
            source: source.to_string(),
            is_default: source == SettingSource::Default,
            about: block.words.join(" "),
            key,
        }
    };
    let blocks = blocks();
    blocks.iter().flat_map(|block| block.settings.iter().map(|setting| shown(block, setting))).collect()
}

/// What `/health` says, and the times of the metrics.
fn health(management: Arc<ManagementService>, metrics: Arc<Metrics>) -> TellHealth {
    Box::new(move || {
        let (management, metrics) = (management.clone(), metrics.clone());
        Box::pin(async move {
            let body = management.answer(&Method::GET, "/health").await.into_body().collect().await;
            let parts = serde_json::from_slice(&body.map(Collected::to_bytes).unwrap_or_default()).unwrap_or_default();
            let durations = [HTTP_REQUEST_DURATION, COMMIT_DURATION, INDEX_ROUND_DURATION];
            ServiceHealth { parts, durations: durations.map(|histogram| metrics.durations(&histogram)) }
        })
    })
}

/// Writes down what becomes of faults, on a thread that may wait for the disk.
fn note(trail: &Arc<AuditTrail>, command: &'static str) -> NoteFault {
    let trail = trail.clone();
    Box::new(move |note| {
        let trail = trail.clone();
        Box::pin(async move {
            let write = move || bulk::write_down(&trail, AuditAction::ServiceFault, command, Some(note), None);
            tokio::task::spawn_blocking(write).await.map_err(|error| error.to_string())?
        })
    })
}

/// Fills an empty store, as `hcert dev --demo` does.
fn fill(config: &Config, engine: &Arc<Engine>, trail: &Arc<AuditTrail>) -> FillStore {
    let (config, engine, trail) = (config.clone(), engine.clone(), trail.clone());
    Box::new(move |count| {
        let (config, engine, trail) = (config.clone(), engine.clone(), trail.clone());
        Box::pin(async move { demo::fill(&config, &engine, &trail, count).await.map(|filled| filled.summary()) })
    })
}

/// Checks the audit trail on a thread of its own, one check at a time: each reads all there is.
fn check_trail(engine: &Arc<Engine>, trail: &Arc<AuditTrail>) -> CheckTrail {
    let (engine, trail, turn) = (engine.clone(), trail.clone(), Arc::new(Semaphore::new(1)));
    Box::new(move |head| {
        let (engine, trail, turn) = (engine.clone(), trail.clone(), turn.clone());
        Box::pin(async move {
            let turn = turn.acquire_owned().await.map_err(|error| error.to_string())?;
            let checking = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                let verified = bulk::verify_trail(&engine, &trail, head.as_deref(), "hcert console")?;
                Ok(TrailCheck { report: verified.report(), is_whole: verified.is_whole() })
            });
            checking.await.map_err(|error| error.to_string())?
        })
    })
}
