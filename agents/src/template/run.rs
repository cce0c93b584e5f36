//! A template, from its first call to its text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::BoxFuture;
use mcp_bindgen_model::nearest;
use minijinja::{Environment, Value};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};

use super::calls::{Callable, Log};
use super::completer::{Completer, CompletionRequest, DynCompleter};
use super::data;
use super::error::{TemplateError, TemplateErrorKind, TemplateProblem};
use super::pass::{Due, Frame, Known};
use super::rendered::{RenderedSegment, RenderedTemplate};
use super::segment::{self, Came};
use super::slot::Kind;
use super::{Template, jinja};
use crate::Toolset;

const MOST_CALLS: usize = 1_000;
const MOST_COMPLETIONS: usize = 1_000;
/// Of all segments.
const MOST_TEXT: usize = 64 * 1024 * 1024;

/// A run of a template: await it. Dropping the future cancels what is under way.
///
/// ```no_run
/// # async fn run(template: mcp_bindgen_agents::Template, toolset: mcp_bindgen_agents::Toolset) -> Result<(), mcp_bindgen_agents::TemplateError> {
/// use std::time::Duration;
///
/// use mcp_bindgen_agents::CompletionRequest;
/// use serde_json::Value;
///
/// let rendered = template
///     .run(&toolset)
///     .with("repo", "rust")
///     .completer(async |request: CompletionRequest| Ok(Value::from("what a model says to `request.prompt`")))
///     .timeout(Duration::from_secs(120))
///     .await?;
/// println!("{}", rendered.text());
/// # Ok(())
/// # }
/// ```
#[must_use = "a run does nothing until it is awaited"]
pub struct TemplateRun {
    template: Template,
    toolset: Toolset,
    variables: Map<String, Json>,
    /// Variables that are no JSON, and why.
    unusable: Vec<String>,
    completer: Option<Arc<dyn DynCompleter>>,
    allowed: Vec<String>,
    fuel: u64,
    most_calls: usize,
    most_completions: usize,
    most_text: usize,
    timeout: Option<Duration>,
}

impl TemplateRun {
    pub(super) fn new(template: Template, toolset: Toolset) -> Self {
        Self {
            template,
            toolset,
            variables: Map::new(),
            unusable: Vec::new(),
            completer: None,
            allowed: Vec::new(),
            fuel: jinja::FUEL,
            most_calls: MOST_CALLS,
            most_completions: MOST_COMPLETIONS,
            most_text: MOST_TEXT,
            timeout: None,
        }
    }

    /// Gives a variable, as JSON. One that the template does not use does no harm; of two with one name the last counts.
    pub fn with(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let name = name.into();
        match serde_json::to_value(value) {
            Ok(value) => drop(self.variables.insert(name, value)),
            Err(error) => self.unusable.push(format!("variable `{name}` is no JSON: {error}")),
        }
        self
    }

    /// Gives each field of a value as a variable.
    pub fn with_all(mut self, variables: impl Serialize) -> Self {
        match serde_json::to_value(variables) {
            Ok(Json::Object(variables)) => self.variables.extend(variables),
            Ok(_) => self.unusable.push("the variables are to be an object, with a field for each".to_owned()),
            Err(error) => self.unusable.push(format!("the variables are no JSON: {error}")),
        }
        self
    }

    /// Fills the completion slots.
    pub fn completer(mut self, completer: impl Completer + 'static) -> Self {
        self.completer = Some(Arc::new(completer));
        self
    }

    /// Lets a template that is no local file call functions of the program, and tools that anything but a client calls: globs
    /// over `group/function` and `server/tool`, where functions without a group are `program/function`. What servers of a
    /// configuration allow, their `remote_use` says alone.
    pub fn allow<G: Into<String>>(mut self, globs: impl IntoIterator<Item = G>) -> Self {
        self.allowed.extend(globs.into_iter().map(Into::into));
        self
    }

    /// How many steps minijinja may take for one render of a segment, and pieces of 64 bytes of text or lists it may make in
    /// them; 2,000,000 by default. A segment is rendered about
    /// twice, and once more for each completion and each action that waits for another.
    pub fn fuel(self, fuel: u64) -> Self {
        Self { fuel, ..self }
    }

    /// How many calls are made at most; 1,000 by default.
    pub fn most_calls(self, most: usize) -> Self {
        Self { most_calls: most, ..self }
    }

    /// How many completion slots are filled at most; 1,000 by default.
    pub fn most_completions(self, most: usize) -> Self {
        Self { most_completions: most, ..self }
    }

    /// How many bytes of text all segments may have, with what is given to slots; 64 MiB by default.
    pub fn most_text(self, bytes: usize) -> Self {
        Self { most_text: bytes, ..self }
    }

    /// How long the whole may take; without it, as long as its calls and completions take.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    async fn run(self) -> Result<RenderedTemplate, TemplateError> {
        let log = Log::default();
        let Some(timeout) = self.timeout else { return self.run_untimed(&log).await };
        let name = self.template.inner.name.clone();
        let message = format!("the template did not come to its end within {timeout:?}");
        match tokio::time::timeout(timeout, self.run_untimed(&log)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(TemplateProblem::of_all(TemplateErrorKind::Limit, message).alone(&name).after(log.calls())),
        }
    }

    async fn run_untimed(self, log: &Log) -> Result<RenderedTemplate, TemplateError> {
        let template = self.template.clone();
        let name = &template.inner.name;
        let (variables, mut problems) = self.given();
        let callable = match Callable::of(&template, &self.toolset, &self.allowed) {
            Ok(callable) => Some(callable),
            Err(error) => {
                problems.extend(error.problems().iter().cloned());
                None
            }
        };
        let Some(callable) = callable.filter(|_| problems.is_empty()) else {
            return Err(TemplateError::new(name, problems));
        };
        let mut environment = template.inner.environment.clone();
        environment.set_fuel(Some(self.fuel));
        let mut running = Running {
            run: &self,
            callable,
            environment,
            variables,
            made: Map::new(),
            log: log.clone(),
            made_calls: 0,
            completions: 0,
            room: self.most_text,
        };
        let mut segments = Vec::new();
        for number in 0..template.inner.segments.len() {
            let segment = running.segment(number).await;
            segments.push(segment.map_err(|problem| problem.alone(name).after(log.calls()))?);
        }
        Ok(RenderedTemplate { segments, variables: running.made, calls: log.calls() })
    }

    /// The variables, and what is wrong before anything runs.
    fn given(&self) -> (BTreeMap<String, Value>, Vec<TemplateProblem>) {
        let of_variable = |message: &String| TemplateProblem::of_all(TemplateErrorKind::Variable, message);
        let mut problems: Vec<_> = self.unusable.iter().map(of_variable).collect();
        let mut variables = BTreeMap::new();
        for (name, value) in &self.variables {
            match data::of_json(value.clone()) {
                Some(value) => drop(variables.insert(name.clone(), value)),
                None => problems.push(of_variable(&format!("variable `{name}` is too deep"))),
            }
        }
        let inner = &*self.template.inner;
        for (name, wanted) in inner.wanted.iter().filter(|(_, wanted)| !wanted.is_optional) {
            if !self.variables.contains_key(name) {
                let near = nearest(name, self.variables.keys().map(String::as_str).chain(inner.parsed.names()));
                let help = match near.first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("give it with `TemplateRun::with(\"{name}\", ..)`"),
                };
                let message = format!("nothing is called `{name}`; {help}");
                problems.push(TemplateProblem::new(TemplateErrorKind::Undefined, wanted.place, message));
            }
        }
        let open = inner.slots.iter().find(|slot| matches!(slot.kind, Kind::Completion { .. }));
        if let (Some(slot), None) = (open, &self.completer) {
            let message = "nobody fills this slot; give a completer with `TemplateRun::completer`";
            problems.push(TemplateProblem::new(TemplateErrorKind::Completion, slot.place, message));
        }
        problems.sort_by_key(|problem| problem.place);
        (variables, problems)
    }
}

impl IntoFuture for TemplateRun {
    type Output = Result<RenderedTemplate, TemplateError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Without the values, which may be anybody's.
impl fmt::Debug for TemplateRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemplateRun")
            .field("template", &self.template)
            .field("toolset", &self.toolset)
            .field("variables", &self.variables.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// A run that is under way.
struct Running<'r> {
    run: &'r TemplateRun,
    callable: Callable,
    environment: Environment<'static>,
    /// The given variables, and those of the segments before.
    variables: BTreeMap<String, Value>,
    /// The values so far, as they are handed back.
    made: Map<String, Json>,
    log: Log,
    made_calls: usize,
    completions: usize,
    /// How many bytes the segments that are left may have.
    room: usize,
}

impl Running<'_> {
    async fn segment(&mut self, number: usize) -> Result<RenderedSegment, Box<TemplateProblem>> {
        let template = self.run.template.clone();
        let inner = &*template.inner;
        let mut known = Arc::new(Known::default());
        let mut visible = self.variables.clone();
        let frame = self.frame(number);
        loop {
            // A template that only computes lets others go on, and a time limit end it.
            pause().await;
            let due = segment::collect(inner, &self.environment, number, &visible, &known, &frame)?;
            if !due.is_empty() {
                self.call(due, &mut known, &mut visible).await?;
                continue;
            }
            match segment::render(inner, &self.environment, number, &visible, &known, &frame)? {
                Came::Text { text, passed, set } => {
                    self.room = self.room.saturating_sub(text.len());
                    // What the template has set after a slot counts, as in the text.
                    for (name, value) in passed.into_iter().chain(set) {
                        if let Ok(json) = data::to_json(&value, data::Wanted::First) {
                            self.made.insert(name.clone(), json);
                        }
                        self.variables.insert(name, value);
                    }
                    let name = inner.parsed.segments.get(number).and_then(|segment| segment.name.clone());
                    return Ok(RenderedSegment { name, text });
                }
                Came::Due(due, text) => {
                    let slot = inner.slots.get(due.key.slot).map(|slot| &slot.kind);
                    match slot {
                        Some(Kind::Completion { kind, .. }) => {
                            let value = self.complete(&due, kind.as_deref(), text).await?;
                            self.learned(vec![(*due, value)], &mut known, &mut visible);
                        }
                        // One that does without something that never came.
                        _ => self.call(vec![*due], &mut known, &mut visible).await?,
                    }
                }
            }
        }
    }

    fn frame(&self, number: usize) -> Frame {
        let inner = &*self.run.template.inner;
        let names = inner.slots.iter().filter_map(|slot| slot.name.as_deref());
        let globals = self.environment.globals().map(|(name, _)| name);
        let taken = names.chain(globals).chain(inner.wanted.keys().map(String::as_str));
        let taken: BTreeSet<String> = taken.map(str::to_owned).chain(self.variables.keys().cloned()).collect();
        Frame {
            slots: inner.slots.clone(),
            holds: inner.segments.get(number).map(|segment| segment.holds.clone()).unwrap_or_default(),
            taken: taken.into(),
            ordered: self.callable.ordered().into(),
            room: self.room,
        }
    }

    async fn call(
        &mut self,
        due: Vec<Due>,
        known: &mut Arc<Known>,
        visible: &mut BTreeMap<String, Value>,
    ) -> Result<(), Box<TemplateProblem>> {
        let most = self.run.most_calls;
        if self.made_calls + due.len() > most {
            let message = format!("the template makes more than {most} calls; see `TemplateRun::most_calls`");
            return Err(self.limit(&due, message));
        }
        self.made_calls += due.len();
        let outcomes = self.callable.call(&self.run.template, &due, &self.log).await;
        let mut values = Vec::new();
        for (due, outcome) in due.into_iter().zip(outcomes) {
            // None is there only after one that has failed.
            if let Some(value) = outcome.transpose()? {
                values.push((due, value));
            }
        }
        self.learned(values, known, visible);
        Ok(())
    }

    async fn complete(&mut self, due: &Due, kind: Option<&str>, prompt: String) -> Result<Value, Box<TemplateProblem>> {
        let inner = &*self.run.template.inner;
        let most = self.run.most_completions;
        if self.completions >= most {
            let message = format!("more than {most} completion slots are filled; see `TemplateRun::most_completions`");
            return Err(self.limit(std::slice::from_ref(due), message));
        }
        self.completions += 1;
        let place = inner.slots.get(due.key.slot).map(|slot| slot.place).unwrap_or(super::Place { line: 1, column: 1 });
        let failed = |message: String| Box::new(TemplateProblem::new(TemplateErrorKind::Completion, place, message));
        let name = due.filled.variable.clone();
        // It was asked for before anything ran.
        let Some(completer) = &self.run.completer else { return Err(failed("nobody fills this slot".to_owned())) };
        let request = CompletionRequest {
            template: inner.name.clone(),
            place,
            name: name.clone(),
            kind: kind.map(str::to_owned),
            options: due.filled.values.clone(),
            prompt,
        };
        let answer = completer.complete_dyn(request).await;
        let answer = answer.map_err(|words| failed(format!("`{name}` could not be filled: {words}")))?;
        let value = match answer {
            Json::String(text) if kind == Some("json") => {
                if let Err(error) = serde_json::from_str::<IgnoredAny>(&text) {
                    return Err(failed(format!("the answer to `{name}` is no JSON: {error}")));
                }
                Some(data::of_text(text))
            }
            answer => data::of_json(answer),
        };
        value.ok_or_else(|| failed(format!("the answer to `{name}` is too deep to be used")))
    }

    fn limit(&self, due: &[Due], message: String) -> Box<TemplateProblem> {
        let kind = TemplateErrorKind::Limit;
        let slots = &self.run.template.inner.slots;
        Box::new(match due.first().and_then(|due| slots.get(due.key.slot)) {
            Some(slot) => TemplateProblem::new(kind, slot.place, message),
            None => TemplateProblem::of_all(kind, message),
        })
    }

    /// Values that were not there. What was there before under the same name stays until the segment is done: each slot has
    /// its own value behind it, and nothing that has run may have been given something else. What a loop gives has a value
    /// for each turn, and so none outside of it but the last.
    fn learned(&self, values: Vec<(Due, Value)>, known: &mut Arc<Known>, visible: &mut BTreeMap<String, Value>) {
        let slots = &self.run.template.inner.slots;
        let known = Arc::make_mut(known);
        for (Due { key, filled }, value) in values {
            let is_of_turn = slots.get(key.slot).is_some_and(|slot| slot.in_loop && slot.name.is_some());
            if !is_of_turn {
                visible.entry(filled.variable).or_insert_with(|| value.clone());
            }
            known.insert(key, value);
        }
    }
}

async fn pause() {
    let mut has_paused = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
