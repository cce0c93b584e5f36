//! Errors and warnings of prompts.

use std::fmt;

/// The error of building a prompt, with all problems of its sections.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", listed(.problems))]
pub struct PromptError {
    problems: Vec<String>,
}

fn listed(problems: &[String]) -> String {
    match problems {
        [only] => only.clone(),
        all => format!("{} problems in the sections\n- {}", all.len(), all.join("\n- ")),
    }
}

impl PromptError {
    pub(super) fn new(problems: Vec<String>) -> Self {
        Self { problems }
    }

    /// Returns the problems; each names its section.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

/// The error of rendering a prompt. It never contains values of parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// Two values of one type were given.
    #[error("duplicate parameters of type `{type_name}`; pass one, which all sections of that type share")]
    RepeatedParams {
        /// The type.
        type_name: &'static str,
    },
    /// No section wants a value of this type.
    #[error("no section takes parameters of type `{type_name}`; remove them, or add a section of that type")]
    UnknownParams {
        /// The type.
        type_name: &'static str,
    },
    /// A section has no parameters.
    #[error(
        "missing parameters of type `{type_name}` for section `{section}`; pass them with `PromptParams::with`, or \
         set a default with `Section::default_params` or `Section::or_default`"
    )]
    MissingParams {
        /// The section's dotted key.
        section: String,
        /// The type.
        type_name: &'static str,
    },
    /// A section's parameters do not print as an object.
    #[error("the parameters of section `{section}`: {message}")]
    Params {
        /// The section's dotted key.
        section: String,
        /// Why.
        message: String,
    },
    /// A template fails with these parameters.
    #[error("failed to render the {what} of section `{section}`: {message}")]
    Template {
        /// The section's dotted key.
        section: String,
        /// Which of its templates: `template` or `summary`.
        what: &'static str,
        /// Why, and in which line.
        message: String,
    },
    /// A section without a summary is shown as a summary.
    #[error("section `{section}` is shown as a summary, but has none; add one with `Section::summary`")]
    NoSummary {
        /// The section's dotted key.
        section: String,
    },
    /// A section creates an invalid server from its parameters.
    #[error("a server of section `{section}`: {message}")]
    Server {
        /// The section's dotted key.
        section: String,
        /// The fault.
        message: String,
    },
}

/// A warning about a rendered prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptWarning {
    /// Two sections declare a server by one name, and not in the same way. The first is used.
    DuplicateServer {
        /// The name.
        name: String,
        /// The section whose server is used.
        used: String,
        /// The section whose server is not.
        skipped: String,
        /// How the two differ; no secret is in it.
        difference: String,
    },
    /// The state speaks of a section that the prompt does not have.
    UnknownSection {
        /// The dotted key.
        section: String,
    },
}

impl fmt::Display for PromptWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateServer { name, used, skipped, difference } => write!(
                f,
                "server `{name}` of section `{skipped}` is not used: section `{used}` declares one with that name, \
                 {difference}"
            ),
            Self::UnknownSection { section } => {
                let section = mcp_bindgen_model::printable(section);
                write!(f, "the state contains the unknown section `{section}`")
            }
        }
    }
}
