//! Authenticates requests: by a shared token, one of several named tokens, or a token of an authorization server.

#[cfg(feature = "jwt")]
mod issuer;
#[cfg(feature = "jwt")]
mod jwt;
mod tokens;

use std::fmt;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use mcp_bindgen_model::sha256;
use mcp_bindgen_runtime::Caller;
use subtle::ConstantTimeEq;

#[cfg(feature = "jwt")]
pub use self::jwt::JwtAuth;
pub use self::tokens::{TokenFile, TokenFileError};
use crate::ServeError;

/// Why a request is not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotAuthenticated {
    /// It has no token.
    Nothing,
    /// Its token is not valid.
    Invalid,
    /// Its token does not have these scopes.
    MissingScopes(Vec<String>),
    /// The keys of the issuer are not known at the moment.
    Unavailable,
}

/// How requests are authenticated.
#[derive(Clone, Debug)]
pub(super) enum Authentication {
    /// Everybody is let in.
    None,
    Bearer(Bearer),
    Tokens(TokenFile),
    #[cfg(feature = "jwt")]
    Jwt(JwtAuth),
}

impl Authentication {
    /// Returns the caller, as far as the token says.
    pub(super) async fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, NotAuthenticated> {
        if matches!(self, Self::None) {
            return Ok(Caller::default());
        }
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let credentials = match (values.next(), values.next()) {
            (None, _) => return Err(NotAuthenticated::Nothing),
            (Some(value), None) => value.as_bytes().split_at_checked("Bearer ".len()),
            _ => None,
        };
        let token = credentials.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer ")).map(|(_, token)| token);
        let token = token.map(<[u8]>::trim_ascii).ok_or(NotAuthenticated::Invalid)?;
        match self {
            Self::None => Ok(Caller::default()),
            Self::Bearer(bearer) if bearer.is(token) => Ok(Caller::default()),
            Self::Bearer(_) => Err(NotAuthenticated::Invalid),
            Self::Tokens(file) => file.principal(token).ok_or(NotAuthenticated::Invalid),
            #[cfg(feature = "jwt")]
            Self::Jwt(jwt) => jwt.principal(token).await,
        }
    }

    /// Returns the issuer and the scopes for the metadata of the protected resource (RFC 9728), and its name.
    pub(super) fn resource(&self) -> Option<(&str, &[String], &str)> {
        match self {
            #[cfg(feature = "jwt")]
            Self::Jwt(jwt) => Some(jwt.resource()),
            _ => None,
        }
    }

    /// Returns `true` if those who are let in have names.
    pub(super) fn has_names(&self) -> bool {
        !matches!(self, Self::None | Self::Bearer(_))
    }

    /// Returns `true` if every caller is admitted.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// A token, of which only the digest is kept: enough to compare, and nothing that could be shown.
#[derive(Clone)]
pub(in crate::http) struct Bearer {
    digest: [u8; 32],
}

impl Bearer {
    /// Checks a token: visible ASCII (RFC 6750, section 2.1).
    pub(in crate::http) fn new(token: &str) -> Result<Self, ServeError> {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ServeError::option("bearer", "expected a non-empty token of visible ASCII without spaces"));
        }
        Ok(Self { digest: sha256(token.as_ref()) })
    }

    /// Takes as long for a token that is nearly right as for any other.
    fn is(&self, token: &[u8]) -> bool {
        bool::from(sha256(token).ct_eq(&self.digest))
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Bearer(..)")
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[tokio::test]
    async fn only_the_exact_token_is_accepted() {
        let authentication = Authentication::Bearer(Bearer::new("s3cret").expect("the token is fine"));
        let check = async |headers: &HeaderMap| authentication.authenticate(headers).await;
        assert_eq!(check(&HeaderMap::new()).await, Err(NotAuthenticated::Nothing));
        for (value, is_right) in [
            ("Bearer s3cret", true),
            ("bearer  s3cret", true),
            ("Bearer s3cre", false),
            ("Bearer s3crets", false),
            ("Bearer ", false),
            ("Bearer", false),
            ("Basic s3cret", false),
            ("s3cret", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
            let expected = if is_right { Ok(Caller::default()) } else { Err(NotAuthenticated::Invalid) };
            assert_eq!(check(&headers).await, expected, "{value}");
            headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer s3cret"));
            assert_eq!(check(&headers).await, Err(NotAuthenticated::Invalid), "{value}, twice");
        }
        assert!(!format!("{authentication:?}").contains("s3cret"));
    }
}
