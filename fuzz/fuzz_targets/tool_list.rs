//! Any text as a tool list. From the root of the repository, with a nightly toolchain and cargo-fuzz:
//!
//!     cargo +nightly fuzz run tool_list fuzz/corpus/tool_list fixtures/features fixtures/hostile

#![no_main]

#[path = "../../mcp-codegen/tests/harness/mod.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|text: &str| {
    harness::check(text);
});
