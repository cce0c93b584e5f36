//! Any list of tools, a line `---`, and any arguments. From the root of the repository, with a nightly toolchain and cargo-fuzz:
//!
//!     cargo +nightly fuzz run dispatch fuzz/corpus/dispatch fixtures/lists

#![no_main]

#[path = "../../agents/tests/integration/dispatch_harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|text: &str| {
    harness::check(text);
});
