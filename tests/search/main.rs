//! Searches compared with a search by hand: what a search must find is worked out here once more, from the JSON that is stored,
//! without a line of the engine.

mod by_hand;
mod dice;
mod known;
#[path = "../log/mod.rs"]
mod log;
mod moving;
mod odd;
mod order;
mod questions;
mod rebuild;
mod server;
mod still;
mod store;
mod times;
