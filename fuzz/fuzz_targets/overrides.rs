//! Any text as overrides. From the root of the repository, with a nightly toolchain and cargo-fuzz:
//!
//!     cargo +nightly fuzz run overrides fuzz/corpus/overrides fixtures/overrides

#![no_main]

#[path = "../../mcp-codegen/tests/harness/mod.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|text: &str| {
    harness::overrides::check(text);
});
