//! Errors of templates.

use std::error::Error;
use std::fmt;

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::CallError;
use mcp_bindgen_template::Place;

use super::rendered::TemplateCall;

/// The problems of a template, or the error that ended its run. Each is printed with the template's name, line and
/// column: `prompts/triage.md:3:5: ..`. Messages contain neither values of variables nor secrets.
#[derive(Clone, Debug)]
pub struct TemplateError {
    pub(super) template: String,
    pub(super) problems: Vec<TemplateProblem>,
    pub(super) calls: Vec<TemplateCall>,
}

/// A problem of a template.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TemplateProblem {
    /// The kind, for programs.
    pub kind: TemplateErrorKind,
    /// The position in the template's text.
    pub place: Option<Place>,
    /// The action concerned, by its name in the template: `@mcp`.
    pub action: Option<String>,
    /// The server of the action's tool.
    pub server: Option<String>,
    /// The name of the action's tool on the server.
    pub tool: Option<String>,
    /// The problem, for people.
    pub message: String,
}

/// The kinds of errors of templates.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TemplateErrorKind {
    /// The file cannot be read.
    Unreadable,
    /// The text is not a valid template.
    Syntax,
    /// A name, or a part of a value, is not there.
    Undefined,
    /// An expression fails with these values.
    Evaluation,
    /// A variable of the program has no JSON form.
    Variable,
    /// The tool does not exist, or the template must not call it.
    UnknownTool,
    /// The template came from elsewhere than a local file, and may not call the tool.
    RemoteUse,
    /// The arguments do not fit the tool. Nothing was sent.
    Arguments,
    /// The call failed.
    Call(Box<CallError>),
    /// The caller of the tool panicked; whether the call had an effect is unknown.
    Broken,
    /// A completion slot has no completer, or the completer failed.
    Completion,
    /// It takes too much: of instructions, calls, text or time.
    Limit,
}

impl TemplateError {
    pub(super) fn new(template: &str, problems: Vec<TemplateProblem>) -> Self {
        Self { template: template.to_owned(), problems, calls: Vec::new() }
    }

    /// Returns the template's name.
    #[must_use]
    pub fn template(&self) -> &str {
        &self.template
    }

    /// Returns the problems in the order of the text; at least one.
    #[must_use]
    pub fn problems(&self) -> &[TemplateProblem] {
        &self.problems
    }

    /// Returns the calls that began before the run ended, in order, whether they succeeded, failed, or were cancelled
    /// by a timeout. Running the template again repeats them.
    #[must_use]
    pub fn calls(&self) -> &[TemplateCall] {
        &self.calls
    }
}

impl TemplateProblem {
    pub(super) fn new(kind: TemplateErrorKind, place: Place, message: impl Into<String>) -> Self {
        Self { place: Some(place), ..Self::of_all(kind, message) }
    }

    /// Creates an error without a position.
    pub(super) fn of_all(kind: TemplateErrorKind, message: impl Into<String>) -> Self {
        Self { kind, place: None, action: None, server: None, tool: None, message: message.into() }
    }

    pub(super) fn of_tool(self, (server, tool): (&str, &str)) -> Self {
        Self { server: Some(server.to_owned()), tool: Some(tool.to_owned()), ..self }
    }

    pub(super) fn alone(self, template: &str) -> TemplateError {
        TemplateError::new(template, vec![self])
    }
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { line, column }) = self.place {
            write!(f, "{line}:{column}: ")?;
        }
        f.write_str(&printable(&self.message))
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = printable(&self.template);
        let problems = self.problems.iter().map(|problem| match problem.place {
            Some(_) => format!("{name}:{problem}"),
            None => format!("{name}: {problem}"),
        });
        let problems: Vec<String> = problems.collect();
        match problems.as_slice() {
            [only] => f.write_str(only),
            all => write!(f, "{name}: {} problems\n- {}", all.len(), all.join("\n- ")),
        }
    }
}

impl Error for TemplateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.problems.first()?.kind {
            TemplateErrorKind::Call(error) => Some(&**error),
            _ => None,
        }
    }
}
