//! What is known of a call without making it, for whoever lists tools for a model: one that would be refused whatever its
//! arguments is not to be offered.

use std::fmt;
use std::sync::Arc;

use super::{Demands, Guard};

type Admits = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Which tools something that calls them lets be called at all.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct Offer {
    demands: Demands,
    admits: Vec<Admits>,
}

impl Offer {
    pub(crate) fn of(demands: Demands) -> Self {
        Self { demands, admits: Vec::new() }
    }

    /// The same of the tools that this admits as well.
    pub(crate) fn if_admitted(mut self, admits: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.admits.push(Arc::new(admits));
        self
    }

    pub(crate) fn guard(&self) -> Option<&(dyn Guard + 'static)> {
        self.demands.guard()
    }

    /// Whether a call of this tool may be made, as far as its name decides: by `tools` and `exclude` of the configuration, and by
    /// the policies that go by names.
    #[must_use]
    pub fn admits(&self, tool: &str) -> bool {
        self.guard().is_none_or(|guard| guard.selects(tool)) && self.admits.iter().all(|admits| admits(tool))
    }

    /// The same of a call that is made for a template from elsewhere than a local file: `remote_use` of the configuration has
    /// to name the tool as well. What has no configuration lets such calls be made.
    #[must_use]
    pub fn admits_remote(&self, tool: &str) -> bool {
        self.guard().is_none_or(|guard| guard.lets_remote_use(tool)) && self.admits(tool)
    }
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offer").field("demands", &self.demands).field("admits", &self.admits.len()).finish()
    }
}
