#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| loopgate_fuzz::failure(bytes));
