//! The definitions of tools for a provider.

use serde_json::Value;

use super::Toolset;
use super::entry::Entry;
use super::error::{DiagnosticKind, ToolDiagnostic};
use super::rewrites::Ready;
use crate::Provider;
use crate::json::bytes;
use crate::provider::{Declaration, StrictRoom};
use crate::text::{line, plain, shortened};

/// The share by which the type of results may enlarge a declaration, and the number of bytes for small ones.
const SHARE_OF_ANSWERS: usize = 20;
const LEAST_FOR_ANSWERS: usize = 30;
/// The words before the type of results.
const RETURNS: &str = "Returns ";
/// The end of a description that was cut.
const CUT: &str = " (description truncated)";
/// The space for a rewrite's losses in a truncated description.
const LOSSES_AT_MOST: usize = 512;

/// The tools of a toolset in a provider's format. They are in the order of the toolset, and equal toolsets have equal
/// definitions, so that prompt caches stay valid.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Definitions {
    /// The value of `tools` in the request: a declaration for each tool with OpenAI and Anthropic, one object with
    /// all declarations with Gemini.
    pub tools: Vec<Value>,
    /// Diagnostics, in the order of the tools: why a tool is not strict, its description was truncated, or the
    /// request has no room for it.
    pub diagnostics: Vec<ToolDiagnostic>,
    /// The mode to set in the request, if the provider needs one to enforce schemas: `VALIDATED` for Gemini's
    /// `toolConfig.functionCallingConfig.mode`, if all tools are strict.
    pub mode: Option<&'static str>,
}

impl Definitions {
    /// Returns the declaration of each tool, in order.
    pub fn declarations(&self) -> impl Iterator<Item = &Value> {
        self.tools.iter().flat_map(|tool| match tool.get("functionDeclarations").and_then(Value::as_array) {
            Some(declarations) => declarations.as_slice(),
            None => std::slice::from_ref(tool),
        })
    }
}

impl Toolset {
    /// Returns the tools in a provider's format, in the order of the toolset.
    ///
    /// A tool is strict if the provider supports that and its subset of JSON Schema can express the tool's schema;
    /// otherwise a diagnostic has the reason. One tool never makes the request invalid. If the provider limits the
    /// strict tools of a request, as Anthropic does, the first ones that fit are strict: appending a tool never
    /// changes earlier ones, and a cached prefix stays valid. `strict` is always set for OpenAI, because Responses
    /// would otherwise rewrite schemas.
    ///
    /// If the provider limits the number of tools (Chat Completions 128, Gemini 512), the first ones are included and
    /// diagnostics name the others; use a [`subset`](Self::subset) or a deferred toolset instead.
    ///
    /// Schemas are converted once for each provider, so this is cheap enough for every request.
    ///
    /// ```
    /// use mcp_bindgen_agents::{Provider, Toolset};
    /// # let toolset = Toolset::builder().build().unwrap();
    ///
    /// let definitions = toolset.definitions(Provider::OpenAiResponses);
    /// let request = serde_json::json!({ "model": "gpt-5", "input": "..", "tools": definitions.tools });
    /// # let _ = request;
    /// ```
    #[must_use]
    pub fn definitions(&self, provider: Provider) -> Definitions {
        let mut defining = Defining {
            provider,
            room: provider.format().strict_at_most,
            are_all_strict: true,
            diagnostics: Vec::new(),
        };
        let format = provider.format();
        let at_most = format.tools_at_most.unwrap_or(usize::MAX);
        let mut tools = Vec::with_capacity(self.entries.len().min(at_most));
        for (index, entry) in self.entries.iter().enumerate() {
            if index < at_most {
                tools.push(defining.declared(entry));
            } else {
                let why = format!(
                    "the provider accepts {at_most} tools, and the set has {}; use a subset, or `find_tools`",
                    self.entries.len()
                );
                defining.say(entry, DiagnosticKind::TooMany, "", why);
            }
        }
        let mode = format.strict_mode.filter(|_| defining.are_all_strict && !tools.is_empty());
        Definitions { tools: (format.list)(tools), diagnostics: defining.diagnostics, mode }
    }
}

struct Defining {
    provider: Provider,
    room: StrictRoom,
    are_all_strict: bool,
    diagnostics: Vec<ToolDiagnostic>,
}

impl Defining {
    fn declared(&mut self, entry: &Entry) -> Value {
        let ready = self.chosen(entry);
        if ready.is_any_object {
            self.say(entry, DiagnosticKind::AnyObject, "", "its schema is not an object schema".to_owned());
        }
        self.are_all_strict &= ready.rewrite.is_strict;
        let description = self.description(entry, ready);
        (self.provider.format().declaration)(Declaration {
            name: &entry.public,
            description: description.as_deref(),
            schema: ready.rewrite.schema.clone(),
            is_strict: ready.rewrite.is_strict,
        })
    }

    fn chosen<'e>(&mut self, entry: &'e Entry) -> &'e Ready {
        match entry.rewrites.strict(&entry.input_schema, self.provider) {
            Ok(ready) if ready.rewrite.is_strict => match self.room.take(ready.rewrite.load) {
                Ok(()) => return ready,
                Err(why) => self.say(entry, DiagnosticKind::NoRoom, "", why),
            },
            // The loose schema has its own diagnostic.
            Ok(_) => {}
            Err(not) => self.say(entry, DiagnosticKind::NotStrict, &not.pointer, not.why.clone()),
        }
        entry.rewrites.loose(&entry.input_schema, self.provider)
    }

    /// Returns the description for the model: the tool's own, and the parts of its schema that could not be expressed.
    fn description(&mut self, entry: &Entry, ready: &Ready) -> Option<String> {
        let said = entry.description.as_deref().map(plain).filter(|text| !text.is_empty());
        let said = said.or_else(|| entry.title.as_deref().map(line).filter(|text| !text.is_empty()));
        let losses = match ready.unsaid.as_slice() {
            [] => String::new(),
            unsaid => format!("\n\nOf the arguments:\n- {}", unsaid.join("\n- ")),
        };
        let said = said.or_else(|| {
            let needs = self.provider.format().needs_description || !losses.is_empty();
            needs.then(|| format!("`{}` of `{}`.", line(&entry.tool), line(&entry.server)))
        })?;
        let size = said.len() + bytes(&ready.rewrite.schema) + losses.len();
        let answers = entry.answers.within((size / SHARE_OF_ANSWERS).max(LEAST_FOR_ANSWERS) - RETURNS.len());
        let answers = answers.map_or_else(String::new, |answers| format!("\n{RETURNS}{answers}"));
        let whole = format!("{said}{losses}{answers}");
        let at_most = self.provider.format().description_at_most.unwrap_or(usize::MAX);
        if whole.chars().count() <= at_most {
            return Some(whole);
        }
        let whole = format!("{said}{losses}");
        let length = whole.chars().count();
        if length <= at_most {
            return Some(whole);
        }
        let losses = match losses.chars().count() {
            ..=LOSSES_AT_MOST => losses,
            _ => shortened(&losses, LOSSES_AT_MOST),
        };
        let room = at_most - CUT.chars().count() - losses.chars().count();
        let why = format!("it has {length} characters, and the provider accepts {at_most}");
        self.say(entry, DiagnosticKind::DescriptionCut, "", why);
        Some(match said.chars().count() {
            // The losses alone were too long, and end in a mark.
            count if count <= room => format!("{said}{losses}"),
            _ => format!("{}{CUT}{losses}", shortened(&said, room)),
        })
    }

    fn say(&mut self, entry: &Entry, kind: DiagnosticKind, pointer: &str, why: String) {
        self.diagnostics.push(ToolDiagnostic::new(kind, entry.identity(), pointer, why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_bindgen_runtime::Fake;
    use serde_json::json;

    /// Returns a set of tools with these loads, each of which could be strict.
    fn set(loads: &[(usize, usize)]) -> Toolset {
        let listed: Vec<Value> = (0..loads.len()).map(|n| json!({ "name": format!("t{n:02}") })).collect();
        let set = Toolset::builder().server("s", &listed, Fake::new()).build().unwrap();
        for (entry, (optional, unions)) in set.entries().iter().zip(loads) {
            entry.rewrites.presume_strict(Provider::Anthropic, *optional, *unions);
            entry.rewrites.presume_strict(Provider::OpenAiResponses, *optional, *unions);
        }
        set
    }

    fn strict(set: &Toolset, provider: Provider) -> Vec<bool> {
        set.definitions(provider).tools.iter().map(|tool| tool.get("strict") == Some(&json!(true))).collect()
    }

    #[test]
    fn anthropic_receives_only_the_first_tools_as_strict() {
        let many = set(&[(1, 0); 30]);
        let expected: Vec<bool> = (0..30).map(|n| n < 20).collect();
        assert_eq!(strict(&many, Provider::Anthropic), expected);
        let definitions = many.definitions(Provider::Anthropic);
        let no_room: Vec<_> = definitions.diagnostics.iter().filter(|d| d.kind == DiagnosticKind::NoRoom).collect();
        assert_eq!((no_room.len(), no_room[0].tool.as_str()), (10, "t20"));
        assert_eq!(strict(&many, Provider::OpenAiResponses), [true; 30]);
    }

    #[test]
    fn gemini_uses_validated_mode_only_for_strict_tools() {
        let typed =
            json!({ "name": "a", "inputSchema": { "type": "object", "properties": { "n": { "type": "integer" } } } });
        let free = json!({ "name": "b", "inputSchema": { "type": "object", "additionalProperties": true } });
        let mode = |tools: &[Value], provider| {
            let set = Toolset::builder().server("s", tools, Fake::new()).build().unwrap();
            set.definitions(provider).mode
        };
        assert_eq!(mode(std::slice::from_ref(&typed), Provider::Gemini), Some("VALIDATED"));
        assert_eq!(mode(&[typed.clone(), free], Provider::Gemini), None);
        assert_eq!(mode(&[typed], Provider::OpenAiResponses), None);
        assert_eq!(mode(&[], Provider::Gemini), None);
    }

    #[test]
    fn tool_that_does_not_fit_uses_no_strict_capacity() {
        let mixed = set(&[(10, 0), (25, 0), (0, 16), (15, 0), (14, 0), (0, 1), (0, 0)]);
        assert_eq!(strict(&mixed, Provider::Anthropic), [true, false, true, false, true, false, true]);
        let why: Vec<String> =
            mixed.definitions(Provider::Anthropic).diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(why.len(), 3, "{why:?}");
        assert!(why[0].starts_with("s/t01: not strict: it has 25 optional parameters"), "{why:?}");
        assert!(why[2].contains("1 parameters of several types") && why[2].contains("room for 0"), "{why:?}");
    }

    #[test]
    fn added_tools_do_not_change_earlier_definitions() {
        let first = set(&[(10, 0), (15, 0), (0, 0)]);
        let grown = first.extend().server("z", &[json!({ "name": "small" })], Fake::new()).build().unwrap();
        let (before, after) = (first.definitions(Provider::Anthropic), grown.definitions(Provider::Anthropic));
        assert_eq!(before.tools[..], after.tools[..3]);
    }
}
