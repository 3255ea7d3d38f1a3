//! The console, with what it is given to work with.

use std::sync::Arc;

use super::{Failure, demo, open};
use crate::access::Tokens;
use crate::access::token::{self, SignInClient};
use crate::audit::AuditTrail;
use crate::config::{AccessMode, Config, ConsoleSettings};
use crate::console::{Console, ConsoleSources, FillStore, OwnWords, RETURN_PATH, SignIn, Texts};
use crate::documents::Documents;
use crate::http::pages::{PAGES_PATH, Pages};
use certificate::Names;
use engine::Engine;

/// Who makes the pages.
///
/// # Errors
/// The table of rights cannot be read.
pub(super) fn pages(
    config: &Config,
    engine: &Arc<Engine>,
    trail: &Arc<AuditTrail>,
    tokens: Arc<Tokens>,
    names: Names,
    documents: &'static Documents,
    sign_in: Option<SignIn>,
) -> Result<Arc<dyn Pages>, Failure> {
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

/// Fills an empty store, as `hcert dev --demo` does.
fn fill(config: &Config, engine: &Arc<Engine>, trail: &Arc<AuditTrail>) -> FillStore {
    let (config, engine, trail) = (config.clone(), engine.clone(), trail.clone());
    Box::new(move |count| {
        let (config, engine, trail) = (config.clone(), engine.clone(), trail.clone());
        Box::pin(async move { demo::fill(&config, &engine, &trail, count).await.map(|filled| filled.summary()) })
    })
}
