//! Typed Rust for any MCP server, generated at build time.
//!
//! A *snapshot* is a JSON file with the tools of one MCP server. The command `mcp-bindgen add` writes it, and you
//! commit it. [`mcp_tools!`] reads the snapshot and generates a module: a struct for the arguments of each tool, a
//! struct for its result, and a client with one method for each tool.
//!
//! ```no_run
//! mcp_bindgen::mcp_tools!("github"); // from mcp/github.json
//!
//! use github::{Github, GithubCreateIssueParams};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let gh = Github::connect().await?;
//!     let issue = gh.create_issue(GithubCreateIssueParams {
//!         labels: Some(vec!["bug".into()]),
//!         ..GithubCreateIssueParams::new("rust-lang", "rust", "It broke")
//!     }).await?;
//!     println!("{issue:?}");
//!     Ok(())
//! }
//! ```
//!
//! | to | use |
//! |---|---|
//! | generate bindings | [`mcp_tools!`], or a build script and [`include_bindings!`] |
//! | connect to the servers of `mcp.toml` | [`Servers`], [`Client`], [`ClientOptions`] |
//! | call a tool by name | [`ToolCall`], [`CallTool`], [`ToolResult`] |
//! | find out why a call failed | [`CallError`] |
//! | find out whether the server may have executed a failed call | [`Dispatched`] |
//! | set timeouts, progress and cancellation | [`CallOptions`] |
//! | add policies, approvals, retries and caches | [`middleware`] |
//! | observe calls | [`events`] |
//! | test without a server | [`Fake`] |
//! | offer tools to a model | `agents`, with the feature `agents` |
//!
//! The README shows how to set up a crate. The book in `docs/book` explains configuration, drift, the command line and
//! the cargo features.

/// Tools for models, prompt sections, templates and hosted servers.
#[cfg(feature = "agents")]
pub mod agents {
    pub use mcp_bindgen_agents::*;
    #[cfg(feature = "proxy")]
    #[doc(inline)]
    pub use mcp_bindgen_proxy as proxy;
}
/// The description of a server: configuration and snapshots.
pub use mcp_bindgen_model as model;
pub use mcp_bindgen_runtime::*;

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
pub use mcp_bindgen_macros::mcp_template;
#[cfg(feature = "macros")]
pub use mcp_bindgen_macros::mcp_tools;

/// Includes the bindings that `mcp_bindgen_codegen::Builder` generated for a server.
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

/// The Rust examples of the README and the book.
#[cfg(doctest)]
mod documentation {
    #[cfg(feature = "macros")]
    mod readme {
        #[doc = include_str!("../README.md")]
        struct Readme;
        #[doc = include_str!("../docs/book/src/getting-started.md")]
        struct GettingStarted;
        #[doc = include_str!("../docs/book/src/generated-code.md")]
        struct GeneratedCode;
        #[doc = include_str!("../docs/book/src/calling.md")]
        struct Calling;
        #[doc = include_str!("../docs/book/src/governance.md")]
        struct Governance;
        #[doc = include_str!("../docs/book/src/testing.md")]
        struct Testing;
    }
    #[cfg(all(feature = "macros", feature = "agents"))]
    mod agents {
        #[doc = include_str!("../docs/book/src/agents.md")]
        struct Agents;
        #[doc = include_str!("../docs/book/src/templates.md")]
        struct Templates;
    }
    #[cfg(feature = "proxy")]
    #[doc = include_str!("../docs/book/src/proxy.md")]
    struct Proxy;
}
