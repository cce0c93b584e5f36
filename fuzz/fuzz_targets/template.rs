//! Any text as a template. From the root of the repository, with a nightly toolchain and cargo-fuzz:
//!
//!     cargo +nightly fuzz run template fuzz/corpus/template fixtures/templates

#![no_main]

#[path = "../../template/tests/integration/harness.rs"]
mod harness;
#[path = "../../template/tests/integration/printed.rs"]
mod printed;

libfuzzer_sys::fuzz_target!(|text: &str| {
    harness::check(text);
});
