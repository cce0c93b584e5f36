//! The token that requests have to bear.

use std::fmt;

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderValue};
use mcp_bindgen_model::sha256;
use subtle::ConstantTimeEq;

use crate::ServeError;

/// A token, of which only the digest is kept: enough to compare, and nothing that could be shown.
#[derive(Clone)]
pub(super) struct Bearer {
    digest: [u8; 32],
}

/// The credentials of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Borne {
    /// The token.
    Right,
    /// Another one, or two.
    Wrong,
    Nothing,
}

impl Bearer {
    /// RFC 6750, section 2.1: visible ASCII.
    pub(super) fn new(token: &str) -> Result<Self, ServeError> {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ServeError::option("bearer", "expected a non-empty token of visible ASCII without spaces"));
        }
        Ok(Self { digest: sha256(token.as_ref()) })
    }

    /// Takes as long for a token that is nearly right as for any other.
    pub(super) fn borne(&self, headers: &HeaderMap) -> Borne {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        match (values.next(), values.next()) {
            (None, _) => Borne::Nothing,
            (Some(value), None) if self.is(value) => Borne::Right,
            _ => Borne::Wrong,
        }
    }

    fn is(&self, value: &HeaderValue) -> bool {
        let Some((scheme, token)) = value.as_bytes().split_at_checked("Bearer ".len()) else { return false };
        let digest = sha256(token.trim_ascii());
        scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(digest.ct_eq(&self.digest))
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Bearer(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_right() {
        let Ok(bearer) = Bearer::new("s3cret") else { panic!("the token is fine") };
        assert_eq!(bearer.borne(&HeaderMap::new()), Borne::Nothing);
        for (value, expected) in [
            ("Bearer s3cret", Borne::Right),
            ("bearer  s3cret", Borne::Right),
            ("Bearer s3cre", Borne::Wrong),
            ("Bearer s3crets", Borne::Wrong),
            ("Bearer ", Borne::Wrong),
            ("Bearer", Borne::Wrong),
            ("Basic s3cret", Borne::Wrong),
            ("s3cret", Borne::Wrong),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
            assert_eq!(bearer.borne(&headers), expected, "{value}");
            headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer s3cret"));
            assert_eq!(bearer.borne(&headers), Borne::Wrong, "{value}, twice");
        }
        assert!(!format!("{bearer:?}").contains("s3cret"));
    }
}
