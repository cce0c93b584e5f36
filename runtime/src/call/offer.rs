//! The tools that may be called, as far as this is known without a call, for lists of tools.

use std::any::Any;
use std::sync::Arc;

use super::events::Observer;
use crate::ground::redact::debug_as;

type Admits = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Which tools something that calls them lets be called at all.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct Offer {
    /// The client behind all layers. `Client` is in a module above this one.
    client: Option<Arc<dyn Any + Send + Sync>>,
    is_governed: bool,
    /// The observer of the calls.
    observer: Option<Arc<Observer>>,
    admits: Vec<Admits>,
    remote: Vec<Admits>,
}

impl Offer {
    pub(crate) fn of(client: impl Any + Send + Sync) -> Self {
        Self { client: Some(Arc::new(client)), ..Self::default() }
    }

    /// Creates the offer of functions of the program, whose calls one observer reports.
    #[must_use]
    pub fn of_functions() -> Self {
        Self::default().observed_by(Arc::new(Observer::of_functions()))
    }

    /// Sets the observer of the calls, unless they have one.
    pub(crate) fn observed_by(mut self, observer: Arc<Observer>) -> Self {
        self.observer.get_or_insert(observer);
        self
    }

    /// Returns the observer of the calls.
    pub(crate) const fn observer(&self) -> Option<&Arc<Observer>> {
        self.observer.as_ref()
    }

    /// Restricts the offer to tools that `admits` accepts.
    pub(crate) fn if_admitted(mut self, admits: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.admits.push(Arc::new(admits));
        self
    }

    /// Restricts remote templates to tools that `admits` accepts.
    pub(crate) fn if_remote(mut self, admits: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.remote.push(Arc::new(admits));
        self
    }

    /// Marks the offer as that of a stack, which enforces the rules of the client's configuration.
    pub(crate) fn governed(self) -> Self {
        Self { is_governed: true, ..self }
    }

    /// Returns the client behind all layers.
    pub(crate) fn client<C: Any>(&self) -> Option<&C> {
        self.client.as_deref().and_then(<dyn Any + Send + Sync>::downcast_ref)
    }

    /// Returns the client, if no stack governs it.
    pub(crate) fn ungoverned<C: Any>(&self) -> Option<&C> {
        self.client().filter(|_| !self.is_governed)
    }

    /// Returns `true` if calls of this tool are allowed by its name: by `tools` and `exclude` of the configuration,
    /// and by policies by name.
    #[must_use]
    pub fn admits(&self, tool: &str) -> bool {
        self.admits.iter().all(|admits| admits(tool))
    }

    /// Checks a tool like [`admits`](Self::admits), for a template that is not a local file: `remote_use` of the
    /// configuration must name the tool too. Without a configuration such calls are allowed.
    #[must_use]
    pub fn admits_remote(&self, tool: &str) -> bool {
        self.remote.iter().all(|admits| admits(tool)) && self.admits(tool)
    }
}

debug_as!(Offer, "Offer(..)");
