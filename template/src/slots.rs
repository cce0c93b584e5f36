//! The slots of a template, and the names that it gives.

use std::collections::BTreeSet;

use crate::ast::{Action, Completion, Part, PieceKind, Target, Template, Text};
use crate::blocks::{Effect, effect};
use crate::fault::Place;

/// An action or a completion, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Slot<'t> {
    /// Where it begins.
    pub place: Place,
    /// Whether it stands in a loop, so that it may run more than once.
    pub in_loop: bool,
    /// Its kind.
    pub kind: SlotKind<'t>,
}

/// The kinds of slots.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SlotKind<'t> {
    /// A call of a tool.
    Action(&'t Action),
    /// A slot that a completer fills.
    Completion(&'t Completion),
}

impl Template {
    /// Its actions and completions, in the order of the text.
    ///
    /// ```
    /// use mcp_bindgen_template::Template;
    ///
    /// let template = Template::parse("{% for n in numbers %}[[@github_get_issue:issue_{{n}}|number=n]]{% endfor %}[[sum]]")?;
    /// let in_loop: Vec<_> = template.slots().map(|slot| slot.in_loop).collect();
    /// assert_eq!(in_loop, [true, false]);
    /// # Ok::<(), Vec<mcp_bindgen_template::Fault>>(())
    /// ```
    pub fn slots(&self) -> impl Iterator<Item = Slot<'_>> {
        self.segments.iter().flat_map(|segment| {
            let mut open = Vec::new();
            segment.pieces.iter().filter_map(move |piece| {
                let kind = match &piece.kind {
                    PieceKind::Action(action) => SlotKind::Action(action),
                    PieceKind::Completion(completion) => SlotKind::Completion(completion),
                    PieceKind::Statement(statement) => {
                        follow(statement, &mut open);
                        return None;
                    }
                    PieceKind::Text(_) | PieceKind::Expression(_) => return None,
                };
                Some(Slot { place: piece.place, in_loop: open.contains(&true), kind })
            })
        })
    }

    /// The names that its results have, as far as they are known before it runs: those without expressions in them.
    ///
    /// ```
    /// use mcp_bindgen_template::Template;
    ///
    /// let template = Template::parse("[[@time_now]] [[@mcp:page_{{n}}|server=\"web\", tool=\"get\"]] [[json:facts]]")?;
    /// assert_eq!(template.names().into_iter().collect::<Vec<_>>(), ["facts", "time_now"]);
    /// assert!(template.may_give("page_7") && !template.may_give("page"));
    /// # Ok::<(), Vec<mcp_bindgen_template::Fault>>(())
    /// ```
    #[must_use]
    pub fn names(&self) -> BTreeSet<&str> {
        self.slots().filter_map(|slot| slot.kind.name()).collect()
    }

    /// Returns `true` if a result can have this name: one of [`names`](Self::names), or what may come of a name with
    /// expressions in it.
    #[must_use]
    pub fn may_give(&self, name: &str) -> bool {
        self.given().has(name)
    }

    /// The names of its results, to look many of them up.
    pub(crate) fn given(&self) -> Given<'_> {
        let open = self.slots().filter_map(|slot| match slot.kind {
            SlotKind::Action(action) => action.variable.as_ref(),
            SlotKind::Completion(completion) => Some(&completion.variable),
        });
        Given { names: self.names(), open: open.filter(|text| text.plain().is_none()).collect() }
    }
}

/// The names that results can have.
pub(crate) struct Given<'t> {
    names: BTreeSet<&'t str>,
    /// Those with expressions in them.
    open: Vec<&'t Text>,
}

impl Given<'_> {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.open.iter().any(|text| text.may_be(name))
    }
}

/// Updates the blocks that are open, each with whether it is a loop, by a statement.
fn follow(statement: &str, open: &mut Vec<bool>) {
    let inner = statement.get(2..statement.len().saturating_sub(2)).unwrap_or_default();
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    match effect(inner.strip_suffix(['-', '+']).unwrap_or(inner)) {
        Effect::Opens(name) => open.push(name == "for"),
        Effect::Closes => drop(open.pop()),
        Effect::None => {}
    }
}

impl<'t> SlotKind<'t> {
    /// Returns the name of the result, where that is known before anything runs.
    #[must_use]
    pub fn name(self) -> Option<&'t str> {
        match self {
            Self::Action(action) => action.name(),
            Self::Completion(completion) => completion.variable.plain(),
        }
    }
}

impl Action {
    /// Returns the name of the result, where that is known before anything runs: the variable, or else the action itself.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match (&self.variable, &self.target) {
            (Some(text), _) => text.plain(),
            (None, Target::Prefixed(name)) => Some(name),
            (None, Target::Tool { .. }) => None,
        }
    }
}

impl Text {
    /// Returns its text, where no expression is in it.
    #[must_use]
    pub fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns `true` if it can come out as this, whatever its expressions say.
    #[must_use]
    pub fn may_be(&self, text: &str) -> bool {
        let mut rest = text;
        let mut is_free = false;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            let Part::Literal(literal) = part else {
                is_free = true;
                continue;
            };
            let found = match (is_free, parts.peek()) {
                // The last one: it has to stand at the end.
                (true, None) => return rest.ends_with(literal.as_str()),
                (true, Some(_)) => rest.find(literal.as_str()),
                (false, _) => rest.starts_with(literal.as_str()).then_some(0),
            };
            let Some(at) = found else { return false };
            rest = rest.get(at + literal.len()..).unwrap_or_default();
            is_free = false;
        }
        is_free || rest.is_empty()
    }
}
