//! Looks placeholders up in the places that a configuration names.

use std::io::ErrorKind;
use std::path::Path;

use mcp_bindgen_model::{SecretRef, SecretStore, ServerConfig};

use super::secrets::{SecretError, SecretSource};

/// A file of variables may not be larger.
const LARGEST: u64 = 1024 * 1024;

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
        let error =
            find_secret(&server(&["dotenv:.env"], folder.path()), &variable, &super::super::secrets::LocalSecrets)
                .await
                .expect_err("the file is malformed")
                .to_string();
        assert!(error.contains(".env") && !error.contains("hunter22"), "{error}");
        let folder_as_file = server(&["dotenv:."], folder.path());
        let error =
            find_secret(&folder_as_file, &variable, &super::super::secrets::LocalSecrets).await.expect_err("a folder");
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
            let found = find_secret(&server, &variable, &super::super::secrets::LocalSecrets).await;
            assert_eq!(found.ok().flatten().as_deref(), expected, "{size} bytes");
        }
    }
}
