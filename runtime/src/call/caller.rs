//! The caller on whose behalf a call is made.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// The caller on whose behalf a call is made: a user of a service, a client of a proxy. It is never sent to the server.
///
/// Rules of `[[policy]]` with `for` apply to its principal. A
/// [`SequentialDependency`](crate::middleware::SequentialDependency) counts calls of each caller separately. Policies,
/// approvals and events receive the caller. A [`Cache`](crate::middleware::Cache) does not distinguish callers.
///
/// ```
/// use mcp_bindgen_runtime::{Caller, CallOptions};
///
/// let options = CallOptions::new().caller(Caller::principal("ann").group("support"));
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Caller {
    /// The name of the authenticated user.
    pub principal: Option<String>,
    /// The principal's groups.
    pub groups: Vec<String>,
    /// The scopes of the principal's token.
    pub scopes: Vec<String>,
    /// The entries of `[access]` that are for the principal.
    pub access: Vec<String>,
    /// Distinguishes the sessions of clients. It is not the session's id, which is a secret of the client.
    pub session: Option<String>,
    /// The name and version of the client program, by its own account.
    pub client: Option<String>,
    /// The address that the request came from.
    pub address: Option<IpAddr>,
}

impl Caller {
    /// Creates an unidentified caller.
    #[must_use]
    pub fn unknown() -> Self {
        Self::default()
    }

    /// Creates a caller that was authenticated.
    #[must_use]
    pub fn principal(name: impl Into<String>) -> Self {
        Self { principal: Some(name.into()), ..Self::default() }
    }

    /// Adds a group.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// Returns the names that rules of `[[policy]]` know the caller by; `None` without a principal.
    pub(crate) fn names(&self) -> Option<Vec<&str>> {
        let mut names = vec![self.principal.as_deref()?];
        names.extend(self.access.iter().map(String::as_str));
        Some(names)
    }

    /// Returns a text that identifies this caller: by the session, else the principal, else the address and the client
    /// program.
    #[must_use]
    pub fn key(&self) -> String {
        match (&self.session, &self.principal) {
            (Some(session), _) => format!("session {session}"),
            (None, Some(principal)) => format!("principal {principal}"),
            (None, None) => format!("client {:?} {:?}", self.address, self.client),
        }
    }
}
