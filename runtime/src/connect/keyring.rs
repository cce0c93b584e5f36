//! The keyring of the operating system: the Secret Service of Linux and the BSDs over D-Bus, the keychain of macOS, the
//! credential manager of Windows.

use std::sync::Arc;

use keyring_core::{CredentialStore, Entry, Error};
use tokio::sync::oneshot;

/// The service of the entries that placeholders name.
const SERVICE: &str = "mcp-bindgen";

/// Returns the password of a placeholder, or `None` if there is no such entry. If the future is dropped, the thread
/// still reads the entry and drops it.
pub(crate) async fn secret(user: String) -> Result<Option<String>, String> {
    let (sender, answer) = oneshot::channel();
    // The keyring may ask its owner first. A thread of the runtime would hold up the end of the program until then.
    let reading = std::thread::Builder::new().name("keyring".to_owned()).spawn(move || {
        // The receiver may be gone.
        let _ = sender.send(existing(entry(SERVICE, &user).and_then(|entry| entry.get_password())));
    });
    let unreadable = |why: &dyn std::fmt::Display| format!("failed to read the keyring: {why}");
    reading.map_err(|error| unreadable(&error))?;
    let answer = answer.await.map_err(|_| unreadable(&"the reading thread ended"))?;
    answer.map_err(|error| unreadable(&error))
}

/// Returns an entry, which may not exist. A program may have set another default store.
pub(crate) fn entry(service: &str, user: &str) -> keyring_core::Result<Entry> {
    keyring_core::get_default_store().map_or_else(native, Ok)?.build(service, user, None)
}

/// Converts a missing entry to `None`.
pub(crate) fn existing<T>(outcome: keyring_core::Result<T>) -> keyring_core::Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(Error::NoEntry) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(target_os = "macos")]
fn native() -> keyring_core::Result<Arc<CredentialStore>> {
    Ok(apple_native_keyring_store::keychain::Store::new()?)
}

#[cfg(windows)]
fn native() -> keyring_core::Result<Arc<CredentialStore>> {
    Ok(windows_native_keyring_store::Store::new()?)
}

#[cfg(all(unix, not(any(target_os = "macos", target_os = "ios", target_os = "android"))))]
fn native() -> keyring_core::Result<Arc<CredentialStore>> {
    Ok(zbus_secret_service_keyring_store::Store::new()?)
}

#[cfg(not(any(windows, all(unix, not(any(target_os = "ios", target_os = "android"))))))]
fn native() -> keyring_core::Result<Arc<CredentialStore>> {
    Err(Error::NoDefaultStore)
}
