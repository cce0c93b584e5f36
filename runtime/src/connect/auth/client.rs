//! The OAuth client, and its authentication.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use url::form_urlencoded::byte_serialize;

use super::secret::Secret;

/// How a client proves at the token endpoint who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum AuthMethod {
    /// Without authentication: the code and its verifier identify the client.
    #[serde(rename = "none")]
    None,
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
}

impl AuthMethod {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    /// Chooses the best supported method (RFC 8414: `client_secret_basic` if the server lists none).
    pub(super) fn choose(supported: Option<&[String]>, has_secret: bool) -> Self {
        if !has_secret {
            return Self::None;
        }
        let Some(supported) = supported else { return Self::Basic };
        let takes = |method: &Self| supported.iter().any(|name| name == method.as_str());
        [Self::Basic, Self::Post, Self::None].into_iter().find(takes).unwrap_or(Self::Basic)
    }
}

/// A client that an authorization server knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    /// PKCS #8 in PEM, which proves who the client is in place of a secret.
    #[serde(skip)]
    pub(super) key: Option<Secret>,
    pub(super) method: AuthMethod,
    /// The registered redirect URL.
    pub(super) redirect: Option<String>,
}

impl Client {
    /// Creates a client that is not registered for a redirect URL.
    pub(super) fn new(id: impl Into<String>, secret: Option<Secret>) -> Self {
        Self { id: id.into(), secret, key: None, method: AuthMethod::None, redirect: None }
    }

    /// Returns the parameters and the header that prove who the client is.
    pub(super) fn proof(&self) -> (Vec<(&'static str, String)>, Option<String>) {
        let secret = self.secret.as_ref().map(Secret::expose).unwrap_or_default();
        let id = ("client_id", self.id.clone());
        match self.method {
            AuthMethod::None => (vec![id], None),
            AuthMethod::Post => (vec![id, ("client_secret", secret.to_owned())], None),
            AuthMethod::Basic => {
                // Both are encoded as in a form before they are joined (RFC 6749, 2.3.1).
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let pair = format!("{}:{}", encoded(&self.id), encoded(secret));
                (Vec::new(), Some(format!("Basic {}", BASE64_STANDARD.encode(pair))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(method: AuthMethod) -> Client {
        Client { method, ..Client::new("a:b", Some(Secret::new("p w/"))) }
    }

    #[test]
    fn client_authenticates_with_the_selected_method() {
        let (parameters, header) = client(AuthMethod::Basic).proof();
        assert_eq!((parameters.len(), header.as_deref()), (0, Some("Basic YSUzQWI6cCt3JTJG")));
        let (parameters, header) = client(AuthMethod::Post).proof();
        assert_eq!(parameters, [("client_id", "a:b".to_owned()), ("client_secret", "p w/".to_owned())]);
        assert_eq!(header, None);
        assert_eq!(client(AuthMethod::None).proof(), (vec![("client_id", "a:b".to_owned())], None));
    }

    #[test]
    fn auth_method_is_one_the_server_supports() {
        let choose = |supported: &[&str], has_secret| {
            let supported: Vec<String> = supported.iter().map(|name| (*name).to_owned()).collect();
            AuthMethod::choose(Some(&supported), has_secret)
        };
        assert_eq!(choose(&["none", "client_secret_post"], true), AuthMethod::Post);
        assert_eq!(choose(&["client_secret_post", "client_secret_basic"], true), AuthMethod::Basic);
        assert_eq!(choose(&["none"], true), AuthMethod::None);
        assert_eq!(choose(&["client_secret_basic"], false), AuthMethod::None);
        assert_eq!(AuthMethod::choose(None, true), AuthMethod::Basic);
    }
}
