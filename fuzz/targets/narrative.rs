#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hcert_fuzz::entry::narrative::judge(bytes));
