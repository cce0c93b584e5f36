//! What is known of a call without making it, for whoever lists tools for a model: one that would be refused whatever its
//! arguments is not to be offered.

use std::fmt;

use super::Demands;
use crate::Client;
use crate::middleware::Policy;

/// Which tools something that calls them lets be called at all, and the client at its end.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct Offer {
    demands: Demands,
    policies: Vec<Policy>,
}

impl Offer {
    pub(crate) fn of(demands: Demands) -> Self {
        Self { demands, policies: Vec::new() }
    }

    pub(crate) fn with_policies(mut self, policies: &[Policy]) -> Self {
        self.policies.extend_from_slice(policies);
        self
    }

    /// Whether a call of this tool may be made, as far as its name decides: by `tools` and `exclude` of the configuration, and by
    /// the policies that go by names.
    #[must_use]
    pub fn admits(&self, tool: &str) -> bool {
        let demanded = self.demands.guard().is_none_or(|guard| guard.client().config().selects(tool));
        demanded && self.policies.iter().all(|policy| policy.admits(tool))
    }

    /// The client that calls end at, where it is one of this crate.
    #[must_use]
    pub fn client(&self) -> Option<Client> {
        self.demands.guard().map(|guard| guard.client().clone())
    }
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offer").field("demands", &self.demands).field("policies", &self.policies.len()).finish()
    }
}
