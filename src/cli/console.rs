//! The console of `hcert dev`, with what it is given to work with.

use std::sync::Arc;

use super::{Failure, demo, open};
use crate::access::Tokens;
use crate::audit::AuditTrail;
use crate::config::{AccessMode, Config};
use crate::console::{Console, ConsoleSources, FillStore};
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
