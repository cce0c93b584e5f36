//! Which sections are shown, how, and since when.

use super::RenderError;
use super::check::Placed;
use super::params::Held;
use super::placed::Inner;
use super::state::{PromptState, Visibility};

/// A section that is shown.
#[derive(Clone, Copy)]
pub(super) struct Seen<'p> {
    pub(super) node: &'p Placed,
    pub(super) held: &'p Held,
    pub(super) visibility: Visibility,
    /// The call that opened its contents; 0 if they were shown from the beginning. New contents are placed after known
    /// ones.
    pub(super) since: usize,
    /// The same of itself, be it as a summary.
    pub(super) appeared: usize,
    /// `true` if the model can open the section, or has opened it.
    pub(super) is_for_the_model: bool,
}

/// One conversation's view of a prompt.
pub(super) struct View<'p> {
    pub(super) inner: &'p Inner,
    pub(super) held: &'p [Held],
    pub(super) state: &'p PromptState,
}

impl<'p> View<'p> {
    /// Returns the sections that are shown, in their order.
    pub(super) fn seen(&self) -> Result<Vec<Seen<'p>>, RenderError> {
        let mut since = vec![0; self.inner.nodes.len()];
        let mut seen = Vec::new();
        let mut index = 0;
        while let Some((node, held)) = self.at(index) {
            if !self.is_enabled(node, held) {
                index = node.end;
                continue;
            }
            let appeared = node.parent.and_then(|parent| since.get(parent).copied()).unwrap_or_default();
            let round = self.state.open.round_of(&node.path);
            let forced = self.state.shown.get(&node.path).copied();
            let (visibility, is_for_the_model) = match (forced, round) {
                (Some(visibility), _) => (visibility, false),
                (None, Some(_)) => (Visibility::Full, true),
                (None, None) => {
                    let chosen = node.parts.shown.as_ref().map(|choose| choose(held.get(), self.state));
                    let visibility = chosen.unwrap_or_default();
                    (visibility, visibility == Visibility::Summary)
                }
            };
            if visibility == Visibility::Summary && node.parts.summary.is_none() {
                return Err(RenderError::NoSummary { section: node.path.clone() });
            }
            let opened = round.filter(|_| is_for_the_model).unwrap_or_default().max(appeared);
            if let Some(since) = since.get_mut(index) {
                *since = opened;
            }
            seen.push(Seen { node, held, visibility, since: opened, appeared, is_for_the_model });
            index = if visibility == Visibility::Full { index + 1 } else { node.end };
        }
        Ok(seen)
    }

    /// Returns a section with its parameters.
    fn at(&self, index: usize) -> Option<(&'p Placed, &'p Held)> {
        self.inner.nodes.get(index).zip(self.held.get(index))
    }

    fn is_enabled(&self, node: &Placed, held: &Held) -> bool {
        node.parts.enabled.as_ref().is_none_or(|enabled| enabled(held.get(), self.state))
    }

    /// Returns the sections below one and itself, without those that are disabled.
    pub(super) fn enabled_from(&self, top: &Placed) -> Vec<&'p Placed> {
        let (mut found, mut next) = (Vec::new(), top.index);
        while let Some((node, held)) = self.at(next).filter(|(node, _)| node.index < top.end) {
            if self.is_enabled(node, held) {
                found.push(node);
                next += 1;
            } else {
                next = node.end;
            }
        }
        found
    }

    /// Returns `true` if a section or one below it has tools, or declares servers. A declaration of servers from
    /// parameters counts even if it yields none, because it is only evaluated once the section is open.
    pub(super) fn has_tools(&self, top: &Placed) -> bool {
        let has_any = |node: &Placed| !node.parts.tools.is_empty() || !node.parts.servers.is_empty();
        self.enabled_from(top).into_iter().any(has_any)
    }

    /// Returns the direct children of a section, without those that are disabled.
    pub(super) fn children(&self, top: &Placed) -> Vec<&'p Placed> {
        self.enabled_from(top).into_iter().filter(|node| node.parent == Some(top.index)).collect()
    }

    /// Returns `true` if a section is below another, and no section between them is disabled, including itself.
    pub(super) fn children_below(&self, above: &str, key: &str) -> bool {
        let above = self.inner.nodes.iter().find(|node| node.path == above);
        above.is_some_and(|above| self.enabled_from(above).into_iter().any(|node| node.path == key))
    }
}
