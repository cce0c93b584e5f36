//! Any bytes of a server where two calls wait. From the root of the repository, with a nightly toolchain and cargo-fuzz:
//!
//!     cargo +nightly fuzz run session fuzz/corpus/session

#![no_main]

#[path = "../../runtime/tests/harness/mod.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|said: &[u8]| {
    harness::check(said);
});
