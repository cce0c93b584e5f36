//! The facts of a provider. Each provider's file has one [`Format`].

use mcp_bindgen_schema::provider::{Dialect, Load};
use serde_json::{Map, Value, json};

use super::answers::Group;
use super::parts::{Part, Takes};
use super::{ModelCall, RunEvent};
use crate::json::object;

/// The format of a provider's API, and its limits.
pub(crate) struct Format {
    /// Returns the calls in a reply.
    pub(super) calls: fn(&Value) -> Vec<ModelCall>,
    /// The supported content of results.
    pub(super) takes: Takes,
    /// Formats the result of one call.
    pub(super) result: fn(&Group<'_>, Vec<Part>) -> Value,
    /// The key of the one message with all results of a turn; without it, each is a message.
    pub(super) results_key: Option<&'static str>,
    /// Returns `true` if results for a model (`None` if unknown) can have images.
    pub(super) images_for: fn(Option<&str>) -> bool,
    /// The media types of images in a user's message. An assistant's has text only.
    pub(super) images_of_users: &'static [&'static str],
    /// Formats a message.
    pub(super) message: fn(Role, Vec<Part>) -> Value,
    /// Formats the instructions.
    pub(super) instructions: fn(&str) -> Value,
    /// The key of the instructions in a request; without it, they are the first message.
    pub(super) instructions_key: Option<&'static str>,
    /// The key of the messages in a request.
    pub(super) messages_key: &'static str,
    /// Returns the messages of a reply, as they go into the next request.
    pub(crate) reply: fn(&Value) -> Vec<Value>,
    /// Returns the text of a reply.
    pub(crate) text: fn(&Value) -> String,
    /// Adds an event of a stream to the reply so far.
    pub(crate) add: fn(&mut Value, &Value) -> Vec<RunEvent>,
    /// Formats the declaration of a tool.
    pub(crate) declaration: fn(Declaration<'_>) -> Value,
    /// Formats the value of `tools` in a request.
    pub(crate) list: fn(Vec<Value>) -> Vec<Value>,
    /// The supported subset of JSON Schema.
    pub(crate) dialect: Dialect,
    /// The maximum number of tools in a request, if limited.
    pub(crate) tools_at_most: Option<usize>,
    /// The maximum number of characters in a description, if limited.
    pub(crate) description_at_most: Option<usize>,
    /// `true` if a tool must have a description.
    pub(crate) needs_description: bool,
    /// The room for strict tools in a request.
    pub(crate) strict_at_most: StrictRoom,
    /// The mode to set in a request if all its tools are strict.
    pub(crate) strict_mode: Option<&'static str>,
    /// The function that returns the provider's tool for searching deferred ones.
    pub(crate) search: Option<fn() -> Value>,
}

impl Format {
    /// Returns a request.
    pub(crate) fn request(&self, system: Option<&str>, messages: &[Value], tools: Vec<Value>) -> Map<String, Value> {
        let system = system.map(self.instructions);
        let (instructions, first) = match self.instructions_key {
            Some(key) => (system.map(|system| (key, system)), None),
            None => (None, system),
        };
        let messages: Vec<Value> = first.into_iter().chain(messages.iter().cloned()).collect();
        let lists = [(self.messages_key, messages), ("tools", tools)];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty()).map(|(key, list)| (key, list.into()));
        instructions.into_iter().chain(lists).map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// Adds a string to the one under a key.
pub(super) fn push_text(object: &mut Value, key: &str, more: &str) {
    match object.get_mut(key) {
        Some(Value::String(text)) => text.push_str(more),
        Some(other) => *other = more.into(),
        None => {
            if let Value::Object(members) = object {
                members.insert(key.to_owned(), more.into());
            }
        }
    }
}

/// Returns the object at a place of a list, which grows up to there.
pub(super) fn grown(list: &mut Vec<Value>, place: usize) -> Option<&mut Value> {
    // Far more than any reply has.
    const MOST: usize = 4096;
    if place >= MOST {
        return None;
    }
    if list.len() <= place {
        list.resize_with(place + 1, || json!({}));
    }
    list.get_mut(place)
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
}

impl Role {
    /// Returns the name of the role in most APIs.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// The limits on strict tools in a request: tools, optional parameters, and parameters with several types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StrictRoom {
    tools: usize,
    optional: usize,
    unions: usize,
}

impl StrictRoom {
    /// No limit.
    pub(super) const UNLIMITED: Self = Self::new(usize::MAX, usize::MAX, usize::MAX);

    pub(super) const fn new(tools: usize, optional: usize, unions: usize) -> Self {
        Self { tools, optional, unions }
    }

    /// Takes the load of a strict tool.
    ///
    /// # Errors
    /// Fails with the reason if the remaining load is too small; nothing is taken then.
    pub(crate) fn take(&mut self, load: Load) -> Result<(), String> {
        let short = |what: &str, wanted: usize, left: usize| {
            format!("it has {wanted} {what}, and the earlier strict tools leave room for {left}; use a subset")
        };
        if self.tools == 0 {
            return Err("the request already has the maximum number of strict tools; use a subset".to_owned());
        }
        if load.optional > self.optional {
            return Err(short("optional parameters", load.optional, self.optional));
        }
        if load.unions > self.unions {
            return Err(short("parameters of several types", load.unions, self.unions));
        }
        self.tools -= 1;
        self.optional -= load.optional;
        self.unions -= load.unions;
        Ok(())
    }
}

/// A tool to declare.
#[derive(Debug)]
pub(crate) struct Declaration<'a> {
    /// `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`, which every provider accepts.
    pub(crate) name: &'a str,
    pub(crate) description: Option<&'a str>,
    /// In the provider's dialect; an object at its root.
    pub(crate) schema: Value,
    /// `true` if the provider enforces the schema.
    pub(crate) is_strict: bool,
}

impl Declaration<'_> {
    /// Returns its members, with the schema under the given key, and with `strict` if the provider has it.
    pub(super) fn members(self, schema: &str, has_strict: bool) -> Map<String, Value> {
        object([
            ("name", Some(self.name.into())),
            ("description", self.description.map(Value::from)),
            (schema, Some(self.schema)),
            ("strict", has_strict.then(|| self.is_strict.into())),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(optional: usize, unions: usize) -> Load {
        let mut load = Load::default();
        (load.optional, load.unions) = (optional, unions);
        load
    }

    #[test]
    fn anthropic_limits_strict_tools_of_a_request() {
        let mut room = crate::Provider::Anthropic.format().strict_at_most;
        assert!(room.take(load(25, 0)).unwrap_err().contains("25 optional"));
        assert_eq!(room.take(load(20, 16)), Ok(()));
        assert!(room.take(load(0, 1)).unwrap_err().contains("leave room for 0"));
        assert!(room.take(load(5, 0)).unwrap_err().contains("leave room for 4"));
        assert_eq!(room.take(load(4, 0)), Ok(()));
        for _ in 0..18 {
            assert_eq!(room.take(load(0, 0)), Ok(()));
        }
        assert!(room.take(load(0, 0)).is_err());
    }

    #[test]
    fn other_providers_have_no_limit_per_request() {
        let mut room = crate::Provider::OpenAiChat.format().strict_at_most;
        assert!((0..1000).all(|_| room.take(load(100, 100)).is_ok()));
    }
}
