#![no_main]

use hcert_fuzz::entry::record;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|bytes: &[u8]| record::judge(bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    // Now and then it begins again from what the service itself would have written.
    let sample = if seed.is_multiple_of(64) { record::sample(seed / 64) } else { Vec::new() };
    let size = match sample.len() {
        0 => size,
        length if length <= max_size => {
            data[..length].copy_from_slice(&sample);
            length
        }
        _ => size,
    };
    fuzzer_mutate(data, size, max_size)
});
