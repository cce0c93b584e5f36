//! The values of placeholders: their sources, the places that a configuration names, and the redactor that hides them.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use mcp_bindgen_model::{SecretRef, SecretStore, ServerConfig};

use crate::ground::redact::{PrivateValues, Redactor, debug_as};
use crate::ground::task::Boxed;
use crate::{ConnectError, ConnectErrorKind as Kind};

/// A file of variables may not be larger.
const LARGEST: u64 = 1024 * 1024;
const LONGEST_REASON: usize = 500;

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
        Or(self, other)
    }
}

/// Two sources; the second is used if the first has no value: [`SecretSource::or`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Or<A, B>(A, B);

impl<A: SecretSource, B: SecretSource> SecretSource for Or<A, B> {
    async fn secret(&self, secret: &SecretRef) -> Result<Option<String>, SecretError> {
        if let Some(value) = self.0.secret(secret).await? { Ok(Some(value)) } else { self.1.secret(secret).await }
    }
}

/// The default source of secrets: the environment and, with feature `keyring`, entries of the operating system's
/// keyring with service `mcp-bindgen` and the placeholder's name as the user.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalSecrets;

impl SecretSource for LocalSecrets {
    async fn secret(&self, secret: &SecretRef) -> Result<Option<String>, SecretError> {
        match secret {
            SecretRef::Variable(name) => {
                let value = std::env::var_os(name).map(std::ffi::OsString::into_string).transpose();
                value.map_err(|_| SecretError::new("the variable is not UTF-8"))
            }
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
    is_unsupported: bool,
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

/// Returns the value of a server's placeholder, as a client looks it up: `${NAME}` in the places of `secrets` in the
/// configuration, in order, else in the environment. The source answers for the environment and the keyring. Cancel safe.
///
/// ```
/// use mcp_bindgen_model::{SecretRef, ServerConfig};
/// use mcp_bindgen_runtime::{LocalSecrets, find_secret};
///
/// # async fn run() -> Result<(), mcp_bindgen_runtime::SecretError> {
/// let server = ServerConfig::stdio("files", "file-server").env("HOME", "${HOME}");
/// for secret in server.placeholders() {
///     println!("{secret} is set: {}", find_secret(&server, &secret, &LocalSecrets).await?.is_some());
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails if a place cannot be read, and no other one has the value.
pub async fn find_secret(
    config: &ServerConfig,
    secret: &SecretRef,
    source: &impl SecretSource,
) -> Result<Option<String>, SecretError> {
    let (SecretRef::Variable(name), [_, ..]) = (secret, &*config.secret_stores) else {
        return source.secret(secret).await;
    };
    let mut failed = None;
    for store in &config.secret_stores {
        let found = match store {
            SecretStore::Keyring => source.secret(&SecretRef::Keyring(name.clone())).await,
            SecretStore::Dotenv(path) => in_file(&config.folder.as_deref().unwrap_or(Path::new("")).join(path), name),
            _ => source.secret(secret).await,
        };
        match found {
            Ok(Some(value)) => return Ok(Some(value)),
            Ok(None) => {}
            // An unsupported store that the configuration names is an error, not a skipped store.
            Err(error) if error.is_unsupported => return Err(error),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(None), Err)
}

/// Reads a variable from a file of `NAME=value` lines. Its errors show no line: it may be a secret.
fn in_file(path: &Path, name: &str) -> Result<Option<String>, SecretError> {
    let wrong = |what: &str| SecretError::new(format!("cannot read `{}`: {what}", path.display()));
    let size = match path.metadata() {
        Ok(found) if found.is_file() => found.len(),
        Ok(_) => return Err(wrong("it is not a file")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(&error.kind().to_string())),
    };
    if size > LARGEST {
        return Err(wrong("it is larger than 1 MiB"));
    }
    let lines = dotenvy::from_path_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let lines = lines.map_err(|error| match error {
        dotenvy::Error::LineParse(_, column) => wrong(&format!("a line is not `NAME=value`, at character {column}")),
        dotenvy::Error::Io(error) if error.kind() != ErrorKind::InvalidData => wrong("it cannot be opened"),
        _ => wrong("it is not UTF-8 text"),
    })?;
    Ok(lines.into_iter().find(|(key, _)| key == name).map(|(_, value)| value))
}

/// Returns a server's configuration with resolved placeholders, as a client resolves them when it connects. It is for
/// programs that pass the configuration to another client. `Debug` still prints the placeholders; the fields contain
/// the values. Cancel safe.
///
/// ```
/// use mcp_bindgen_model::{ServerConfig, Transport};
/// use mcp_bindgen_runtime::{LocalSecrets, with_secrets};
///
/// # async fn run() -> Result<(), mcp_bindgen_runtime::ConnectError> {
/// let server = ServerConfig::http("files", "https://${HOST:-files.example.com}/mcp");
/// let ready = with_secrets(&server, &LocalSecrets).await?;
/// assert!(matches!(&ready.transport, Transport::Http { url, .. } if url.starts_with("https://files")));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails with the name of a placeholder that has no value or cannot be resolved, and never with a value.
pub async fn with_secrets(config: &ServerConfig, source: &impl SecretSource) -> Result<ServerConfig, ConnectError> {
    resolve(config, source, false).await.0
}

/// The secrets in a server's configuration that are known without connecting, for programs that store responses of
/// the server.
///
/// ```
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::{KnownSecrets, LocalSecrets};
///
/// # async fn run() {
/// let server = ServerConfig::stdio("files", "file-server").args(["--token", "8d0f2a4c6e80"]);
/// let secrets = KnownSecrets::of(&server, &LocalSecrets).await;
/// assert!(secrets.are_in("cannot log in with 8d0f2a4c6e80"));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct KnownSecrets(Redactor);

impl KnownSecrets {
    /// Creates a redactor for a configuration. A placeholder without a value hides nothing. Dropping this future drops
    /// the future of the source.
    pub async fn of(config: &ServerConfig, source: &impl SecretSource) -> Self {
        Self(resolve(config, source, true).await.1)
    }

    /// Returns `true` if a text contains one of them, in any form in which servers print it. Values that could be
    /// ordinary words are ignored.
    #[must_use]
    pub fn are_in(&self, text: &str) -> bool {
        self.0.is_sure_of(text)
    }
}

/// Returns the configuration with a value for each placeholder, or the error of one that has no value or cannot be
/// resolved. The redactor hides all secrets that are known in either case. Stops at the first error of the source,
/// unless `despite_errors` is set. Dropping this future drops the future of the source.
pub(super) async fn resolve(
    config: &ServerConfig,
    source: &impl SecretSource,
    despite_errors: bool,
) -> (Result<ServerConfig, ConnectError>, Redactor) {
    let mut found: Vec<(SecretRef, String)> = Vec::new();
    let mut failed = None;
    for secret in config.placeholders() {
        match find_secret(config, &secret, source).await {
            Ok(value) => found.extend(value.map(|value| (secret, value))),
            Err(error) => {
                failed = failed.or(Some((secret, error)));
                if !despite_errors {
                    break;
                }
            }
        }
    }
    let value: &dyn Fn(&SecretRef) -> Option<String> =
        &|wanted| Some(found.iter().find(|(secret, _)| secret == wanted)?.1.clone());
    // A placeholder without a value is not a secret.
    let or_empty: &dyn Fn(&SecretRef) -> Option<String> = &|secret| value(secret).or_else(|| Some(String::new()));
    let (ready, known) = (config.expand_with(value), config.expand_with(or_empty));
    let redactor = Redactor::new(&private_values(known.as_ref().unwrap_or(config), &found));
    let (kind, message) = match (ready, failed) {
        (_, Some((secret, error))) => {
            let kind = if error.is_unsupported { Kind::Unsupported } else { Kind::Config };
            // The error of a program's own source may contain values that it returned.
            let reason = redactor.shown(&error.to_string(), LONGEST_REASON);
            (kind, format!("`{secret}` has no value: {reason}"))
        }
        (Ok(ready), None) => return (Ok(ready), redactor),
        (Err(error), None) => {
            let places = config.secret_stores.iter().map(|store| format!("`{store}`")).collect::<Vec<_>>().join(", ");
            let looked = if places.is_empty() { String::new() } else { format!(" (looked up in {places})") };
            (Kind::Config, format!("{error}{looked}"))
        }
    };
    (Err(ConnectError::new(&config.name, kind, message)), redactor)
}

fn private_values(config: &ServerConfig, found: &[(SecretRef, String)]) -> PrivateValues {
    let mut values = PrivateValues::of(config);
    for (secret, value) in found {
        match secret {
            SecretRef::Variable(name) => values.handed(name, value),
            _ => values.secret(value),
        }
    }
    for name in &config.inherit_env {
        if let Some(value) = std::env::var_os(name) {
            values.handed(name, &value.to_string_lossy());
        }
    }
    #[cfg(feature = "stdio")]
    for (name, value) in crate::connect::process::environment::secrets_of_download(config) {
        values.handed(&name, &value);
    }
    values
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    struct Only(&'static str, SecretRef);

    impl SecretSource for Only {
        async fn secret(&self, secret: &SecretRef) -> Result<Option<String>, SecretError> {
            Ok((*secret == self.1).then(|| self.0.to_owned()))
        }
    }

    fn server(stores: &[&str], folder: &Path) -> ServerConfig {
        let stores = stores.iter().map(|store| SecretStore::parse(store).expect("it is a store"));
        let mut server = ServerConfig::stdio("s", "x").secret_stores(stores);
        server.folder = Some(folder.to_owned());
        server
    }

    #[tokio::test]
    async fn first_store_with_a_value_wins_and_dotenv_exports_no_variables() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "# comment\nexport A_SECRET_TOKEN='in the file'\nA_SECRET_TOKEN=later\nQUOTED=\"a b\" # note\n";
        std::fs::write(folder.path().join(".env"), text).expect("the file is written");
        let variable = SecretRef::Variable("A_SECRET_TOKEN".to_owned());
        let env = Only("environment", variable.clone());
        let keyring = Only("keyring", SecretRef::Keyring("A_SECRET_TOKEN".to_owned()));
        let value = async |stores: &[&str], source: &Only| {
            find_secret(&server(stores, folder.path()), &variable, source).await.expect("it is looked up")
        };
        assert_eq!(value(&[], &env).await.as_deref(), Some("environment"));
        assert_eq!(value(&[], &keyring).await, None);
        assert_eq!(value(&["keyring"], &env).await, None);
        assert_eq!(value(&["keyring", "env"], &env).await.as_deref(), Some("environment"));
        assert_eq!(value(&["keyring", "dotenv:.env"], &keyring).await.as_deref(), Some("keyring"));
        assert_eq!(value(&["keyring", "dotenv:.env", "env"], &env).await.as_deref(), Some("in the file"));
        assert_eq!(value(&["dotenv:absent.env", "env"], &env).await.as_deref(), Some("environment"));
        assert_eq!(value(&["dotenv:absent.env"], &env).await, None, "a file that does not exist is no error");
        assert!(std::env::var_os("A_SECRET_TOKEN").is_none(), "nothing is exported");
    }

    #[tokio::test]
    async fn unreadable_dotenv_file_is_an_error_without_its_content() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(".env"), "hunter22 is no assignment\n").expect("the file is written");
        let variable = SecretRef::Variable("TOKEN".to_owned());
        let error = find_secret(&server(&["dotenv:.env"], folder.path()), &variable, &LocalSecrets)
            .await
            .expect_err("the file is malformed")
            .to_string();
        assert!(error.contains(".env`: a line is not `NAME=value`, at character "), "{error}");
        assert!(!error.contains("hunter22"), "{error}");
        let folder_as_file = server(&["dotenv:."], folder.path());
        let error = find_secret(&folder_as_file, &variable, &LocalSecrets).await.expect_err("a folder");
        assert!(error.to_string().contains("not a file"), "{error}");
    }

    #[test]
    fn file_of_variables_that_is_no_text_is_not_called_unreadable() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), b"A=\xff\n").expect("the file is written");
        let error = in_file(file.path(), "A").expect_err("no UTF-8").to_string();
        assert!(error.contains("not UTF-8"), "{error}");
    }

    #[tokio::test]
    async fn file_of_variables_may_have_a_mebibyte_and_no_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let variable = SecretRef::Variable("TOKEN".to_owned());
        let start = "TOKEN=found\n#";
        for (size, expected) in [(LARGEST, Some("found")), (LARGEST + 1, None)] {
            let text = start.to_owned() + &"a".repeat(size as usize - start.len());
            std::fs::write(folder.path().join(".env"), text).expect("the file is written");
            let server = server(&["dotenv:.env"], folder.path());
            let found = find_secret(&server, &variable, &LocalSecrets).await;
            assert_eq!(found.ok().flatten().as_deref(), expected, "{size} bytes");
        }
    }

    #[cfg(not(feature = "keyring"))]
    #[tokio::test]
    async fn keyring_is_unsupported_in_a_build_without_it() {
        let error = LocalSecrets.secret(&SecretRef::Keyring("NAME".to_owned())).await.expect_err("no keyring");
        assert!(error.is_unsupported, "{error}");
    }

    /// A keyring that cannot be read.
    struct Broken(SecretError);

    impl SecretSource for Broken {
        async fn secret(&self, secret: &SecretRef) -> Result<Option<String>, SecretError> {
            match secret {
                SecretRef::Keyring(_) => Err(self.0.clone()),
                _ => LocalSecrets.secret(secret).await,
            }
        }
    }

    #[tokio::test]
    async fn unreadable_store_is_skipped_for_another_and_an_unsupported_one_is_an_error() {
        let variable = SecretRef::Variable("PATH".to_owned());
        let unset = SecretRef::Variable("A_VARIABLE_THAT_IS_NOT_SET".to_owned());
        let server = server(&["keyring", "env"], Path::new(""));
        let locked = SecretError::new("it is locked");
        let found = find_secret(&server, &variable, &Broken(locked.clone())).await;
        assert!(found.is_ok_and(|found| found.is_some()));
        assert_eq!(find_secret(&server, &unset, &Broken(locked.clone())).await, Err(locked));
        let unsupported = SecretError { message: "no keyring".to_owned(), is_unsupported: true };
        assert_eq!(find_secret(&server, &variable, &Broken(unsupported.clone())).await, Err(unsupported));
    }

    #[test]
    fn place_below_a_file_is_an_error_and_no_absent_file() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let error = in_file(&file.path().join(".env"), "A").expect_err("no folder").to_string();
        assert!(error.starts_with("cannot read `"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_of_variables_that_fails_to_be_read_is_not_called_binary() {
        // The first byte of a process is never mapped.
        let error = in_file(Path::new("/proc/self/mem"), "A").expect_err("no such address").to_string();
        assert!(error.ends_with("it cannot be opened"), "{error}");
    }

    #[tokio::test]
    async fn known_secrets_are_those_of_placeholders_and_arguments_but_not_of_a_home() {
        let variable = |name: &str| SecretRef::Variable(name.to_owned());
        let server = ServerConfig::stdio("s", "x").args(["--token", "8d0f2a4c6e80"]).env("HOME", "${HOME}");
        let known = KnownSecrets::of(&server, &Only("ada-4711-home", variable("HOME"))).await;
        assert!(known.are_in("it repeats 8d0f2a4c6e80") && !known.are_in("it repeats nothing"));
        assert!(!known.are_in("it is ada-4711-home"), "the variable is harmless");
        let server = ServerConfig::stdio("s", "x").env("PLACE", "${PLACE}");
        let known = KnownSecrets::of(&server, &Only("ada-4711-home", variable("PLACE"))).await;
        assert!(known.are_in("it is ada-4711-home"));
    }
}
