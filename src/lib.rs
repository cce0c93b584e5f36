#![doc = include_str!("../README.md")]

#[cfg_attr(feature = "macros", doc = include_str!("agents.md"))]
#[cfg_attr(
    not(feature = "macros"),
    doc = "What agents need of servers: tools for models, and prompts that declare servers."
)]
#[cfg(feature = "agents")]
pub use mcp_agents as agents;
/// What a server is: configuration, snapshots.
pub use mcp_model as model;
pub use mcp_runtime::*;

/// ```no_run
/// mcp_bindgen::mcp_template!("tests/templates/sums.md");
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let clients = sums::Clients::connect().await?; // or `sums::Clients { fixture }`
/// let rendered = sums::run(&clients, sums::Vars { a: 1, greeting: "Sum".into(), note: None }).await?;
/// println!("{}", rendered.text());
/// # Ok(())
/// # }
/// ```
#[cfg(all(feature = "macros", feature = "agents"))]
pub use mcp_macros::mcp_template;
#[cfg(feature = "macros")]
pub use mcp_macros::mcp_tools;

/// Includes the bindings that `mcp_codegen::build_script::Builder` generated for a server.
///
/// ```ignore
/// mcp_bindgen::include_bindings!("github");
/// ```
#[macro_export]
macro_rules! include_bindings {
    ($server:literal) => {
        include!(concat!(env!("OUT_DIR"), "/mcp_bindgen/", $server, ".rs"));
    };
}
