//! OAuth 2.1, as the protocol asks of clients of servers over HTTP: discovery (RFC 9728, RFC 8414, OpenID Connect),
//! registration, the authorization code with PKCE, resource indicators (RFC 8707), issuers (RFC 9207), refresh.

mod ask;
mod authorization_code;
mod challenge;
mod client;
mod discovery;
mod entry;
mod error;
mod fetch;
mod grant;
mod loopback;
mod metadata;
mod oauth;
mod obtain;
mod registration;
mod scopes;
mod secret;
mod session;
mod settings;
mod signing;
mod store;

pub use oauth::OAuth;
pub use settings::IdentityProvider;
#[cfg(feature = "keyring")]
pub use store::KeyringTokenStore;
pub use store::{FileTokenStore, MemoryTokenStore, StoreLock, StoredTokens, TokenStore, TokenStoreError};
