#![no_main]

use hcert_fuzz::entry::body;
use hcert_fuzz::mutation::mutated;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|bytes: &[u8]| body::judge(bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    // Every second body stays JSON; the others are for the reader.
    let body = if seed.is_multiple_of(2) { mutated(&data[..size], seed) } else { None };
    match body.filter(|body| body.len() <= max_size) {
        Some(body) => {
            data[..body.len()].copy_from_slice(&body);
            body.len()
        }
        None => fuzzer_mutate(data, size, max_size),
    }
});
