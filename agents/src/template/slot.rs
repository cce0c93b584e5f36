//! Slots at run time: their constant parts, and those to evaluate.

use mcp_bindgen_template::{Action, Argument, Completion, OnError, Part, Place, Target, Term, Text, is_variable};
use minijinja::Value;
use serde_json::{Map, Value as Json};

use super::data::{self, NoJson, Wanted};

/// A slot of a template.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) place: Place,
    /// The name of the result, if it is constant and templates can use it.
    pub(super) name: Option<String>,
    /// `true` if the result is printed at its position.
    pub(super) prints: bool,
    pub(super) kind: Kind,
    /// The expressions to evaluate for it, in the order in which [`filled`](Self::filled) wants them.
    pub(super) dynamics: Vec<Dynamic>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Action(Action),
    Completion(Completion),
}

impl Kind {
    /// Returns the name of the result, or `None` if it has the action's name.
    fn variable(&self) -> Option<&Text> {
        match self {
            Self::Action(action) => action.variable.as_ref(),
            Self::Completion(completion) => Some(&completion.variable),
        }
    }

    fn arguments(&self) -> &[Argument] {
        match self {
            Self::Action(action) => &action.arguments,
            Self::Completion(completion) => &completion.options,
        }
    }

    fn default(&self) -> Option<&Term> {
        match self {
            Self::Action(Action { on_error: OnError::Default(default), .. }) => Some(default),
            _ => None,
        }
    }
}

/// An expression of minijinja in a slot.
#[derive(Debug)]
pub(super) struct Dynamic {
    pub(super) place: Place,
    pub(super) code: String,
}

/// A slot with its values.
#[derive(Debug)]
pub(super) struct Filled {
    /// The name of the result.
    pub(super) variable: String,
    /// The arguments, or options.
    pub(super) values: Map<String, Json>,
    /// The arguments with JSON texts parsed, if there are any.
    pub(super) walked: Option<Map<String, Json>>,
    /// The value in place of the result of a call that fails.
    pub(super) default: Option<Json>,
}

/// An expression that could not be filled in, by its number among the dynamics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unfilled {
    pub(super) dynamic: usize,
    pub(super) why: NoJson,
}

impl Slot {
    pub(super) fn new(place: Place, kind: Kind) -> Self {
        let mut dynamics = Vec::new();
        let variable = kind.variable();
        variable.into_iter().for_each(|variable| of_text(variable, place, &mut dynamics));
        kind.arguments().iter().for_each(|argument| of_term(&argument.value, argument.place, &mut dynamics));
        kind.default().into_iter().for_each(|default| of_term(default, place, &mut dynamics));
        let (name, prints) = match &kind {
            Kind::Action(action) => (action.name(), variable.is_none()),
            Kind::Completion(completion) => (completion.variable.plain(), true),
        };
        let name = name.filter(|name| is_variable(name)).map(str::to_owned);
        Self { place, name, prints, kind, dynamics }
    }

    /// Returns the template's name for the action; a completion has its own name.
    pub(super) fn action(&self) -> String {
        match &self.kind {
            Kind::Action(action) => format!("@{}", called(&action.target)),
            Kind::Completion(_) => self.name.clone().unwrap_or_default(),
        }
    }

    /// Returns the slot with the values of its expressions; `room` returns `true` if that many bytes more fit.
    pub(super) fn filled(&self, values: &[Value], room: &dyn Fn(usize) -> bool) -> Result<Filled, Unfilled> {
        let fill = |wanted: Wanted| {
            let mut filling = Filling { values, at: 0, wanted, room };
            let variable = match &self.kind {
                Kind::Action(Action { variable: None, target, .. }) => called(target).to_owned(),
                Kind::Action(Action { variable: Some(variable), .. })
                | Kind::Completion(Completion { variable, .. }) => filling.text(variable)?,
            };
            let arguments = self.kind.arguments().iter();
            let arguments = arguments.map(|argument| Ok((argument.name.clone(), filling.term(&argument.value)?)));
            let arguments = arguments.collect::<Result<Map<String, Json>, Unfilled>>()?;
            let default = self.kind.default().map(|default| filling.term(default)).transpose()?;
            Ok((variable, arguments, default))
        };
        let (variable, arguments, default) = fill(Wanted::First)?;
        let walked = values.iter().any(data::has_two_forms).then(|| fill(Wanted::Other)).transpose()?;
        Ok(Filled { variable, values: arguments, walked: walked.map(|(_, arguments, _)| arguments), default })
    }
}

/// Returns the name of an action in its template.
fn called(target: &Target) -> &str {
    match target {
        Target::Prefixed(name) => name,
        _ => "mcp",
    }
}

/// An iterator that replaces expressions by their values.
struct Filling<'v> {
    values: &'v [Value],
    at: usize,
    wanted: Wanted,
    room: &'v dyn Fn(usize) -> bool,
}

impl Filling<'_> {
    fn term(&mut self, term: &Term) -> Result<Json, Unfilled> {
        Ok(match term {
            Term::Literal(literal) => literal.clone(),
            Term::Text(text) => Json::String(self.text(text)?),
            Term::Variable(_) => {
                let wanted = self.wanted;
                self.next(|value| data::to_json(value, wanted), data::weight)?
            }
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
                _ => whole.push_str(&self.next(data::printed, String::len)?),
            }
        }
        Ok(whole)
    }

    fn next<T>(
        &mut self,
        read: impl FnOnce(&Value) -> Result<T, NoJson>,
        weight: impl FnOnce(&T) -> usize,
    ) -> Result<T, Unfilled> {
        let dynamic = self.at;
        self.at += 1;
        let value = self.values.get(dynamic).ok_or(NoJson::Undefined);
        let read = value.and_then(read);
        let read = read.and_then(|read| if (self.room)(weight(&read)) { Ok(read) } else { Err(NoJson::TooMuch) });
        read.map_err(|why| Unfilled { dynamic, why })
    }
}

fn of_text(text: &Text, place: Place, dynamics: &mut Vec<Dynamic>) {
    dynamics.extend(text.parts.iter().filter_map(|part| match part {
        Part::Expression(code) => Some(Dynamic { place, code: code.clone() }),
        _ => None,
    }));
}

fn of_term(term: &Term, place: Place, dynamics: &mut Vec<Dynamic>) {
    match term {
        Term::Text(text) => of_text(text, place, dynamics),
        Term::Variable(code) => dynamics.push(Dynamic { place, code: code.clone() }),
        Term::List(items) => items.iter().for_each(|item| of_term(item, place, dynamics)),
        Term::Object(members) => members.iter().for_each(|(_, member)| of_term(member, place, dynamics)),
        _ => {}
    }
}
