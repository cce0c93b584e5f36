//! The stored state of a server: the client that was registered and the tokens that were granted.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::client::Client;
use super::secret::{Secret, now};
use super::store::StoredTokens;

/// A token that expires this soon may expire before the server reads it.
const LEEWAY: Duration = Duration::from_secs(30);

/// The stored state of one server, all from one issuer. Nothing that one issuer gave is ever shown to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) issuer: String,
    /// Registered by this library. A client that the program sets is never stored.
    pub(super) client: Option<Client>,
    pub(super) tokens: Option<Tokens>,
}

/// An access token, with its refresh token, its expiry and its scopes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// Seconds since 1970.
    pub(super) expires: Option<u64>,
    pub(super) scopes: Vec<String>,
    pub(super) resource: String,
    /// The client that they were given to.
    pub(super) client_id: String,
}

/// The stored authorization of a server, without its tokens: [`OAuth::stored`](crate::OAuth::stored).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredAuthorization {
    /// The authorization server that granted it.
    pub issuer: String,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// The expiry of the access token, if known.
    pub expires: Option<SystemTime>,
    /// Renewing needs no user.
    pub is_renewable: bool,
}

impl Tokens {
    /// Returns `true` if a request can be sent with them.
    pub(super) fn is_usable(&self) -> bool {
        self.expires.is_none_or(|expires| expires > now())
    }

    /// Returns `true` if they need not be renewed yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.expires.is_none_or(|expires| expires > now().saturating_add(LEEWAY.as_secs()))
    }
}

impl Entry {
    /// Parses the stored state. An unreadable state counts as empty, which only costs another authorization.
    pub(super) fn parse(stored: &StoredTokens) -> Self {
        serde_json::from_str(stored.expose()).unwrap_or_default()
    }

    pub(super) fn print(&self) -> StoredTokens {
        StoredTokens::new(serde_json::to_string(self).unwrap_or_default())
    }

    /// Returns the authorization without the tokens themselves.
    pub(super) fn authorization(self) -> Option<StoredAuthorization> {
        let tokens = self.tokens?;
        Some(StoredAuthorization {
            issuer: self.issuer,
            scopes: tokens.scopes,
            expires: tokens.expires.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds))),
            is_renewable: tokens.refresh.is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::AuthMethod;
    use super::*;

    fn tokens(expires: Option<u64>) -> Tokens {
        Tokens {
            access: Secret::new("access-1"),
            refresh: Some(Secret::new("refresh-1")),
            expires,
            scopes: vec!["read".to_owned()],
            resource: "https://a.example/mcp".to_owned(),
            client_id: "me".to_owned(),
        }
    }

    #[test]
    fn stored_entry_round_trips_and_debug_output_hides_secrets() {
        let entry = Entry {
            issuer: "https://auth.example".to_owned(),
            client: Some(Client {
                method: AuthMethod::ClientSecretBasic,
                redirect: Some("http://127.0.0.1:1/callback".to_owned()),
                ..Client::new("me", Some(Secret::new("hunter22")))
            }),
            tokens: Some(tokens(Some(7))),
        };
        let kept = entry.print();
        assert_eq!(Entry::parse(&kept), entry);
        let debug = format!("{entry:?} {kept:?}");
        for secret in ["access-1", "refresh-1", "hunter22"] {
            assert!(kept.expose().contains(secret) && !debug.contains(secret), "{debug}");
        }
    }

    #[test]
    fn unreadable_entry_loads_as_empty() {
        for text in [
            "",
            "{",
            "[]",
            r#"{"format": 1, "current": "i", "issuers": {}}"#,
            r#"{"issuer": 5}"#,
            r#"{"issuer": "i", "tokens": {"access": ""}}"#,
            r#"{"issuer": "i", "client": {"id": "me", "method": "of a later version"}}"#,
        ] {
            assert_eq!(Entry::parse(&StoredTokens::new(text)), Entry::default(), "{text}");
        }
    }

    #[test]
    fn token_is_stale_before_it_expires() {
        assert!(tokens(None).is_fresh());
        assert!(tokens(Some(now() + 60)).is_fresh());
        assert!(!tokens(Some(now() + LEEWAY.as_secs())).is_fresh());
        assert!(!tokens(Some(now() + 10)).is_fresh() && tokens(Some(now() + 10)).is_usable());
        assert!(!tokens(Some(0)).is_fresh() && !tokens(Some(0)).is_usable());
        assert!(!tokens(Some(now())).is_usable(), "it ends with the beginning of this second");
    }
}
