//! Sources of placeholder values.

use std::future::Future;
use std::sync::Arc;

use mcp_bindgen_model::SecretRef;

use crate::ground::redact::debug_as;
use crate::ground::task::Boxed;

/// Returns the values of placeholders when a connection is opened: see
/// [`ClientOptions::secrets`](crate::ClientOptions::secrets).
///
/// ```
/// use mcp_bindgen_runtime::{ClientOptions, LocalSecrets, SecretError, SecretRef, SecretSource};
///
/// struct Vault;
///
/// impl SecretSource for Vault {
///     async fn secret(&self, secret: &SecretRef) -> Result<Option<String>, SecretError> {
///         match secret {
///             SecretRef::Variable(name) if name == "GITHUB_TOKEN" => Ok(Some("from the vault".to_owned())),
///             _ => Ok(None),
///         }
///     }
/// }
///
/// let options = ClientOptions::new().secrets(Vault.or(LocalSecrets));
/// assert!(!format!("{options:?}").contains("from the vault"));
/// ```
pub trait SecretSource: Send + Sync {
    /// Returns the value of a placeholder, or `None` so that its default applies. The future is dropped if connecting
    /// times out or is given up.
    ///
    /// # Errors
    /// Fails if the source cannot be read.
    fn secret(&self, secret: &SecretRef) -> impl Future<Output = Result<Option<String>, SecretError>> + Send;

    /// Combines this source with a fallback for missing values.
    fn or<S: SecretSource>(self, other: S) -> Or<Self, S>
    where
        Self: Sized,
    {
        Or { first: self, second: other }
    }
}

/// Two sources; the second is used if the first has no value: [`SecretSource::or`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Or<A, B> {
    first: A,
    second: B,
}

impl<A: SecretSource, B: SecretSource> SecretSource for Or<A, B> {
    async fn secret(&self, secret: &SecretRef) -> Result<Option<String>, SecretError> {
        match self.first.secret(secret).await? {
            Some(value) => Ok(Some(value)),
            None => self.second.secret(secret).await,
        }
    }
}

/// The default source of secrets: the environment and, with feature `keyring`, entries of the operating system's
/// keyring with service `mcp-bindgen` and the placeholder's name as the user.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalSecrets;

impl SecretSource for LocalSecrets {
    async fn secret(&self, secret: &SecretRef) -> Result<Option<String>, SecretError> {
        match secret {
            SecretRef::Variable(name) => match std::env::var(name) {
                Ok(value) => Ok(Some(value)),
                Err(std::env::VarError::NotPresent) => Ok(None),
                Err(std::env::VarError::NotUnicode(_)) => Err(SecretError::new("the variable is not UTF-8")),
            },
            #[cfg(feature = "keyring")]
            SecretRef::Keyring(name) => crate::connect::keyring::secret(name.clone()).await.map_err(SecretError::new),
            #[cfg(not(feature = "keyring"))]
            SecretRef::Keyring(_) => Err(SecretError {
                message: "this build has no keyring support; enable the feature `keyring` of mcp-bindgen".to_owned(),
                is_unsupported: true,
            }),
            _ => Ok(None),
        }
    }
}

/// The error of a source of secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SecretError {
    message: String,
    /// `true` if this build does not support the placeholder.
    pub(super) is_unsupported: bool,
}

impl SecretError {
    /// Creates an error with a reason, which must not contain secrets.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_unsupported: false }
    }
}

type Found = Result<Option<String>, SecretError>;

/// The source of a client; clones share it.
#[derive(Clone)]
pub(crate) struct Secrets(Arc<dyn Fn(SecretRef) -> Boxed<Found> + Send + Sync>);

impl Secrets {
    pub(crate) fn new(source: impl SecretSource + 'static) -> Self {
        let source = Arc::new(source);
        Self(Arc::new(move |secret| {
            let source = source.clone();
            Box::pin(async move { source.secret(&secret).await })
        }))
    }
}

impl SecretSource for Secrets {
    async fn secret(&self, secret: &SecretRef) -> Found {
        (self.0)(secret.clone()).await
    }
}

impl Default for Secrets {
    fn default() -> Self {
        Self::new(LocalSecrets)
    }
}

debug_as!(Secrets, "Secrets(..)");

#[cfg(test)]
#[cfg(not(feature = "keyring"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keyring_is_unsupported_in_a_build_without_it() {
        let error = LocalSecrets.secret(&SecretRef::Keyring("NAME".to_owned())).await.expect_err("no keyring");
        assert!(error.is_unsupported, "{error}");
    }
}
