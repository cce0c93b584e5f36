//! Prompts and resource templates as the bindings know them: specifications as constants.

use crate::call::spec::setters;

/// A prompt as its server declared it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptSpec {
    /// The wire name.
    pub name: &'static str,
    /// The title, for people.
    pub title: Option<&'static str>,
    /// The description, as sent.
    pub description: Option<&'static str>,
    /// Its arguments.
    pub arguments: &'static [PromptArgumentSpec],
}

impl PromptSpec {
    /// Creates a prompt with its wire name and nothing else.
    pub const fn new(name: &'static str) -> Self {
        Self { name, title: None, description: None, arguments: &[] }
    }

    setters! {
        /// Sets the title.
        title(title: &'static str): title = Some(title);
        /// Sets the description.
        description(description: &'static str): description = Some(description);
        /// Sets the arguments of the prompt.
        arguments(arguments: &'static [PromptArgumentSpec]): arguments = arguments;
    }
}

/// An argument of a prompt: a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptArgumentSpec {
    /// The wire name.
    pub name: &'static str,
    /// The title, for people.
    pub title: Option<&'static str>,
    /// The description, as sent.
    pub description: Option<&'static str>,
    /// `true` if the argument is required.
    pub is_required: bool,
}

impl PromptArgumentSpec {
    /// Creates an argument that may be left out.
    pub const fn new(name: &'static str) -> Self {
        Self { name, title: None, description: None, is_required: false }
    }

    /// Makes the argument required.
    pub const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    setters! {
        /// Sets the title.
        title(title: &'static str): title = Some(title);
        /// Sets the description.
        description(description: &'static str): description = Some(description);
    }
}

/// A resource template as its server declared it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceTemplateSpec {
    /// The name.
    pub name: &'static str,
    /// The template of its URIs (RFC 6570).
    pub uri_template: &'static str,
    /// The title, for people.
    pub title: Option<&'static str>,
    /// The description, as sent.
    pub description: Option<&'static str>,
    /// The media type of all its resources, if they have one.
    pub mime_type: Option<&'static str>,
}

impl ResourceTemplateSpec {
    /// Creates a template with its name.
    pub const fn new(name: &'static str, uri_template: &'static str) -> Self {
        Self { name, uri_template, title: None, description: None, mime_type: None }
    }

    setters! {
        /// Sets the title.
        title(title: &'static str): title = Some(title);
        /// Sets the description.
        description(description: &'static str): description = Some(description);
        /// Sets the media type.
        mime_type(mime_type: &'static str): mime_type = Some(mime_type);
    }
}
