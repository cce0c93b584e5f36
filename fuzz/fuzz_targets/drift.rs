//! Any two snapshots, with a line `---` between them. From the root of the repository, with a nightly toolchain and cargo-fuzz:
//!
//!     cargo +nightly fuzz run drift fuzz/corpus/drift fixtures/lists

#![no_main]

#[path = "../../mcp-codegen/tests/harness/mod.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|text: &str| {
    harness::drift::check(text);
});
