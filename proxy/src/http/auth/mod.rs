//! Authenticates requests: by a shared token, one of several named tokens, or a token of an authorization server.

mod bearer;
#[cfg(feature = "jwt")]
mod issuer;
#[cfg(feature = "jwt")]
mod jwt;
mod tokens;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

pub(super) use self::bearer::Bearer;
#[cfg(feature = "jwt")]
pub use self::jwt::JwtAuth;
pub use self::tokens::{TokenFile, TokenFileError};

/// Whoever was authenticated, as far as the token says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Principal {
    pub(super) name: Option<String>,
    pub(super) groups: Vec<String>,
    pub(super) scopes: Vec<String>,
}

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
    pub(super) async fn authenticate(&self, headers: &HeaderMap) -> Result<Principal, NotAuthenticated> {
        if matches!(self, Self::None) {
            return Ok(Principal::default());
        }
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let token = match (values.next(), values.next()) {
            (None, _) => return Err(NotAuthenticated::Nothing),
            (Some(value), None) => value.as_bytes().split_at_checked("Bearer ".len()),
            _ => None,
        };
        let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer ")).map(|(_, token)| token);
        let token = token.map(<[u8]>::trim_ascii).ok_or(NotAuthenticated::Invalid)?;
        match self {
            Self::None => Ok(Principal::default()),
            Self::Bearer(bearer) if bearer.is(token) => Ok(Principal::default()),
            Self::Bearer(_) => Err(NotAuthenticated::Invalid),
            Self::Tokens(file) => file.principal(token).ok_or(NotAuthenticated::Invalid),
            #[cfg(feature = "jwt")]
            Self::Jwt(jwt) => jwt.principal(token).await,
        }
    }

    /// The issuer and the scopes for the metadata of the protected resource (RFC 9728), and its name.
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

    /// Returns `true` if everybody is let in.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::None)
    }
}
