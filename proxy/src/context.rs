//! The context of a request: the protocol version, the caller, what the caller sees, and the shares of callers in
//! something limited.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use mcp_bindgen_model::Access;
use mcp_bindgen_runtime::Caller;
use rmcp::model::{ErrorData, ProtocolVersion, RequestId};
use serde_json::{Map, Value};

use super::lock::lock;

/// The keys of `_meta` in which a request without a session carries what a session negotiates.
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key of a result that has the name of its server.
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Returns `true` for versions without sessions. Versions are dates: their order is that of their text.
pub(crate) fn is_modern(version: &str) -> bool {
    version >= ProtocolVersion::V_2026_07_28.as_str()
}

pub(crate) fn is_known(version: &str) -> bool {
    ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == version)
}

/// Returns the version of a session: the one that its client asks for, or the latest with sessions if that is not known.
pub(crate) fn session_version(asked: &str) -> ProtocolVersion {
    let mut known = ProtocolVersion::KNOWN_VERSIONS.iter().filter(|version| version.has_initialize());
    known.find(|version| version.as_str() == asked).unwrap_or(&ProtocolVersion::LATEST_WITH_INITIALIZE).clone()
}

/// Returns `true` if `_meta` of a request has the capabilities of its client.
pub(crate) fn has_capabilities(meta: &Map<String, Value>) -> bool {
    meta.get(CAPABILITIES).is_some_and(Value::is_object)
}

/// Checks that a request without a session carries the required context.
pub(crate) fn complete(meta: &Map<String, Value>) -> Result<(), ErrorData> {
    let required = [(VERSION, meta.get(VERSION).is_some_and(Value::is_string)), (CAPABILITIES, has_capabilities(meta))];
    let Some((missing, _)) = required.iter().find(|(_, is_there)| !is_there) else { return Ok(()) };
    let message = format!(
        "`_meta` has no {missing}, which a request without a session must have; a session begins with `initialize`"
    );
    Err(ErrorData::invalid_params(message, None))
}

/// The caller of a request, and the place that the request holds until it is answered or a person is asked. Clones hold the same
/// place.
#[derive(Clone, Default)]
pub(crate) struct Visit {
    pub(crate) caller: Caller,
    place: Arc<Mutex<Option<Box<dyn Any + Send>>>>,
}

/// Finds who sent a request that is not answered yet.
pub(crate) type Visits = Box<dyn Fn(&RequestId) -> Option<Visit> + Send + Sync>;

impl Visit {
    /// Creates a request of a caller, with all that it holds.
    pub(crate) fn new(caller: Caller, held: impl Send + 'static) -> Self {
        Self { caller, place: Arc::new(Mutex::new(Some(Box::new(held)))) }
    }

    /// Gives up the place of the request: from now on it counts as an open approval.
    pub(crate) fn leave(&self) {
        let held = lock(&self.place).take();
        // Dropped without the lock.
        drop(held);
    }
}

/// The servers and tools that a caller sees, by `[access]` of the configuration; all of them without it. A caller cannot use
/// the others.
#[derive(Clone, Debug, Default)]
pub(super) struct VisibleTools {
    pub(super) access: Option<Arc<Access>>,
    /// The entries that are for the caller.
    pub(super) entries: Vec<String>,
}

impl VisibleTools {
    /// Returns `true` if the caller sees a tool of a server.
    pub(super) fn tool(&self, server: &str, tool: &str) -> bool {
        self.access.as_ref().is_none_or(|access| access.shows_tool(&self.entries, server, tool))
    }

    /// Returns `true` if the caller sees all of a server: its prompts and resources too.
    pub(super) fn server(&self, server: &str) -> bool {
        self.access.as_ref().is_none_or(|access| access.shows_server(&self.entries, server))
    }

    /// Returns `true` if the caller sees anything of a server.
    pub(super) fn any_of(&self, server: &str) -> bool {
        self.access.as_ref().is_none_or(|access| access.shows_any_of(&self.entries, server))
    }
}

/// Limits the shares that each caller holds, and all callers together. Clones count together.
#[derive(Clone)]
pub(crate) struct Shares {
    most: usize,
    most_each: usize,
    /// The shares of each caller, which are clones of one pointer.
    held: Arc<Mutex<HashMap<String, Weak<()>>>>,
}

/// One of them, as long as it is held.
pub(crate) type Share = Arc<()>;

impl Shares {
    pub(crate) fn new(most: usize, most_each: usize) -> Self {
        Self { most, most_each, held: Arc::default() }
    }

    /// Takes a share for a caller, which is returned on drop. Returns `None` if a limit is reached; for an unknown caller
    /// only that of all callers.
    pub(crate) fn take(&self, caller: Option<&str>) -> Option<Share> {
        let mut held = lock(&self.held);
        held.retain(|_, own| own.strong_count() > 0);
        let is_at_most =
            caller.and_then(|caller| held.get(caller)).is_some_and(|own| own.strong_count() >= self.most_each);
        if is_at_most || held.values().map(Weak::strong_count).sum::<usize>() >= self.most {
            return None;
        }
        let own = held.entry(caller.unwrap_or_default().to_owned()).or_default();
        let share = own.upgrade().unwrap_or_default();
        *own = Arc::downgrade(&share);
        Some(share)
    }

    /// Returns how many are held.
    pub(crate) fn count(&self) -> usize {
        lock(&self.held).values().map(Weak::strong_count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_cannot_take_all_shares() {
        let shares = Shares::new(3, 2);
        let first = (shares.take(Some("a")), shares.take(Some("a")));
        assert!(first.0.is_some() && first.1.is_some());
        assert!(shares.take(Some("a")).is_none(), "it has its share");
        let other = shares.take(Some("b"));
        assert!(other.is_some() && shares.take(Some("c")).is_none(), "there are three");
        drop(first);
        assert!(shares.take(Some("c")).is_some());
        assert_eq!(shares.count(), 1);
        drop(shares.take(Some("d")));
        assert!(lock(&shares.held).len() <= 2, "callers without shares are forgotten");
    }
}
