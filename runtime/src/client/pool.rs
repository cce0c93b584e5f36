//! Shares one connection between bindings with equal configurations.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use mcp_bindgen_model::{SecretRef, ServerConfig, Transport, digest};
use serde_json::json;
use tokio::runtime::Handle;

use super::supervisor::Supervisor;
use crate::connect::options::ClientOptions;
use crate::ground::sync::lock;

/// The shared supervisors. Weak references let the last client end its supervisor.
static SHARED: Mutex<BTreeMap<String, Weak<Supervisor>>> = Mutex::new(BTreeMap::new());

/// Returns the supervisor shared by clients with the same configuration. The options are the defaults, plus the
/// capabilities that the snapshot was taken with.
pub(super) fn shared(config: ServerConfig, options: ClientOptions) -> Arc<Supervisor> {
    // A configuration that cannot be resolved is not shared; connecting reports the error.
    let Some(key) = key(&config, &options) else {
        return Arc::new(Supervisor::new(config, options));
    };
    let mut shared = lock(&SHARED);
    shared.retain(|_, supervisor| supervisor.strong_count() > 0);
    if let Some(found) = shared.get(&key).and_then(Weak::upgrade).filter(|found| !found.is_shut_down()) {
        return found;
    }
    let made = Arc::new(Supervisor::new(config, options));
    shared.insert(key, Arc::downgrade(&made));
    made
}

/// Returns the key, a digest, because the configuration contains secrets. The key includes the runtime, because a
/// connection belongs to the runtime that opened it.
fn key(config: &ServerConfig, options: &ClientOptions) -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok();
    // Keyrings and files are read when a connection is opened; an entry is the same for all.
    let value = |secret: &SecretRef| match secret {
        SecretRef::Variable(name) if config.secret_stores.is_empty() => variable(name),
        other => Some(other.to_string()),
    };
    let resolved = config.expand_with(value).ok()?;
    let auth = resolved.auth.as_ref().map(|auth| (&auth.issuer, &auth.client, &auth.client_secret, &auth.scopes));
    let reached = match &resolved.transport {
        Transport::Stdio { command, args, cwd } => json!(["stdio", command, args, cwd]),
        Transport::Http { url, headers } => json!(["http", url, headers]),
        Transport::Sse { url, headers } => json!(["sse", url, headers]),
    };
    let inherited: Vec<_> = resolved.inherit_env.iter().map(|name| (name, variable(name))).collect();
    let runtime = Handle::try_current().ok().map(|runtime| runtime.id().to_string());
    let parts = json!([
        resolved.name,
        resolved.folder,
        reached,
        [&resolved.ca, &resolved.client_cert, &resolved.proxy],
        auth,
        resolved.env,
        inherited,
        resolved.isolation.as_ref().map(|isolation| (&isolation.read, &isolation.write)),
        config.to_json(),
        options.protocol_version.as_deref(),
        options.declared_capabilities(),
        runtime,
    ]);
    Some(digest(&parts))
}
