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

/// Evaluates an expression at a position; `true` if it is a part of a text.
type Next<'n> = dyn FnMut(&str, Place, bool) -> Result<Json, Unfilled> + 'n;

type Evaluated = (String, Map<String, Json>, Option<Json>);

#[derive(Debug)]
pub(super) enum Kind {
    Action(Action),
    Completion(Completion),
}

impl Kind {
    fn arguments(&self) -> &[Argument] {
        match self {
            Self::Action(action) => &action.arguments,
            Self::Completion(completion) => &completion.options,
        }
    }

    /// Returns the name of the result, the arguments, and the value in place of the result of a call that fails. `next`
    /// evaluates the expressions, always in the same order.
    fn evaluated(&self, place: Place, next: &mut Next<'_>) -> Result<Evaluated, Unfilled> {
        let variable = match self {
            Self::Action(Action { variable: None, target, .. }) => called(target).to_owned(),
            Self::Action(Action { variable: Some(variable), .. }) | Self::Completion(Completion { variable, .. }) => {
                of_text(variable, place, next)?
            }
        };
        let arguments = self.arguments().iter();
        let arguments = arguments.map(|it| Ok((it.name.clone(), of_term(&it.value, it.place, next)?)));
        let arguments = arguments.collect::<Result<_, Unfilled>>()?;
        let default = self.default().map(|default| of_term(default, place, next)).transpose()?;
        Ok((variable, arguments, default))
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
        // Nothing is evaluated, so nothing fails.
        let _ = kind.evaluated(place, &mut |code, place, _| {
            dynamics.push(Dynamic { place, code: code.to_owned() });
            Ok(Json::Null)
        });
        let (name, prints) = match &kind {
            Kind::Action(action) => (action.name(), action.variable.is_none()),
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
            let mut values = values.iter().enumerate();
            self.kind.evaluated(self.place, &mut |_, _, is_in_text| {
                let (dynamic, value) = values.next().unwrap_or((usize::MAX, &Value::UNDEFINED));
                let json = match is_in_text {
                    true => data::printed(value).map(Json::String),
                    false => data::to_json(value, wanted),
                };
                let json =
                    json.and_then(|json| if room(data::weight(&json)) { Ok(json) } else { Err(NoJson::TooMuch) });
                json.map_err(|why| Unfilled { dynamic, why })
            })
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

fn of_term(term: &Term, place: Place, next: &mut Next<'_>) -> Result<Json, Unfilled> {
    Ok(match term {
        Term::Literal(literal) => literal.clone(),
        Term::Text(text) => Json::String(of_text(text, place, next)?),
        Term::Variable(code) => next(code, place, false)?,
        Term::List(items) => items.iter().map(|item| of_term(item, place, next)).collect::<Result<_, _>>()?,
        Term::Object(members) => {
            let members = members.iter().map(|(key, member)| Ok((key.clone(), of_term(member, place, next)?)));
            Json::Object(members.collect::<Result<_, _>>()?)
        }
        // The language has no other terms.
        _ => Json::Null,
    })
}

fn of_text(text: &Text, place: Place, next: &mut Next<'_>) -> Result<String, Unfilled> {
    let mut whole = String::new();
    for part in &text.parts {
        match part {
            Part::Literal(literal) => whole.push_str(literal),
            Part::Expression(code) => whole.push_str(next(code, place, true)?.as_str().unwrap_or_default()),
            // Texts have no other parts.
            _ => {}
        }
    }
    Ok(whole)
}
