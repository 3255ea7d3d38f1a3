//! What is asked of the service whatever comes from outside: one file of `entry` for each kind of input. Fuzzing feeds it with
//! coverage (`fuzz/targets`), and the property tests with a plain compiler (`tests/property.rs`).

pub mod browser;
pub mod dice;
pub mod entry;
pub mod mutation;
pub mod wire;
