//! The definitions of tools for a provider, and their size.

#[cfg(feature = "tokens")]
use serde::Serialize;
use serde_json::Value;

use super::Toolset;
use super::entry::{Entry, Ready};
use super::error::{DiagnosticKind, ToolDiagnostic};
use crate::Provider;
use crate::json::bytes;
use crate::provider::Facts;
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
        let (format, facts) = (provider.format(), provider.format().facts());
        let (mut room, mut are_all_strict) = (facts.strict_at_most, true);
        let (mut tools, mut diagnostics) = (Vec::new(), Vec::new());
        for (index, entry) in self.entries.iter().enumerate() {
            let mut say = |kind, pointer: &str, why: String| {
                diagnostics.push(ToolDiagnostic::new(kind, entry.identity(), pointer, why));
            };
            let most = facts.tools_at_most;
            if index >= most {
                let all = self.len();
                let why =
                    format!("the provider accepts {most} tools, and the set has {all}; use a subset, or `find_tools`");
                say(DiagnosticKind::TooMany, "", why);
                continue;
            }
            let mut strict = None;
            match entry.strict(provider) {
                Ok(ready) if ready.rewrite.is_strict => match room.take(ready.rewrite.load) {
                    Ok(()) => strict = Some(ready),
                    Err(why) => say(DiagnosticKind::NoRoom, "", why),
                },
                // The loose schema has its own diagnostic.
                Ok(_) => {}
                Err(not) => say(DiagnosticKind::NotStrict, &not.pointer, not.why.clone()),
            }
            let ready = strict.unwrap_or_else(|| entry.loose(provider));
            if ready.is_any_object {
                say(DiagnosticKind::AnyObject, "", "its schema is not an object schema".to_owned());
            }
            let cut = |why| say(DiagnosticKind::DescriptionCut, "", why);
            let description = description(entry, ready, &facts, cut);
            let (schema, is_strict) = (ready.rewrite.schema.clone(), ready.rewrite.is_strict);
            are_all_strict &= is_strict;
            tools.push(format.declaration(&entry.public, description.as_deref(), schema, is_strict));
        }
        let mode = facts.strict_mode.filter(|_| are_all_strict && !tools.is_empty());
        Definitions { tools: format.list(tools), diagnostics, mode }
    }
}

/// Returns the description for the model: the tool's own, and the parts of its schema that could not be expressed. `cut`
/// gets the reason if the description is too long for the provider.
fn description(entry: &Entry, ready: &Ready, facts: &Facts, cut: impl FnOnce(String)) -> Option<String> {
    let losses = match ready.unsaid.as_slice() {
        [] => String::new(),
        unsaid => format!("\n\nOf the arguments:\n- {}", unsaid.join("\n- ")),
    };
    let own = [entry.description.as_deref().map(plain), entry.title.as_deref().map(line)];
    let said = own.into_iter().flatten().find(|text| !text.is_empty()).or_else(|| {
        let needs = facts.needs_description || !losses.is_empty();
        needs.then(|| format!("`{}` of `{}`.", line(&entry.tool), line(&entry.server)))
    })?;
    let size = said.len() + bytes(&ready.rewrite.schema) + losses.len();
    let answers = entry.answers.within((size / SHARE_OF_ANSWERS).max(LEAST_FOR_ANSWERS) - RETURNS.len());
    let answers = answers.map_or_else(String::new, |answers| format!("\n{RETURNS}{answers}"));
    let most = facts.description_at_most;
    let (with_answers, whole) = (format!("{said}{losses}{answers}"), format!("{said}{losses}"));
    if with_answers.chars().count() <= most {
        return Some(with_answers);
    }
    let length = whole.chars().count();
    if length <= most {
        return Some(whole);
    }
    cut(format!("it has {length} characters, and the provider accepts {most}"));
    let losses = shortened(&losses, LOSSES_AT_MOST);
    let room = most - CUT.chars().count() - losses.chars().count();
    Some(match said.chars().count() {
        // The losses alone were too long, and end in a mark.
        count if count <= room => format!("{said}{losses}"),
        _ => format!("{}{CUT}{losses}", shortened(&said, room)),
    })
}

/// The tokenizer for `tokens` of a [`Cost`]: that of OpenAI's models since GPT-4o. The tokenizers of other providers
/// are not public: their totals can differ by tens of percent, the shares of tools hardly.
#[cfg(feature = "tokens")]
pub const TOKENIZER: &str = "o200k_base";

/// The size of a toolset in a request, as compact JSON. Use it to compare toolsets and tools. Providers convert the
/// JSON for their models; for billing see their usage data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// The total in bytes.
    pub bytes: usize,
    /// The total in tokens, counted with [`TOKENIZER`].
    #[cfg(feature = "tokens")]
    pub tokens: usize,
    /// The tools, in the order of the request.
    pub tools: Vec<ToolCost>,
}

/// The size of one tool in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCost {
    /// The tool's name in the toolset.
    pub name: String,
    /// The declaration in bytes.
    pub bytes: usize,
    /// The declaration in tokens, counted with [`TOKENIZER`].
    #[cfg(feature = "tokens")]
    pub tokens: usize,
}

impl Toolset {
    /// Returns the size of the definitions for a provider in bytes and, with feature `tokens`, in tokens. The first
    /// call loads the tokenizer, which takes a fraction of a second.
    ///
    /// ```
    /// use mcp_bindgen_agents::{Provider, Toolset};
    ///
    /// let nothing = Toolset::builder().build()?;
    /// assert_eq!(nothing.cost(Provider::Anthropic).bytes, "[]".len());
    /// # Ok::<(), mcp_bindgen_agents::ToolsetError>(())
    /// ```
    #[must_use]
    pub fn cost(&self, provider: Provider) -> Cost {
        let definitions = self.definitions(provider);
        let tools = self.entries.iter().zip(definitions.declarations()).map(|(entry, declaration)| ToolCost {
            name: entry.public.clone(),
            bytes: bytes(declaration),
            #[cfg(feature = "tokens")]
            tokens: tokens(declaration),
        });
        Cost {
            tools: tools.collect(),
            bytes: bytes(&definitions.tools),
            #[cfg(feature = "tokens")]
            tokens: tokens(&definitions.tools),
        }
    }
}

#[cfg(feature = "tokens")]
fn tokens<T: Serialize + ?Sized>(value: &T) -> usize {
    tokens_of(&serde_json::to_string(value).unwrap_or_default())
}

/// Returns how many tokens a text has.
#[cfg(feature = "tokens")]
pub(super) fn tokens_of(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_bindgen_runtime::Fake;
    use mcp_bindgen_schema::provider::loose;
    use serde_json::json;

    /// Pretends that the schema is strict with this load.
    fn presume_strict(entry: &Entry, provider: Provider, optional: usize, unions: usize) {
        let (rewritten, dialect) = entry.rewrites.of(provider);
        let mut rewrite = loose(&json!({ "type": "object", "properties": {} }), dialect);
        rewrite.is_strict = true;
        (rewrite.load.optional, rewrite.load.unions) = (optional, unions);
        let is_new = rewritten.strict.set(Ok(Ready::of(rewrite))).is_ok();
        assert!(is_new, "it was rewritten before");
    }

    /// Returns a set of tools with these loads, each of which could be strict.
    fn set(loads: &[(usize, usize)]) -> Toolset {
        let listed: Vec<Value> = (0..loads.len()).map(|n| json!({ "name": format!("t{n:02}") })).collect();
        let set = Toolset::builder().server("s", &listed, Fake::new()).build().unwrap();
        for (entry, (optional, unions)) in set.entries.iter().zip(loads) {
            presume_strict(entry, Provider::Anthropic, *optional, *unions);
            presume_strict(entry, Provider::OpenAiResponses, *optional, *unions);
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

    /// OpenAI's own tokenizer is the reference.
    #[cfg(feature = "tokens")]
    #[test]
    fn tokens_are_those_of_the_named_tokenizer() {
        assert_eq!(bpe_openai::o200k_base().count("hello world"), 2);
        // Hostile text costs time in its length, not more.
        assert!(tokens(&" ".repeat(200_000)) > 1);
    }
}
