//! What `mcp_tools!` says in a crate that has no configuration.

#[test]
fn a_crate_without_configuration() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
