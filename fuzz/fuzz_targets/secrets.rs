//! Any text beside a secret in a configuration. From the root of the repository, with a nightly toolchain and cargo-fuzz:
//!
//!     cargo +nightly fuzz run secrets fuzz/corpus/secrets

#![no_main]

#[path = "../../mcp-codegen/tests/harness/mod.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|text: &str| {
    harness::secrets::check(text);
});
