//! Connects to MCP servers and calls their tools.
//!
//! Programs use this crate through `mcp-bindgen`, whose generated code stands on it.

// Without one of the transports some of the parts are not used.
#![cfg_attr(not(all(feature = "stdio", feature = "http")), allow(dead_code))]

#[cfg(feature = "auth")]
mod auth;
mod call;
mod catalog;
mod client;
mod contained;
mod generated;
#[cfg(feature = "keyring")]
mod keyring;
pub mod middleware;
mod observe;
mod rpc;
mod task;
mod testing;
mod transport;
#[cfg(feature = "validation")]
pub mod validate;
mod wire;

/// What clients tell of their calls and connections, to whoever listens: [`Client::events`](crate::Client::events),
/// [`Servers::events`](crate::Servers::events).
pub mod events {
    pub use crate::observe::{
        ApprovalAsked, CallOutcome, CallSource, DriftDetected, Event, Events, Lagged, ServerStateChanged, ToolInvoked,
        ToolsChanged,
    };
}

/// What only generated code needs. It changes whenever generated code does, and no program should name it.
#[doc(hidden)]
pub mod __private {
    pub use crate::generated::*;
}

#[cfg(all(feature = "auth", feature = "keyring"))]
pub use auth::KeyringTokenStore;
#[cfg(feature = "auth")]
pub use auth::{
    FileTokenStore, IdentityProvider, MemoryTokenStore, OAuth, StoreLock, StoredTokens, TokenStore, TokenStoreError,
};
pub use call::{
    Annotations, AsArguments, CallError, CallErrorKind, CallOptions, CallTool, Cause, ConnectError, ConnectErrorKind,
    Content, Dispatched, DynCallTool, Evidence, PassedInput, Progress, ProgressStream, ServerSpec, Tool, ToolCall,
    ToolReply, ToolResult, ToolSpec, TypedCall, WithOptions, parse_arguments,
};
pub use catalog::changes::ToolChanges;
pub use catalog::declared::Declared;
pub use catalog::notifications::{Notification, Notifications};
pub use catalog::prompts::{GetPrompt, PromptMessage, PromptRequest, PromptResult};
pub use catalog::resources::{ReadResource, ResourceContents, ResourceRequest, ResourceResult};
pub use catalog::specs::{PromptArgumentSpec, PromptSpec, ResourceTemplateSpec};
pub use catalog::subscriptions::ResourceUpdates;
pub use client::{
    Client, ClientOptions, ConnectReport, ElicitationAnswer, ElicitationRequest, KnownSecrets, LocalSecrets, Or, Root,
    SamplingAnswer, SamplingRequest, SecretError, SecretSource, Servers, StateWatch, with_secrets,
};
pub use mcp_model::SecretRef;
pub use observe::ConnectionState;
pub use testing::{Answer, Fake};
#[cfg(feature = "cassette")]
pub use transport::cassette::{Cassette, CassetteError, Difference};
#[cfg(feature = "http")]
pub use transport::http::reach::{Route, RouteError, exposes_headers};
#[cfg(feature = "stdio")]
pub use transport::isolation::bubblewrap;
#[cfg(feature = "stdio")]
pub use transport::process::kill_servers;
pub use wire::{Mismatch, Nullable};
