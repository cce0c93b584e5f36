//! OAuth 2.1, as the protocol requires for servers over HTTP: discovery (RFC 9728, RFC 8414, OpenID Connect),
//! registration, the authorization code with PKCE, resource indicators (RFC 8707), issuers (RFC 9207), refresh.
//!
//! Cancel safety: a request waits for tokens in `Session::{obtain, next_header, answer, header, challenged}`;
//! dropping these leaves the task that gets them running, for others. The task runs `Core::obtain`, and is aborted
//! with the session, when its client and connections are gone. Tokens that were granted and not yet adopted are then
//! lost: a rotated refresh token is gone, and the user is asked again.

mod discovery;
mod entry;
mod fetch;
mod grant;
mod loopback;
mod oauth;
mod secret;
mod session;
mod settings;
mod store;

pub use entry::StoredAuthorization;
pub use oauth::OAuth;
pub use settings::IdentityProvider;
#[cfg(feature = "keyring")]
pub use store::KeyringTokenStore;
pub use store::{
    FileTokenStore, LocalTokenStore, MemoryTokenStore, StoreLock, StoredTokens, TokenStore, TokenStoreError,
};
