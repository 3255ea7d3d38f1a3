//! The console of `hcert dev`, with what it is given to work with.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{Failure, demo, open};
use crate::access::Tokens;
use crate::audit::AuditTrail;
use crate::bulk;
use crate::config::{AccessMode, Config};
use crate::console::{CheckTrail, Console, ConsoleSources, FillStore, TrailCheck};
use crate::documents::Documents;
use crate::http::pages::Pages;
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
        check_trail: check_trail(engine, trail),
        fill: is_developer.then(|| fill(config, engine, trail)),
    };
    Ok(Arc::new(Console::new(sources)))
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
