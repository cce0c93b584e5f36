//! The layers that a call has passed on its way to the client.

use std::sync::{Arc, LazyLock, Mutex, Weak};
use std::time::Duration;

use super::events::Observer;
use crate::ground::deadline::Deadline;
use crate::ground::redact::debug_as;
use crate::ground::sync::lock;

/// The layers around a client, outermost first: the order of a [`Stack`](crate::middleware::Stack).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LayerKind {
    /// `view` of the configuration: all other layers see the arguments that are sent.
    View,
    Events,
    TotalCap,
    /// `tools`, `exclude` and `[[policy]]` of the configuration.
    Admission,
    Policy,
    SequentialDependency,
    Approval,
    /// `approve` of the configuration, for calls that no [`Approval`](Self::Approval) got approved.
    Consent,
    Validate,
    /// `drift` of the configuration.
    Drift,
    Transaction,
    Cache,
    Retry,
    RateLimit,
    TryTimeout,
}

impl LayerKind {
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The layers that may not be inside another one, and why.
const EXCLUSIONS: &[(LayerKind, &[LayerKind], &str)] = {
    use LayerKind::{
        Approval, Cache, Policy, Retry, SequentialDependency, TotalCap, Transaction, TryTimeout, Validate,
    };
    &[
        (Cache, &[Policy, SequentialDependency, Approval, Validate], "cached results would bypass it"),
        (Cache, &[Transaction], "cached results would not be part of it"),
        (Retry, &[Approval], "it would ask again for each attempt"),
        (Retry, &[SequentialDependency], "it would count each attempt"),
        (Retry, &[Transaction], "it would be rolled back for each attempt"),
        (Retry, &[Retry], "the attempts would multiply"),
        (Retry, &[TotalCap], "it would restart with each attempt"),
        (TryTimeout, &[Retry], "it would limit all attempts together, as `total_cap` does"),
        (TryTimeout, &[Approval], "the time for an approval would count against an attempt"),
    ]
};

/// A deadline, and the duration from its start to its end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limit {
    pub(crate) end: Deadline,
    pub(crate) after: Duration,
}

impl Limit {
    pub(crate) fn after(after: Duration) -> Self {
        Self { end: Deadline::after(after), after }
    }

    pub(crate) fn earlier(self, other: Self) -> Self {
        if self.end.earlier(other.end) == self.end { self } else { other }
    }
}

/// An approval that the configuration of a client (the guard) required, and the call in canonical form.
type Grant = (usize, String);

/// The layers that a call has passed, with their decisions. Each attempt of a call has a copy; all of them share the
/// grants.
#[derive(Clone, Default)]
pub(crate) struct Passage(Option<Box<State>>);

#[derive(Clone, Default)]
struct State {
    through: u16,
    guarded_by: Option<usize>,
    /// The call that a layer got approved, in canonical form.
    approved: Option<String>,
    /// The grants of earlier attempts, or `None` if the call has a single attempt.
    grants: Option<Arc<Mutex<Vec<Grant>>>>,
    /// Valid while the passage is in progress.
    life: Weak<()>,
    observer: Weak<Observer>,
    limit: Limit,
    within: Vec<usize>,
}

impl Passage {
    fn state(&self) -> &State {
        static EMPTY: LazyLock<State> = LazyLock::new(State::default);
        self.0.as_deref().unwrap_or(&EMPTY)
    }

    fn state_mut(&mut self) -> &mut State {
        self.0.get_or_insert_default()
    }

    /// Enters a layer.
    ///
    /// # Errors
    /// Fails if the layer is inside another layer that excludes it.
    #[inline]
    pub(crate) fn enter(&mut self, kind: LayerKind) -> Result<(), String> {
        let state = self.state_mut();
        for (outer, inner, why) in EXCLUSIONS {
            if state.through & outer.bit() != 0 && inner.contains(&kind) {
                let reason = format!("layer `{kind:?}` is inside `{outer:?}`: {why}; move it outside, as `Stack` does");
                // `total_cap` and `try_timeout` are methods of `Stack`; the other kinds are types.
                return Err(reason.replace("TotalCap", "total_cap").replace("TryTimeout", "try_timeout"));
            }
        }
        state.through |= kind.bit();
        if kind == LayerKind::Retry {
            state.grants.get_or_insert_default();
        }
        Ok(())
    }

    /// Enters a layer that would wait for itself inside itself. Returns `false` if the call is inside it already.
    #[inline]
    pub(crate) fn enter_once(&mut self, id: usize) -> bool {
        let within = &mut self.state_mut().within;
        let is_new = !within.contains(&id);
        if is_new {
            within.push(id);
        }
        is_new
    }

    /// Sets the deadline of the call, unless it already has an earlier one.
    pub(crate) fn bound(&mut self, limit: Limit) {
        let state = self.state_mut();
        state.limit = state.limit.earlier(limit);
    }

    /// Returns the deadline of the call, regardless of its options.
    pub(crate) fn limit(&self) -> Limit {
        self.state().limit
    }

    pub(crate) fn has_come_through(&self, kind: LayerKind) -> bool {
        self.state().through & kind.bit() != 0
    }

    /// Records that the checks of this guard ran.
    pub(crate) fn guard_with(&mut self, guard: usize) {
        self.state_mut().guarded_by = Some(guard);
    }

    pub(crate) fn is_guarded_by(&self, guard: usize) -> bool {
        self.state().guarded_by == Some(guard)
    }

    /// Sets the observer of the rest of the call. The call keeps only a weak reference to it.
    pub(crate) fn observe_with(&mut self, observer: &Arc<Observer>) {
        self.state_mut().observer = Arc::downgrade(observer);
    }

    pub(crate) fn is_observed_by(&self, observer: &Arc<Observer>) -> bool {
        std::ptr::eq(self.state().observer.as_ptr(), Arc::as_ptr(observer))
    }

    pub(crate) fn observer(&self) -> Option<Arc<Observer>> {
        self.state().observer.upgrade()
    }

    /// Records that a layer got the call approved, which is given in canonical form.
    pub(crate) fn approve(&mut self, call: String) {
        self.state_mut().approved = Some(call);
    }

    /// Notes for later attempts that the call was approved, as this guard demands.
    pub(crate) fn grant(&self, guard: usize, call: String) {
        if let Some(grants) = &self.state().grants {
            lock(grants).push((guard, call));
        }
    }

    /// Returns `true` if exactly this call was approved: by a layer, or in an earlier attempt for this guard.
    pub(crate) fn is_approved(&self, guard: usize, call: &str) -> bool {
        let State { approved, grants, .. } = self.state();
        let is_granted = |(by, granted): &Grant| *by == guard && granted == call;
        approved.as_deref() == Some(call) || grants.as_ref().is_some_and(|grants| lock(grants).iter().any(is_granted))
    }

    /// Begins a passage unless one is in progress. The passage lasts as long as the returned value, because a program
    /// may store a call that it observed, and make it again.
    pub(crate) fn begin(&mut self) -> Option<Arc<()>> {
        if self.state().life.strong_count() > 0 {
            return None;
        }
        let life = Arc::new(());
        self.0 = Some(Box::new(State { life: Arc::downgrade(&life), ..State::default() }));
        Some(life)
    }

    /// Forgets the passage of a call that is over.
    pub(crate) fn forget_if_over(&mut self) {
        if self.state().life.strong_count() == 0 {
            self.0 = None;
        }
    }
}

debug_as!(Passage, "Passage(..)");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layer_order_of_the_stack_is_accepted() {
        use LayerKind::{
            Admission, Approval, Cache, Consent, Drift, Events, Policy, RateLimit, Retry, SequentialDependency,
            TotalCap, Transaction, TryTimeout, Validate, View,
        };
        let before = [View, Events, TotalCap, Admission, Policy, SequentialDependency, Approval, Consent, Validate];
        let all = [&before[..], &[Drift, Transaction, Cache, Retry, RateLimit, TryTimeout]].concat();
        let mut passage = Passage::default();
        for kind in all.iter().copied() {
            passage.enter(kind).expect("the order of the stack");
        }
        assert!(all.is_sorted());
    }

    #[test]
    fn invalid_layer_order_is_an_error_naming_both_layers() {
        let inside = |outer, inner| {
            let mut passage = Passage::default();
            passage.enter(outer).expect("it is the first");
            passage.enter(inner)
        };
        assert!(inside(LayerKind::Cache, LayerKind::Policy).is_err());
        assert!(inside(LayerKind::Retry, LayerKind::Retry).is_err());
        assert!(inside(LayerKind::TryTimeout, LayerKind::Cache).is_ok());
        let reason = inside(LayerKind::TryTimeout, LayerKind::Retry).expect_err("it is refused");
        assert!(reason.contains("`try_timeout`") && reason.contains("`total_cap`"), "{reason}");
        let reason = inside(LayerKind::Retry, LayerKind::Approval).expect_err("it is refused");
        assert!(reason.contains("Approval") && reason.contains("Retry"), "{reason}");
    }

    #[test]
    fn earliest_deadline_wins() {
        let mut passage = Passage::default();
        assert_eq!(passage.limit().end, Deadline::NEVER);
        for seconds in [9, 5, 7] {
            passage.bound(Limit::after(Duration::from_secs(seconds)));
        }
        assert_eq!(passage.limit().after, Duration::from_secs(5));
    }

    #[test]
    fn approval_grant_is_shared_only_by_attempts_of_one_call() {
        let mut passage = Passage::default();
        passage.enter(LayerKind::Retry).expect("it is the first");
        let (one, two) = (passage.clone(), passage);
        one.grant(1, "a".to_owned());
        assert!(two.is_approved(1, "a"));
        assert!(!two.is_approved(2, "a") && !two.is_approved(1, "b"));
        let single = Passage::default();
        single.grant(1, "a".to_owned());
        assert!(!single.is_approved(1, "a"));
    }

    #[test]
    fn repeated_call_starts_with_an_empty_layer_record() {
        let mut passage = Passage::default();
        let life = passage.begin().expect("it is the first");
        passage.enter(LayerKind::Cache).expect("it is the first");
        assert!(passage.begin().is_none(), "it is under way");
        let mut kept = passage.clone();
        kept.forget_if_over();
        assert!(kept.has_come_through(LayerKind::Cache));
        drop(life);
        kept.forget_if_over();
        assert!(!kept.has_come_through(LayerKind::Cache));
        assert!(passage.begin().is_some() && !passage.has_come_through(LayerKind::Cache));
    }
}
