//! One token for all clients.

use std::fmt;

use mcp_bindgen_model::sha256;
use subtle::ConstantTimeEq;

use crate::ServeError;

/// A token, of which only the digest is kept: enough to compare, and nothing that could be shown.
#[derive(Clone)]
pub(crate) struct Bearer {
    digest: [u8; 32],
}

impl Bearer {
    /// RFC 6750, section 2.1: visible ASCII.
    pub(crate) fn new(token: &str) -> Result<Self, ServeError> {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ServeError::option("bearer", "expected a non-empty token of visible ASCII without spaces"));
        }
        Ok(Self { digest: sha256(token.as_ref()) })
    }

    /// Takes as long for a token that is nearly right as for any other.
    pub(super) fn is(&self, token: &[u8]) -> bool {
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
    use hyper::HeaderMap;
    use hyper::header::{AUTHORIZATION, HeaderValue};

    use super::super::{Authentication, NotAuthenticated, Principal};
    use super::*;

    #[tokio::test]
    async fn only_the_token_itself_is_right() {
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
            let expected = if is_right { Ok(Principal::default()) } else { Err(NotAuthenticated::Invalid) };
            assert_eq!(check(&headers).await, expected, "{value}");
            headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer s3cret"));
            assert_eq!(check(&headers).await, Err(NotAuthenticated::Invalid), "{value}, twice");
        }
        assert!(!format!("{authentication:?}").contains("s3cret"));
    }
}
