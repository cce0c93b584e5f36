//! Any text as `mcp.toml`, `.mcp.json` and `MCP_SERVERS`. From the root of the repository, with a nightly toolchain and cargo-fuzz:
//!
//!     cargo +nightly fuzz run config fuzz/corpus/config

#![no_main]

#[path = "../../mcp-codegen/tests/harness/mod.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|text: &str| {
    harness::config::check(text);
});
