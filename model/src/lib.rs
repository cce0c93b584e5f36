//! The description of an MCP server: its configuration (`mcp.toml`, `.mcp.json`, `MCP_SERVERS`), the snapshot of its
//! tools, and the overrides of its declarations.
//!
//! This crate is the part that the macro, the command line and the runtime share. Programs use it through `mcp-bindgen`.

mod by_name;
mod canonical;
mod change;
mod config;
mod date;
mod duration;
mod error;
#[cfg(feature = "write")]
mod files;
mod json_text;
mod lenient;
mod locate;
mod matching;
mod overrides;
mod placeholder;
mod secrets;
mod server;
mod setters;
mod side_by_side;
mod snapshot;
mod text;
mod uri_template;
mod words;

pub use by_name::ByName;
#[doc(hidden)]
pub use canonical::sha256;
pub use canonical::{canonical_json, canonical_object, digest, hex_digest};
pub use change::{ChangeKind, Class};
pub use config::{Access, AccessEntry, Config, ConfigWarning, Defaults, DiagnosticLevels, JoinedTool, ServerConfig};
#[doc(hidden)]
pub use config::{config_schema, is_packaged};
pub use date::{Date, utc_timestamp};
pub use duration::parse_duration;
pub use error::FileError;
#[cfg(feature = "write")]
pub use files::{write_if_changed, write_private};
pub use lenient::{Lenient, TOO_DEEP, is_beyond_doubles, parse_leniently};
pub use locate::{locate, pointer_key, pointer_segment};
pub use matching::{matches_glob, matches_globs, nearest};
pub use overrides::{Overrides, ToolOverride};
pub use placeholder::SecretRef;
pub use secrets::{ConfigField, Secret, is_secret_key, replace_secrets, without_secrets};
pub use server::{
    Acceptance, AuthConfig, Condition, ConfigPlace, ConfigPlaces, Domain, Drift, DriftRules, GrantType, Hint,
    Isolation, Live, Pattern, Pin, PolicyEffect, PolicyRule, Prefix, Rate, RustConfig, RustRule, SecretStore,
    Transport, Types, UnknownKeys, View, ViewRefusal, is_server_name,
};
pub use side_by_side::side_by_side;
pub use snapshot::{Overridden, Snapshot, Viewed};
pub use text::{misleads, printable, read_text, visible};
pub use uri_template::{TemplateError, TemplateValue, TemplateVariable, UriTemplate};
