//! Runs a template.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use mcp_bindgen_model::nearest;
use mcp_bindgen_template::{Fault, PieceKind};
use minijinja::Value;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};
use tokio::sync::mpsc;

use super::Template;
use super::calls::Callable;
use super::completer::{Completer, CompletionRequest};
use super::data;
use super::error::{TemplateError, TemplateErrorKind, TemplateProblem};
use super::render::{Ask, Rendered, render};
use super::rendered::{RenderedTemplate, TemplateCall};
use crate::Toolset;

const MOST_CALLS: usize = 1_000;
const MOST_COMPLETIONS: usize = 1_000;

/// Any completer.
type AnyCompleter = Arc<dyn Fn(CompletionRequest) -> BoxFuture<'static, Result<Json, String>> + Send + Sync>;

/// A run of a template: await it. Dropping the future cancels pending calls.
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
    /// The problems of variables without a JSON form.
    unusable: Vec<String>,
    completer: Option<AnyCompleter>,
    allowed: Vec<String>,
    most_calls: usize,
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
            most_calls: MOST_CALLS,
            timeout: None,
        }
    }

    /// Sets a variable, as JSON. Variables that the template does not use are ignored; the last of several with one
    /// name applies.
    pub fn with(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let name = name.into();
        match serde_json::to_value(value) {
            Ok(value) => drop(self.variables.insert(name, value)),
            Err(error) => self.unusable.push(format!("variable `{name}` has no JSON form: {error}")),
        }
        self
    }

    /// Sets each field of a value as a variable.
    pub fn with_all(mut self, variables: impl Serialize) -> Self {
        match serde_json::to_value(variables) {
            Ok(Json::Object(variables)) => self.variables.extend(variables),
            Ok(_) => self.unusable.push("expected an object with a field for each variable".to_owned()),
            Err(error) => self.unusable.push(format!("the variables have no JSON form: {error}")),
        }
        self
    }

    /// Sets the completer that fills the completion slots.
    pub fn completer(mut self, completer: impl Completer + 'static) -> Self {
        let completer = Arc::new(completer);
        self.completer = Some(Arc::new(move |request| {
            let completer = completer.clone();
            Box::pin(async move { completer.complete(request).await })
        }));
        self
    }

    /// Allows a remote template to call functions of the program, and tools behind anything but a client: globs over
    /// `group/function` and `server/tool`; functions without a group are `program/function`. For servers of a
    /// configuration only their `remote_use` applies.
    pub fn allow<G: Into<String>>(mut self, globs: impl IntoIterator<Item = G>) -> Self {
        self.allowed.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Limits the number of calls; 1,000 by default.
    pub fn most_calls(self, most: usize) -> Self {
        Self { most_calls: most, ..self }
    }

    /// Sets a timeout for the whole run; none by default. Endless loops and unbounded texts end without it: a template
    /// has 2,000,000 steps, and 64 MiB of text.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    async fn run(self) -> Result<RenderedTemplate, TemplateError> {
        let (template, timeout, mut calls) = (self.template.inner.name.clone(), self.timeout, Vec::new());
        let running = self.run_untimed(&mut calls);
        let outcome = match timeout {
            None => running.await,
            Some(timeout) => tokio::time::timeout(timeout, running).await.unwrap_or_else(|_| {
                let message = format!("the template did not finish within {timeout:?}; see `TemplateRun::timeout`");
                Err(vec![TemplateProblem::of_all(TemplateErrorKind::Limit, message)])
            }),
        };
        match outcome {
            Ok((segments, variables)) => Ok(RenderedTemplate { segments, variables, calls }),
            Err(problems) => Err(TemplateError { template, problems, calls }),
        }
    }

    async fn run_untimed(self, calls: &mut Vec<TemplateCall>) -> Result<Rendered, Vec<TemplateProblem>> {
        let template = self.template.clone();
        let (variables, mut problems) = self.given();
        let callable = match Callable::of(&template, &self.toolset, &self.allowed) {
            Ok(callable) if problems.is_empty() => callable,
            Ok(_) => return Err(problems),
            Err(more) => {
                problems.extend(more);
                return Err(problems);
            }
        };
        let mut completions = 0;
        let (asks, mut asked) = mpsc::channel(1);
        let rendered = tokio::task::spawn_blocking(move || render(template, variables, asks));
        while let Some(ask) = asked.recv().await {
            let value = self.answer(&ask, &callable, calls, &mut completions).await;
            // The receiver waits until it is answered.
            let _ = ask.answer.send(value.map_err(|problem| vec![*problem])?);
        }
        let broken = |_| Err(Box::new(TemplateProblem::of_all(TemplateErrorKind::Broken, "the render panicked")));
        rendered.await.unwrap_or_else(broken).map_err(|problem| vec![*problem])
    }

    /// Answers a request of the render.
    async fn answer(
        &self,
        ask: &Ask,
        callable: &Callable,
        calls: &mut Vec<TemplateCall>,
        completions: &mut usize,
    ) -> Result<Value, Box<TemplateProblem>> {
        let inner = &*self.template.inner;
        let Some(slot) = inner.slots.get(ask.slot) else {
            let message = "the template asks for a slot that it does not have";
            return Err(Box::new(TemplateProblem::of_all(TemplateErrorKind::Broken, message)));
        };
        let (place, name, most) = (slot.piece.place, &ask.filled.variable, self.most_calls);
        let limit = |message| Err(Box::new(TemplateProblem::new(TemplateErrorKind::Limit, place, message)));
        let failed = |message: String| Box::new(TemplateProblem::new(TemplateErrorKind::Completion, place, message));
        let PieceKind::Completion(completion) = &slot.piece.kind else {
            if calls.len() >= most {
                return limit(format!("the template makes more than {most} calls; see `TemplateRun::most_calls`"));
            }
            return callable.call(&self.template, ask.slot, &ask.filled, calls).await;
        };
        if *completions >= MOST_COMPLETIONS {
            return limit(format!("the template fills more than {MOST_COMPLETIONS} completion slots"));
        }
        *completions += 1;
        // Checked before the run.
        let Some(completer) = &self.completer else { return Err(failed("this slot needs a completer".to_owned())) };
        let request = CompletionRequest {
            template: inner.name.clone(),
            place,
            name: name.clone(),
            kind: completion.kind.clone(),
            options: ask.filled.values.clone(),
            prompt: ask.prompt.clone(),
        };
        let answer = completer(request).await;
        let value = match answer.map_err(|words| failed(format!("failed to fill `{name}`: {words}")))? {
            Json::String(text) if completion.kind.as_deref() == Some("json") => {
                if let Err(error) = serde_json::from_str::<IgnoredAny>(&text) {
                    return Err(failed(format!("the answer to `{name}` is not JSON: {error}")));
                }
                Some(data::of_text(text))
            }
            answer => data::of_json(answer),
        };
        value.ok_or_else(|| failed(format!("the answer to `{name}` is nested too deeply")))
    }

    /// Returns the variables, and the problems that are known before a run.
    fn given(&self) -> (BTreeMap<String, Value>, Vec<TemplateProblem>) {
        let of_variable = |message: &String| TemplateProblem::of_all(TemplateErrorKind::Variable, message);
        let mut problems: Vec<_> = self.unusable.iter().map(of_variable).collect();
        let mut variables = BTreeMap::new();
        for (name, value) in &self.variables {
            match data::of_json(value.clone()) {
                Some(value) => drop(variables.insert(name.clone(), value)),
                None => problems.push(of_variable(&format!("variable `{name}` is nested too deeply"))),
            }
        }
        let inner = &*self.template.inner;
        for (name, wanted) in inner.wanted.iter().filter(|(_, wanted)| !wanted.is_optional) {
            if !self.variables.contains_key(name) {
                let near = nearest(name, self.variables.keys().map(String::as_str).chain(inner.parsed.names()));
                let help = match near.first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("pass it with `TemplateRun::with(\"{name}\", ..)`"),
                };
                let message = format!("undefined variable `{name}`; {help}");
                problems.push(TemplateProblem::new(TemplateErrorKind::Undefined, wanted.place, message));
            }
        }
        for (_, Fault { place, message, .. }) in
            inner.late.iter().filter(|(name, _)| !self.variables.contains_key(*name))
        {
            problems.push(TemplateProblem::new(TemplateErrorKind::Undefined, *place, message));
        }
        let open = inner.slots.iter().find(|slot| slot.is_completion());
        if let (Some(slot), None) = (open, &self.completer) {
            let message = "this slot needs a completer; set one with `TemplateRun::completer`";
            problems.push(TemplateProblem::new(TemplateErrorKind::Completion, slot.piece.place, message));
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

/// Omits the values, which may be confidential.
impl fmt::Debug for TemplateRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemplateRun")
            .field("template", &self.template)
            .field("toolset", &self.toolset)
            .field("variables", &self.variables.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
