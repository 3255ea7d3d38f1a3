//! The whole suite once more over the other log: `HCERT_TEST_LOG=memory` keeps what is stored in a map in place of redb's file.

use std::sync::LazyLock;

use engine::{Engine, EngineOptions, MemoryLog};

static IS_IN_MEMORY: LazyLock<bool> = LazyLock::new(|| match std::env::var("HCERT_TEST_LOG").as_deref() {
    Err(_) => false,
    Ok("memory") => true,
    Ok(other) => panic!("HCERT_TEST_LOG={other}: only 'memory' is known"),
});

/// Opens the store of a test, which is there again when it is opened with the same folder and the same map.
pub(crate) fn open(options: EngineOptions, memory: &MemoryLog) -> Engine {
    match *IS_IN_MEMORY {
        true => Engine::open_in_memory(options, memory),
        false => Engine::open(options),
    }
    .expect("the store can be opened")
}
