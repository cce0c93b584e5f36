//! The format of a provider's API. Each provider's file implements [`Format`].

use mcp_bindgen_schema::provider::{Dialect, Load};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::calls::{Answered, ModelCall, RunEvent};
use super::parts::{PICTURES, Part, Takes};
use crate::json::object;

/// The format of a provider's API.
pub(crate) trait Format: Sync {
    /// Returns the keys and the limits of the API.
    fn facts(&self) -> Facts;

    /// Returns the calls in a reply.
    fn calls(&self, reply: &Value) -> Vec<ModelCall>;

    /// Formats the result of one call, whose id and name its answer has.
    fn result(&self, answer: &Answered, is_success: bool, parts: Vec<Part>) -> Value;

    /// Returns `true` if results for a model (`None` if unknown) can have images.
    fn takes_images(&self, _model: Option<&str>) -> bool {
        true
    }

    /// Formats a message.
    fn message(&self, role: Role, parts: Vec<Part>) -> Value;

    /// Formats the instructions.
    fn instructions(&self, text: &str) -> Value {
        text.into()
    }

    /// Checks that a reply is the body of a response with a message, which may be empty.
    ///
    /// # Errors
    /// Fails with the reason, which continues "the reply cannot be used: ".
    fn check(&self, reply: &Value) -> Result<(), String>;

    /// Returns the messages of a reply, as they go into the next request: none for an empty message that the provider would
    /// refuse there.
    fn reply(&self, reply: &Value) -> Vec<Value>;

    /// Returns the text of a reply.
    fn text(&self, reply: &Value) -> String;

    /// Adds an event of a stream to the reply so far.
    fn add(&self, reply: &mut Value, event: &Value) -> Vec<RunEvent>;

    /// Formats the declaration of a tool from its members.
    fn declared(&self, members: Map<String, Value>) -> Value {
        members.into()
    }

    /// Formats the value of `tools` in a request.
    fn list(&self, tools: Vec<Value>) -> Vec<Value> {
        tools
    }

    /// Declares a tool, whose name every provider accepts: `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`. The schema is in the
    /// provider's dialect, and an object at its root. `is_strict` tells that the provider enforces it.
    fn declaration(&self, name: &str, description: Option<&str>, schema: Value, is_strict: bool) -> Value {
        let Facts { schema_key, says_strict, .. } = self.facts();
        self.declared(object([
            ("name", Some(name.into())),
            ("description", description.map(Value::from)),
            (schema_key, Some(schema)),
            ("strict", says_strict.contains(&is_strict).then(|| is_strict.into())),
        ]))
    }

    /// Returns a request.
    fn request(&self, system: Option<&str>, messages: &[Value], tools: Vec<Value>) -> Map<String, Value> {
        let Facts { instructions_key, messages_key, .. } = self.facts();
        let system = system.map(|text| self.instructions(text));
        let (first, instructions) = if instructions_key.is_none() { (system, None) } else { (None, system) };
        let messages: Vec<Value> = first.into_iter().chain(messages.iter().cloned()).collect();
        object([
            (instructions_key.unwrap_or_default(), instructions),
            (messages_key, (!messages.is_empty()).then(|| messages.into())),
            ("tools", (!tools.is_empty()).then(|| tools.into())),
        ])
    }
}

/// The keys and the limits of a provider's API.
pub(crate) struct Facts {
    /// The supported content of results.
    pub(super) takes: Takes,
    /// The media types of images in a user's message. An assistant's has text only.
    pub(super) images_of_users: &'static [&'static str],
    /// The key of the one message with all results of a turn; without it, each is a message.
    pub(super) results_key: Option<&'static str>,
    /// The key of the instructions in a request; without it, they are the first message.
    pub(super) instructions_key: Option<&'static str>,
    /// The key of the messages in a request.
    pub(super) messages_key: &'static str,
    /// The key of the schema in a declaration.
    pub(super) schema_key: &'static str,
    /// The values of `strict` that declarations contain.
    pub(super) says_strict: &'static [bool],
    /// The supported subset of JSON Schema.
    pub(crate) dialect: Dialect,
    /// The maximum number of tools in a request.
    pub(crate) tools_at_most: usize,
    /// The maximum number of characters in a description.
    pub(crate) description_at_most: usize,
    /// `true` if a tool must have a description.
    pub(crate) needs_description: bool,
    /// The room for strict tools in a request.
    pub(crate) strict_at_most: StrictRoom,
    /// The mode to set in a request if all its tools are strict.
    pub(crate) strict_mode: Option<&'static str>,
    /// The provider's tool for searching deferred ones.
    pub(crate) search: Option<fn() -> Value>,
}

impl Facts {
    /// The facts that a provider has unless its file says otherwise: no limits, and the keys of OpenAI.
    pub(super) const USUAL: Self = Self {
        takes: Takes { images: PICTURES, images_of_errors: true, marks_errors: true },
        images_of_users: PICTURES,
        results_key: None,
        instructions_key: None,
        messages_key: "messages",
        schema_key: "parameters",
        says_strict: &[true, false],
        dialect: Dialect::OpenAi,
        tools_at_most: usize::MAX,
        description_at_most: usize::MAX,
        needs_description: false,
        strict_at_most: StrictRoom { tools: usize::MAX, optional: usize::MAX, unions: usize::MAX },
        strict_mode: None,
        search: None,
    };
}

/// Adds a string to the one under a key.
pub(super) fn push_text(object: &mut Value, key: &str, more: &str) {
    let Value::Object(members) = object else { return };
    match members.entry(key).or_insert(Value::Null) {
        Value::String(text) => text.push_str(more),
        other => *other = more.into(),
    }
}

/// Sets a member of a reply that is put together.
pub(crate) fn keep(reply: &mut Value, key: &str, value: Value) {
    if !reply.is_object() {
        *reply = json!({});
    }
    if let Value::Object(members) = reply {
        members.insert(key.to_owned(), value);
    }
}

/// Returns the object at a place of a list, which grows up to there.
pub(super) fn grown(list: &mut Vec<Value>, place: u64) -> Option<&mut Value> {
    // Far more than any reply has.
    const MOST: usize = 4096;
    let place = usize::try_from(place).ok().filter(|place| *place < MOST)?;
    if list.len() <= place {
        list.resize_with(place + 1, || json!({}));
    }
    list.get_mut(place)
}

/// The author of a message, by its name in most APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    User,
    Assistant,
}

/// The limits on strict tools in a request: tools, optional parameters, and parameters with several types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StrictRoom {
    pub(super) tools: usize,
    pub(super) optional: usize,
    pub(super) unions: usize,
}

impl StrictRoom {
    /// The largest count in a message. References can multiply the parameters of a schema beyond any number.
    const MOST_SHOWN: usize = 1000;

    /// Takes the load of a strict tool.
    ///
    /// # Errors
    /// Fails with the reason if the remaining load is too small; nothing is taken then.
    pub(crate) fn take(&mut self, load: Load) -> Result<(), String> {
        if self.tools == 0 {
            return Err("the request already has the maximum number of strict tools; use a subset".to_owned());
        }
        let optional = ("optional parameters", load.optional, self.optional);
        let unions = ("parameters of several types", load.unions, self.unions);
        if let Some((what, wanted, left)) = [optional, unions].into_iter().find(|(_, wanted, left)| wanted > left) {
            let more = if wanted > Self::MOST_SHOWN { "more than " } else { "" };
            let wanted = wanted.min(Self::MOST_SHOWN);
            return Err(format!(
                "it has {more}{wanted} {what}, and the earlier strict tools leave room for {left}; use a subset"
            ));
        }
        let (optional, unions) = (self.optional - load.optional, self.unions - load.unions);
        *self = Self { tools: self.tools - 1, optional, unions };
        Ok(())
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
        let mut room = crate::Provider::Anthropic.format().facts().strict_at_most;
        assert!(room.take(load(25, 0)).unwrap_err().starts_with("it has 25 optional parameters"));
        assert!(room.take(load(0, 1000)).unwrap_err().starts_with("it has 1000 parameters of several types"));
        assert!(room.take(load(0, usize::MAX)).unwrap_err().starts_with("it has more than 1000 parameters"));
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
        let mut room = crate::Provider::OpenAiChat.format().facts().strict_at_most;
        assert!((0..1000).all(|_| room.take(load(100, 100)).is_ok()));
    }
}
