//! The stored state of a server: the clients that were registered and the tokens that were granted, by issuer.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::client::Client;
use super::secret::Secret;
use super::store::StoredTokens;

const FORMAT: u64 = 1;
/// A token that ends this soon may end on its way.
const LEEWAY: Duration = Duration::from_secs(30);

/// The stored state of one server. Nothing that one issuer gave is ever shown to another.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct Entry {
    /// The issuer whose tokens the server took last.
    pub(super) current: Option<String>,
    #[serde(default, deserialize_with = "readable")]
    pub(super) issuers: BTreeMap<String, Issued>,
}

/// Reads issuers; one that cannot be read costs itself alone.
fn readable<'de, D: Deserializer<'de>>(issuers: D) -> Result<BTreeMap<String, Issued>, D::Error> {
    let issuers = BTreeMap::<String, Value>::deserialize(issuers)?.into_iter();
    Ok(issuers.filter_map(|(issuer, issued)| Some((issuer, Issued::deserialize(issued).ok()?))).collect())
}

/// The registration and tokens of one issuer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Issued {
    /// Registered by this library; one that the program names is never kept.
    pub(super) client: Option<Client>,
    pub(super) tokens: Option<Tokens>,
}

/// An access token, and what goes with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// Seconds since 1970.
    pub(super) expires: Option<u64>,
    pub(super) scopes: Vec<String>,
    pub(super) resource: String,
    /// The client that they were given to.
    #[serde(rename = "client")]
    pub(super) client_id: String,
}

/// The tokens that a store keeps for a server: [`OAuth::stored`](crate::OAuth::stored).
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

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Entry {
    /// Returns the tokens that requests are sent with.
    pub(super) fn tokens(&self) -> Option<&Tokens> {
        self.issuers.get(self.current.as_deref()?)?.tokens.as_ref()
    }

    pub(super) fn issued(&mut self, issuer: &str) -> &mut Issued {
        self.issuers.entry(issuer.to_owned()).or_default()
    }

    /// Parses the stored state. An unreadable state counts as empty, which only costs another authorization.
    pub(super) fn parse(stored: &StoredTokens) -> Self {
        let document: Value = serde_json::from_str(stored.expose()).unwrap_or_default();
        match document.get("format").and_then(Value::as_u64) {
            Some(FORMAT) => Self::deserialize(document).unwrap_or_default(),
            _ => Self::default(),
        }
    }

    pub(super) fn print(&self) -> StoredTokens {
        StoredTokens::new(json!({"format": FORMAT, "current": self.current, "issuers": self.issuers}).to_string())
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
        let mut entry = Entry { current: Some("https://auth.example".to_owned()), ..Entry::default() };
        *entry.issued("https://auth.example") = Issued {
            client: Some(Client {
                method: AuthMethod::Basic,
                redirect: Some("http://127.0.0.1:1/callback".to_owned()),
                ..Client::new("me", Some(Secret::new("hunter22")))
            }),
            tokens: Some(tokens(Some(7))),
        };
        entry.issued("https://other.example");
        let kept = entry.print();
        assert_eq!(Entry::parse(&kept), entry);
        let debug = format!("{entry:?} {kept:?}");
        for secret in ["access-1", "refresh-1", "hunter22"] {
            assert!(kept.expose().contains(secret) && !debug.contains(secret), "{debug}");
        }
    }

    #[test]
    fn unreadable_entry_loads_as_empty() {
        for text in ["", "{", "[]", r#"{"format": 2, "current": "x"}"#, r#"{"issuers": 5}"#] {
            assert_eq!(Entry::parse(&StoredTokens::new(text)), Entry::default(), "{text}");
        }
        let damaged =
            r#"{"format": 1, "current": "i", "issuers": {"i": {"client": {"id": 5}, "tokens": {"access": ""}}}}"#;
        assert_eq!(Entry::parse(&StoredTokens::new(damaged)).tokens(), None);
    }

    #[test]
    fn unreadable_issuer_does_not_affect_other_issuers() {
        let mut entry = Entry { current: Some("https://auth.example".to_owned()), ..Entry::default() };
        entry.issued("https://auth.example").tokens = Some(tokens(None));
        let mut kept: Value = serde_json::from_str(entry.print().expose()).expect("JSON");
        kept["issuers"]["https://other.example"] = json!({ "client": { "id": "me", "method": "of a later version" } });
        assert_eq!(Entry::parse(&StoredTokens::new(kept.to_string())), entry);
    }

    #[test]
    fn token_is_stale_before_it_expires() {
        assert!(tokens(None).is_fresh());
        assert!(tokens(Some(now() + 60)).is_fresh());
        assert!(!tokens(Some(now() + 10)).is_fresh() && tokens(Some(now() + 10)).is_usable());
        assert!(!tokens(Some(0)).is_fresh() && !tokens(Some(0)).is_usable());
        assert!(!tokens(Some(now())).is_usable(), "it ends with the beginning of this second");
    }
}
