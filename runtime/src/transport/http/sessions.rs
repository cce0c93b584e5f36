//! The ids of a connection's sessions: whoever has one can take the session over.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderName, HeaderValue};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// One that ended may still be named by requests that are under way.
const MOST_KEPT: usize = 8;

/// rmcp logs the id of a session that it ends, so it is given names in place of ids.
#[derive(Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    named: u64,
    recent: VecDeque<(String, HeaderValue)>,
}

impl Sessions {
    /// The name of a session.
    pub(super) fn name(&self, id: &HeaderValue) -> String {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((name, _)) = kept.recent.iter().find(|(_, known)| known == id) {
            return name.clone();
        }
        kept.named += 1;
        let name = format!("session {}", kept.named);
        let mut id = id.clone();
        id.set_sensitive(true);
        kept.recent.push_back((name.clone(), id));
        if kept.recent.len() > MOST_KEPT {
            kept.recent.pop_front();
        }
        name
    }

    /// The header with the id of the session that has this name.
    pub(super) fn header(&self, name: Option<&str>) -> Option<(HeaderName, HeaderValue)> {
        let name = name?;
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, id) = kept.recent.iter().find(|(known, _)| known == name)?;
        Some((SESSION, id.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_an_id_and_does_not_tell_it() {
        let sessions = Sessions::default();
        let id = |text: &'static str| HeaderValue::from_static(text);
        let (first, second) = (sessions.name(&id("id-1")), sessions.name(&id("id-2")));
        assert!(first != second && !first.contains("id-1"), "{first} {second}");
        assert_eq!(sessions.name(&id("id-1")), first);
        let (key, value) = sessions.header(Some(&second)).expect("it is known");
        assert!(key == SESSION && value == "id-2" && value.is_sensitive());
        assert_eq!((sessions.header(None), sessions.header(Some("id-1"))), (None, None));
    }

    #[test]
    fn a_server_that_begins_sessions_for_ever_takes_no_memory() {
        let sessions = Sessions::default();
        let names: Vec<String> = (0..100).map(|id| sessions.name(&HeaderValue::from(id))).collect();
        let known = names.iter().filter(|name| sessions.header(Some(name)).is_some()).count();
        assert_eq!(known, MOST_KEPT);
        assert!(sessions.header(names.last().map(String::as_str)).is_some());
    }
}
