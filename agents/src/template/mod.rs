//! Templates whose actions call tools.
//!
//! A [`Template`] is minijinja text with slots between `[[` and `]]`. Actions call tools of a [`Toolset`], and their
//! results are variables; completion slots are filled by the program, usually with a model.
//!
//! ```text
//! [[@github_list_issues:issues|owner="rust-lang", repo=repo, state="open"]]
//! Open issues:
//! {% for issue in issues %}- {{ issue.title }}
//! {% endfor %}
//! Which of them comes first? [[first]]
//! ```
//!
//! - `[[@name:variable|key=value]]` calls a tool by its name in the toolset, `[[@mcp:variable|server="github",
//!   tool="list_issues", key=value]]` by its name on the server. With a variable, nothing is printed; without one,
//!   the result is printed in place, and its variable has the action's name.
//! - Values are JSON, text with `{{ expressions }}`, and variables with paths: `issue.labels[0].name`.
//!   `on_error=empty` and `on_error=default(..)` replace the result of a failed call.
//! - `[[name]]` and `[[kind:name|key=value]]` are filled by the [`Completer`].
//! - `<checkpoint>` separates segments: a completer receives the text since the last one. Variables are kept.
//!
//! # Order
//!
//! A template runs once, in the order of its text: actions and completions one after another. A variable that is used
//! before its slot is an error, reported before any call. In a loop a slot runs in each iteration and sets its
//! variable for that iteration; after the loop the variable has the last value. A completer receives the text before
//! its slot. A name with expressions must evaluate to an unused name, otherwise the run fails.
//!
//! minijinja runs on a blocking thread of tokio, which waits for tools and completers.
//!
//! A result is that of a typed handler, as JSON: structured content, without the wrapper that some servers add to
//! values that are not objects, or else the text. If text is a JSON object or list, its fields and items can be used.
//! Results, answers and variables are data, and never evaluated as templates. Structured content prints as the text
//! of the result, or as its only member if that is a string: `{{ readme }}` is the file, and so is `{{ readme.content
//! }}`. Other values that are not strings print as JSON.
//!
//! Undefined variables are errors with a line; those that neither the template nor the program sets are reported
//! before any call.

mod calls;
mod completer;
mod data;
mod error;
pub(crate) mod generated;
mod render;
mod rendered;
mod run;
mod slot;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use minijinja::Environment;

pub use completer::{Completer, CompletionRequest};
pub use error::{TemplateError, TemplateErrorKind, TemplateProblem};
pub use mcp_bindgen_template::Place;
use mcp_bindgen_template::{Fault, Program, Template as Parsed, Wanted};
pub use rendered::{RenderedSegment, RenderedTemplate, TemplateCall};
pub use run::TemplateRun;
use slot::Slot;

use crate::Toolset;
use calls::Callable;

/// A parsed template; see the [module](self). Cheap to clone.
///
/// ```
/// use mcp_bindgen_agents::{Template, Toolset};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct FindOrder { number: u64 }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let toolset = Toolset::builder()
///     .function("find_order", "Finds an order.", async |find: FindOrder| Ok::<_, String>(format!("order {}", find.number)))
///     .build()?;
/// let template = Template::new("order.md", "[[@find_order:order|number=number]]{{ customer }} asks about {{ order }}.")?;
/// assert_eq!(template.variables().collect::<Vec<_>>(), ["customer", "number"]);
/// template.check(&toolset)?; // tools, arguments, literals: before anything runs
///
/// let rendered = template.run(&toolset).with("customer", "Ada").with("number", 7).await?;
/// assert_eq!(rendered.text(), "Ada asks about order 7.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Template {
    inner: Arc<Inner>,
}

/// The name of the code of a template.
const CODE: &str = "code";

struct Inner {
    name: String,
    is_remote: bool,
    parsed: Parsed,
    program: Program,
    slots: Vec<Slot>,
    texts: minijinja::Value,
    wanted: BTreeMap<String, Wanted>,
    /// The names that are used before the slots that give them.
    late: BTreeMap<String, Fault>,
    /// Holds the compiled [`CODE`].
    environment: Environment<'static>,
}

impl Template {
    /// Parses a template of the program: `Template::new("triage.md", include_str!("../prompts/triage.md"))`. Errors
    /// contain the name.
    ///
    /// # Errors
    /// Everything that is wrong with the text, each with its line.
    pub fn new(name: impl Into<String>, text: &str) -> Result<Self, TemplateError> {
        Self::read(name.into(), text, false)
    }

    /// Reads and parses a template from a local file, with its path as its name. This blocks the thread. Anything but
    /// a regular file, such as a pipe or a device, is treated as [`remote`](Self::remote): its author is unknown.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not UTF-8, and like [`new`](Self::new).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, TemplateError> {
        let name = path.as_ref().to_string_lossy().into_owned();
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let is_local = std::fs::metadata(&path).is_ok_and(|file| file.is_file());
                Self::read(name, &text, !is_local)
            }
            Err(error) => {
                let message = format!("failed to read the template: {error}");
                Err(TemplateProblem::of_all(TemplateErrorKind::Unreadable, message).alone(&name))
            }
        }
    }

    /// Parses a template from elsewhere, such as a server. It may only call tools that `remote_use` of the server's
    /// configuration allows, by default none. [Functions](crate::ToolsetBuilder::function) of the program, and tools
    /// behind anything but a client, need [`TemplateRun::allow`].
    ///
    /// # Errors
    /// Fails like [`new`](Self::new).
    pub fn remote(name: impl Into<String>, text: &str) -> Result<Self, TemplateError> {
        Self::read(name.into(), text, true)
    }

    fn read(name: String, text: &str, is_remote: bool) -> Result<Self, TemplateError> {
        let of_syntax = |faults: Vec<Fault>| {
            let problem = |fault: Fault| TemplateProblem::new(TemplateErrorKind::Syntax, fault.place, fault.message);
            TemplateError::new(&name, faults.into_iter().map(problem).collect())
        };
        let parsed = Parsed::parse(text).map_err(of_syntax)?;
        let mut program = Program::new(&parsed);
        let mut environment = render::environment();
        let added = environment.add_template_owned(CODE, program.code.clone());
        let compiled = added.and_then(|()| environment.get_template(CODE));
        let undeclared = parsed.undeclared(&program, &environment, compiled).map_err(of_syntax)?;
        let (wanted, late) = (parsed.wanted(undeclared.iter().cloned()), parsed.late(&undeclared));
        let slots = std::mem::take(&mut program.slots).into_iter().map(|piece| Slot { piece }).collect();
        let texts = std::mem::take(&mut program.texts).into();
        let inner = Inner { name, is_remote, parsed, program, slots, texts, wanted, late, environment };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the template's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the required variables, sorted.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.inner.wanted.iter().filter(|(_, wanted)| !wanted.is_optional).map(|(name, _)| name.as_str())
    }

    /// Returns the optional variables: the template tests whether they are set (`{% if x is defined %}`), or has a
    /// default for them (`{{ x|default("..") }}`).
    pub fn optional_variables(&self) -> impl Iterator<Item = &str> {
        self.inner.wanted.iter().filter(|(_, wanted)| wanted.is_optional).map(|(name, _)| name.as_str())
    }

    /// Returns `true` if the template has completion slots.
    #[must_use]
    pub fn has_completions(&self) -> bool {
        self.inner.slots.iter().any(Slot::is_completion)
    }

    /// Checks the actions against the tools of a toolset: names, arguments, and the types of literals. Calls nothing.
    /// [`run`](Self::run) does this first.
    ///
    /// # Errors
    /// Fails with all mismatches, each with its line and a suggestion.
    pub fn check(&self, toolset: &Toolset) -> Result<(), TemplateError> {
        let checked = Callable::of(self, toolset, &[]).map(drop);
        checked.map_err(|problems| TemplateError::new(&self.inner.name, problems))
    }

    /// Creates a run of the template with the tools of a toolset; await it.
    pub fn run(&self, toolset: &Toolset) -> TemplateRun {
        TemplateRun::new(self.clone(), toolset.clone())
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("name", &self.inner.name).finish_non_exhaustive()
    }
}
