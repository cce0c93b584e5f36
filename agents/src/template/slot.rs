//! Slots at run time: their constant parts, and those to evaluate.

use std::cell::Cell;
use std::iter::Enumerate;
use std::slice::Iter;

use mcp_bindgen_template::{Action, Part, Piece, PieceKind, SlotKind, Target, Term, Text};
use minijinja::Value;
use serde_json::{Map, Value as Json};

use super::data::{self, NoJson, Wanted};
use super::error::{TemplateErrorKind, TemplateProblem};
use crate::json::bytes;

/// The bytes of all segments, and of the values of a slot.
pub(super) const MOST_TEXT: usize = 64 * 1024 * 1024;

/// A slot of a template.
#[derive(Debug)]
pub(super) struct Slot {
    /// An action or a completion.
    pub(super) piece: Piece,
}

/// A slot with its values.
#[derive(Debug)]
pub(super) struct Filled {
    /// The name of the result.
    pub(super) variable: String,
    /// The arguments, or options.
    pub(super) values: Map<String, Json>,
    /// The arguments with JSON texts parsed, if that makes a difference.
    pub(super) walked: Option<Map<String, Json>>,
    /// The value in place of the result of a call that fails.
    pub(super) default: Option<Json>,
}

/// An expression that could not be filled in, by its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unfilled {
    pub(super) expression: usize,
    pub(super) why: NoJson,
}

impl Slot {
    /// Returns `true` if a completer fills it.
    pub(super) fn is_completion(&self) -> bool {
        matches!(self.piece.kind, PieceKind::Completion(_))
    }

    /// Returns the name of the action in its template.
    fn called(&self) -> &str {
        match &self.piece.kind {
            PieceKind::Action(Action { target: Target::Prefixed(name), .. }) => name,
            _ => "mcp",
        }
    }

    /// Returns the template's name for the action; a completion has its own name.
    pub(super) fn action(&self) -> String {
        match self.is_completion() {
            true => self.piece.variable().unwrap_or_default().to_owned(),
            false => format!("@{}", self.called()),
        }
    }

    /// Creates a problem of the action.
    pub(super) fn problem(&self, kind: TemplateErrorKind, message: impl Into<String>) -> TemplateProblem {
        TemplateProblem { action: Some(self.action()), ..TemplateProblem::new(kind, self.piece.place, message) }
    }

    /// Returns the slot with the values of its expressions; `room` returns `true` if that many bytes more fit.
    pub(super) fn filled(&self, values: &[Value], room: &dyn Fn(usize) -> bool) -> Result<Filled, Unfilled> {
        let slot = self.piece.kind.slot();
        let fill = |wanted: Wanted, room| {
            let mut values = Values { values: values.iter().enumerate(), wanted, room };
            let variable = match slot.and_then(SlotKind::variable) {
                Some(variable) => values.text(variable)?,
                None => self.called().to_owned(),
            };
            let arguments = slot.map(SlotKind::arguments).unwrap_or_default().iter();
            let arguments = arguments.map(|it| Ok((it.name.clone(), values.term(&it.value)?)));
            let arguments = arguments.collect::<Result<Map<_, _>, Unfilled>>()?;
            let default = slot.and_then(SlotKind::default).map(|default| values.term(default)).transpose()?;
            Ok((variable, arguments, default))
        };
        let (variable, arguments, default) = fill(Wanted::First, room)?;
        let left = Cell::new(MOST_TEXT);
        let fits = |bytes| left.get().checked_sub(bytes).map(|less| left.set(less)).is_some();
        let has_other = values.iter().any(data::has_two_forms);
        let walked = has_other.then(|| fill(Wanted::Other, &fits).ok()).flatten().map(|(_, walked, _)| walked);
        Ok(Filled { walked: walked.filter(|walked| *walked != arguments), variable, values: arguments, default })
    }
}

/// The values of expressions, which are taken one after the other.
struct Values<'v> {
    values: Enumerate<Iter<'v, Value>>,
    wanted: Wanted,
    room: &'v dyn Fn(usize) -> bool,
}

impl Values<'_> {
    fn next(&mut self, is_in_text: bool) -> Result<Json, Unfilled> {
        let (expression, value) = self.values.next().unwrap_or((usize::MAX, &Value::UNDEFINED));
        let json = match is_in_text {
            true => data::printed(value).map(Json::String),
            false => data::to_json(value, self.wanted),
        };
        let json = json.and_then(|json| if (self.room)(bytes(&json)) { Ok(json) } else { Err(NoJson::TooMuch) });
        json.map_err(|why| Unfilled { expression, why })
    }

    fn term(&mut self, term: &Term) -> Result<Json, Unfilled> {
        Ok(match term {
            Term::Literal(literal) => literal.clone(),
            Term::Text(text) => Json::String(self.text(text)?),
            Term::Variable(_) => self.next(false)?,
            Term::List(items) => items.iter().map(|item| self.term(item)).collect::<Result<_, _>>()?,
            Term::Object(members) => {
                let members = members.iter().map(|(key, member)| Ok((key.clone(), self.term(member)?)));
                Json::Object(members.collect::<Result<_, _>>()?)
            }
            // The language has no other terms.
            _ => Json::Null,
        })
    }

    fn text(&mut self, text: &Text) -> Result<String, Unfilled> {
        let mut whole = String::new();
        for part in &text.parts {
            match part {
                Part::Literal(literal) => whole.push_str(literal),
                Part::Expression(_) => whole.push_str(self.next(true)?.as_str().unwrap_or_default()),
                // Texts have no other parts.
                _ => {}
            }
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_template::Template;
    use serde_json::json;

    use super::*;

    #[test]
    fn other_form_of_arguments_is_limited_too() {
        let text = "x".repeat(4 * 1024 * 1024);
        let value = data::of_result(json!({ "a": 1 }), text.clone()).unwrap();
        for (repeated, other) in [(2, Some(json!([text, text]))), (40, None)] {
            let source = format!("[[@t:r|list=[{}]]]", vec!["x"; repeated].join(", "));
            let template = Template::parse(&source).unwrap();
            let slot = Slot { piece: template.segments[0].pieces[0].clone() };
            let filled = slot.filled(&vec![value.clone(); repeated], &|_| true).unwrap();
            assert_eq!(filled.values["list"], json!(vec![json!({ "a": 1 }); repeated]));
            assert!(filled.walked.map(|walked| walked["list"].clone()) == other, "{repeated}");
        }
    }
}
