//! `${keyring:NAME}`: the value comes from a keyring, and no error shows it. Tokens are kept there.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[cfg(feature = "auth")]
#[allow(dead_code)]
#[path = "integration/auth/server.rs"]
mod server;

use keyring_core::Entry;
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{Client, ConnectErrorKind as Kind, LocalSecrets, SecretRef, SecretSource};

fn in_keyring(name: &str) -> SecretRef {
    SecretRef::Keyring(name.to_owned())
}

/// One after the other: which keyring there is holds for the whole process.
#[tokio::test]
async fn keyring_entries_are_read_and_failures_are_explained() {
    // On Linux without a session bus, no keyring is available.
    if cfg!(target_os = "linux") && std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_none() {
        let error = LocalSecrets.secret(&in_keyring("a token")).await.expect_err("no keyring");
        assert!(error.to_string().starts_with("failed to read the keyring: "), "{error}");
        let server = ServerConfig::stdio("github", "true").env("TOKEN", "${keyring:a token}");
        let error = Client::new(server).connect().await.expect_err("no keyring");
        assert_eq!(error.kind, Kind::Config);
        assert!(
            error.to_string().starts_with("github: `${keyring:a token}` has no value: failed to read the keyring"),
            "{error}"
        );
    }

    keyring_core::set_default_store(keyring_core::mock::Store::new().expect("a store"));
    let entry = Entry::new("mcp-bindgen", "a token").expect("an entry");
    entry.set_password("kept in the keyring").expect("it is kept");
    let found = LocalSecrets.secret(&in_keyring("a token")).await;
    assert_eq!(found, Ok(Some("kept in the keyring".to_owned())));
    assert_eq!(LocalSecrets.secret(&in_keyring("another")).await, Ok(None));

    let server = ServerConfig::stdio("shell", "sh")
        .args(["-c", "echo \"told $TOKEN and $OTHER\" >&2"])
        .env("TOKEN", "${keyring:a token}")
        .env("OTHER", "${keyring:another:-nothing}");
    let error = Client::new(server).connect().await.expect_err("no server");
    assert!(error.to_string().contains("told [redacted] and nothing"), "{error}");

    let server = ServerConfig::stdio("shell", "sh").env("TOKEN", "${keyring:another}");
    let error = Client::new(server).connect().await.expect_err("no entry");
    let said = error.to_string();
    assert!(
        said.starts_with("shell: no keyring entry `${keyring:another}`; server `shell` needs it for env"),
        "{said}"
    );
    assert!(said.contains("add it to the keyring with that name and the service `mcp-bindgen`"), "{said}");

    #[cfg(feature = "auth")]
    tokens::are_kept_under_the_name_of_the_program();
    #[cfg(feature = "auth")]
    tokens::are_found_by_the_next_program().await;
}

#[cfg(feature = "auth")]
mod tokens {
    use keyring_core::{Entry, Error, mock};
    use mcp_bindgen_model::ServerConfig;
    use mcp_bindgen_runtime::{Client, ClientOptions, KeyringTokenStore, OAuth, StoredTokens, TokenStore};
    use serde_json::Map;

    use crate::server::{Server, agree};

    const KEY: &str = "https://a.example/mcp";

    pub(super) fn are_kept_under_the_name_of_the_program() {
        let store = KeyringTokenStore::new("my-agent");
        assert_eq!(store.load(KEY).expect("nothing"), None);
        store.remove(KEY).expect("nothing to remove");
        for text in ["one", "two: ü"] {
            store.save(KEY, &StoredTokens::new(text)).expect("kept");
        }
        assert_eq!(store.load(KEY).expect("read"), Some(StoredTokens::new("two: ü")));
        let entry = Entry::new("my-agent", KEY).expect("an entry");
        assert_eq!(entry.get_password().expect("it is there"), "two: ü");
        for other in [KeyringTokenStore::new("another"), KeyringTokenStore::new("mcp-bindgen")] {
            assert_eq!(other.load(KEY).expect("nothing"), None, "another program's are its own");
        }

        let fails = |error| entry.as_any().downcast_ref::<mock::Cred>().expect("a mock").set_error(error);
        fails(Error::TooLong("secret".to_owned(), 2560));
        let error = store.save(KEY, &StoredTokens::new("hunter22")).expect_err("too long").to_string();
        let place = "the keyring's entry of service `my-agent` and user `https://a.example/mcp` (tokens)";
        assert!(error.starts_with(&format!("{place} could not be written: ")) && error.contains("2560"), "{error}");
        assert!(!error.contains("hunter22"), "{error}");
        assert_eq!(store.load(KEY).expect("read"), Some(StoredTokens::new("two: ü")), "what was kept stays");
        fails(Error::NoEntry);
        store.save(KEY, &StoredTokens::new("three")).expect_err("nothing was kept");
        entry.set_secret(b"hunter22\xff").expect("it is kept");
        let error = store.load(KEY).expect_err("no text").to_string();
        assert_eq!(error, format!("{place} could not be read: it is not UTF-8"));

        store.remove(KEY).expect("removed");
        assert_eq!(store.load(KEY).expect("nothing"), None);

        let folder = tempfile::tempdir().expect("a folder");
        let shared = || KeyringTokenStore::new("my-agent").lock_in(folder.path().join("locks"));
        for another in [&|| KeyringTokenStore::new("my-agent"), &shared as &dyn Fn() -> KeyringTokenStore] {
            let lock = another().try_lock(KEY).expect("a lock").expect("it is free");
            assert!(another().try_lock(KEY).expect("an answer").is_none(), "one renews at a time");
            assert!(another().try_lock("https://b.example").expect("a lock").is_some());
            drop(lock);
            assert!(another().try_lock(KEY).expect("a lock").is_some());
        }
        let locks = std::fs::read_dir(folder.path().join("locks")).expect("the folder");
        let held = locks.flatten().map(|file| file.metadata().expect("a file").len());
        assert_eq!(held.collect::<Vec<_>>(), [0, 0], "tokens are in the keyring alone");
    }

    pub(super) async fn are_found_by_the_next_program() {
        let server = Server::start().await;
        let call = async || {
            let oauth = OAuth::new().store(KeyringTokenStore::new("my-agent")).on_url(agree);
            let options = ClientOptions::new().authorization(oauth).protocol_version("2025-11-25");
            let client = Client::with_options(ServerConfig::http("guarded", server.url()), options);
            client.call("work", Map::new()).await.map(|result| result.text()).map_err(|error| error.to_string())
        };
        assert_eq!(call().await, Ok("done".to_owned()));
        assert_eq!(call().await, Ok("done".to_owned()));
        assert_eq!(server.state().authorizations.len(), 1, "what is kept is used");
        server.state().revoke();
        assert_eq!(call().await, Ok("done".to_owned()));
        let state = server.state();
        assert_eq!((state.registrations.len(), state.authorizations.len()), (1, 1), "so is the client");
        assert_eq!(state.grants_of("refresh_token"), 1);
    }
}

/// Runs the next test with a folder of its own for what a user keeps.
#[cfg(all(feature = "auth", target_os = "linux"))]
#[test]
fn tokens_are_stored_in_the_keyring_or_else_in_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = std::env::current_exe().expect("this program");
    let mut run = std::process::Command::new(program);
    run.args(["--ignored", "--exact", "tokens_of_the_user"]);
    run.env("XDG_STATE_HOME", folder.path()).env_remove("DBUS_SESSION_BUS_ADDRESS");
    let ended = run.output().expect("it runs");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
}

#[cfg(all(feature = "auth", target_os = "linux"))]
#[test]
#[ignore = "the program that another test runs"]
fn tokens_of_the_user() {
    use mcp_bindgen_runtime::{LocalTokenStore, StoredTokens, TokenStore};
    let folder = std::env::var_os("XDG_STATE_HOME").expect("a folder");
    let files = || {
        let files = std::fs::read_dir(std::path::Path::new(&folder).join("mcp-bindgen/tokens")).expect("a folder");
        files
            .filter(|file| file.as_ref().is_ok_and(|file| file.path().extension().is_some_and(|e| e == "json")))
            .count()
    };
    let store = LocalTokenStore::new();
    let kept = |key: &str| store.load(key).expect("it can be read").map(|kept| kept.expose().to_owned());
    store.save("a", &StoredTokens::new("one")).expect("it is kept");
    assert_eq!((kept("a").as_deref(), files()), (Some("one"), 1), "there is no keyring");

    let held = store.try_lock("a").expect("a lock").expect("it is free");
    assert!(store.try_lock("a").expect("an answer").is_none(), "one renews at a time");
    drop(held);

    keyring_core::set_default_store(keyring_core::mock::Store::new().expect("a store"));
    assert_eq!(kept("a").as_deref(), Some("one"), "what is in the file is still found");
    store.save("a", &StoredTokens::new("two")).expect("it is kept");
    assert_eq!((kept("a").as_deref(), files()), (Some("two"), 0), "it moved to the keyring");
    store.remove("a").expect("it is removed");
    assert_eq!(kept("a"), None);
}
