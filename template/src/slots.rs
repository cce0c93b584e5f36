//! The slots of a template, and their names.

use std::collections::BTreeSet;

use crate::ast::{Action, Argument, Completion, OnError, Part, PieceKind, Target, Template, Term, Text};
use crate::fault::Place;

/// An action or a completion, with its position.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Slot<'t> {
    /// Its start.
    pub place: Place,
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
    /// Returns the actions and completions, in the order of the text.
    ///
    /// ```
    /// use mcp_bindgen_template::Template;
    ///
    /// let template = Template::parse("{% for n in numbers %}[[@github_get_issue:issue_{{n}}|number=n]]{% endfor %}[[sum]]")?;
    /// let names: Vec<_> = template.slots().map(|slot| slot.kind.name()).collect();
    /// assert_eq!(names, [None, Some("sum")]);
    /// # Ok::<(), Vec<mcp_bindgen_template::Fault>>(())
    /// ```
    pub fn slots(&self) -> impl Iterator<Item = Slot<'_>> {
        let pieces = self.segments.iter().flat_map(|segment| &segment.pieces);
        pieces.filter_map(|piece| Some(Slot { place: piece.place, kind: piece.kind.slot()? }))
    }

    /// Returns the names of results that are known before a run: those without expressions.
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

    /// Returns `true` if a result can have this name: one of [`names`](Self::names), or a possible value of a name
    /// with expressions.
    #[must_use]
    pub fn may_give(&self, name: &str) -> bool {
        self.given().has(name)
    }

    /// Returns the names of its results, to look many of them up.
    pub(crate) fn given(&self) -> Given<'_> {
        let mut given = Given::default();
        self.slots().for_each(|slot| given.add(slot.kind));
        given
    }
}

/// The names that results can have.
#[derive(Default)]
pub(crate) struct Given<'t> {
    names: BTreeSet<&'t str>,
    /// Those with expressions in them.
    open: Vec<&'t Text>,
}

impl<'t> Given<'t> {
    pub(crate) fn add(&mut self, slot: SlotKind<'t>) {
        self.names.extend(slot.name());
        self.open.extend(slot.open_name());
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.open.iter().any(|text| text.may_be(name))
    }
}

impl PieceKind {
    /// Returns the slot that it is, if it is one.
    #[must_use]
    pub fn slot(&self) -> Option<SlotKind<'_>> {
        match self {
            Self::Action(action) => Some(SlotKind::Action(action)),
            Self::Completion(completion) => Some(SlotKind::Completion(completion)),
            Self::Text(_) | Self::Expression(_) | Self::Statement(_) => None,
        }
    }
}

impl<'t> SlotKind<'t> {
    /// Returns the name of the result, if it is written down.
    #[must_use]
    pub fn variable(self) -> Option<&'t Text> {
        match self {
            Self::Action(action) => action.variable.as_ref(),
            Self::Completion(completion) => Some(&completion.variable),
        }
    }

    /// Returns the arguments of an action, or the options of a completion.
    #[must_use]
    pub fn arguments(self) -> &'t [Argument] {
        match self {
            Self::Action(action) => &action.arguments,
            Self::Completion(completion) => &completion.options,
        }
    }

    /// Returns the value that replaces the result of an action that fails.
    #[must_use]
    pub fn default(self) -> Option<&'t Term> {
        match self {
            Self::Action(Action { on_error: OnError::Default(default), .. }) => Some(default),
            _ => None,
        }
    }

    /// Returns the name of the result, if it has expressions.
    pub(crate) fn open_name(self) -> Option<&'t Text> {
        self.variable().filter(|text| text.plain().is_none())
    }

    /// Returns the name of the result, if it is known before a run: the variable, or else the action itself.
    #[must_use]
    pub fn name(self) -> Option<&'t str> {
        match self {
            Self::Action(Action { variable: None, target: Target::Prefixed(name), .. }) => Some(name),
            slot => slot.variable()?.plain(),
        }
    }
}

impl Text {
    /// Returns the text, if it contains no expressions.
    #[must_use]
    pub fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns `true` if it can evaluate to this text.
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
                // The last literal must be at the end.
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
