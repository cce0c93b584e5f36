//! Connects to MCP servers and calls their tools.
//!
//! Programs use this crate through `mcp-bindgen`, and its generated code depends on it.

// Without one of the transports some of the parts are not used.
#![cfg_attr(not(all(feature = "stdio", feature = "http")), allow(dead_code))]

mod call;
mod client;
mod connect;
mod generated;
mod ground;
pub mod middleware;
mod rpc;
mod testing;

#[cfg(feature = "validation")]
pub use call::validate;

/// Events of clients about their calls and connections: [`Client::events`](crate::Client::events),
/// [`Servers::events`](crate::Servers::events).
pub mod events {
    pub use crate::call::events::{
        ApprovalAsked, CallKind, CallOutcome, CallSource, DriftDetected, Event, Events, HostedObserver, Lagged,
        ServerStateChanged, ToolInvoked, ToolsChanged,
    };
    pub use crate::client::subscribe;
}

/// Items that only generated code and related packages need. They change with those, and programs must not use them.
#[doc(hidden)]
pub mod __private {
    pub use crate::connect::connection::Listing;
    pub use crate::generated::*;
    #[cfg(feature = "http")]
    pub use crate::rpc::transports::http::documents::fetch_json;

    /// A session of JSON-RPC, for those who serve.
    pub mod rpc {
        pub use crate::ground::task::Boxed;
        pub use crate::rpc::*;
    }
}

pub use call::events::ConnectionState;
pub use call::{
    Annotations, AsArguments, CallError, CallErrorKind, CallOptions, CallTool, Caller, Cause, ConnectError,
    ConnectErrorKind, Content, Dispatched, DynCallTool, Evidence, PassedInput, Progress, ProgressStream,
    PromptArgumentSpec, PromptSpec, ResourceTemplateSpec, ServerSpec, Tool, ToolCall, ToolReply, ToolResult, ToolSpec,
    TypedCall, WithOptions, parse_arguments,
};
pub use client::catalog::Declared;
pub use client::catalog::changes::{Notifications, ResourceUpdates, ToolChanges};
pub use client::catalog::offers::{
    GetPrompt, PromptMessage, PromptRequest, PromptResult, ReadResource, ResourceContents, ResourceRequest,
    ResourceResult,
};
pub use client::{Client, ConnectReport, Servers, StateWatch};
#[cfg(all(feature = "auth", feature = "keyring"))]
pub use connect::auth::KeyringTokenStore;
#[cfg(feature = "auth")]
pub use connect::auth::{
    FileTokenStore, IdentityProvider, LocalTokenStore, MemoryTokenStore, OAuth, StoreLock, StoredAuthorization,
    StoredTokens, TokenStore, TokenStoreError,
};
pub use connect::connection::ListTerms;
pub use connect::limits::SharedLimits;
pub use connect::options::ClientOptions;
#[cfg(feature = "stdio")]
pub use connect::process::isolation::bubblewrap;
#[cfg(feature = "stdio")]
pub use connect::process::tree::kill_servers;
pub use connect::secrets::{KnownSecrets, LocalSecrets, Or, SecretError, SecretSource, find_secret, with_secrets};
pub use ground::wire::{Mismatch, Nullable, Prefixed};
pub use mcp_bindgen_model::SecretRef;
#[cfg(feature = "http")]
pub use reqwest;
pub use rpc::handlers::{ElicitationAnswer, ElicitationRequest, Root, SamplingAnswer, SamplingRequest};
pub use rpc::notices::Notification;
#[cfg(feature = "cassette")]
pub use rpc::transports::cassette::{Cassette, CassetteError, Difference};
#[cfg(feature = "stdio")]
pub use rpc::transports::duplex::Connector;
#[cfg(feature = "http")]
pub use rpc::transports::http::reach::{Route, RouteError, exposes_headers};
pub use testing::{Answer, Fake};
