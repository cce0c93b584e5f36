//! Prompts and resource templates, and their names in Rust.

use std::collections::HashSet;

use mcp_bindgen_model::{TemplateVariable, UriTemplate};
use mcp_bindgen_schema::diagnostics::{Diagnostics, Listed, MALFORMED_PROMPT, MALFORMED_TEMPLATE, RENAMED, Reporter};
use serde_json::{Map, Value, json};

use super::builders::BUILDER;
use super::keys::unique_keys;
use crate::markdown::{first_sentence, is_in_name, sanitized};
use crate::names::{self, Style, first_free, identifiers};

/// The maximum number of arguments of a function. More are unusable, and slow to compile.
const MOST_VARIABLES: usize = 100;

/// A prompt, or a resource template.
#[derive(Debug)]
pub(crate) struct Offer<'s> {
    pub(crate) kind: OfferKind<'s>,
    /// The place in the snapshot's list.
    pub(crate) index: usize,
    pub(crate) wire: &'s str,
    item: &'s Map<String, Value>,
    pub(crate) idents: OfferIdents,
    pub(crate) title: Option<&'s str>,
    pub(crate) description: Option<&'s str>,
    /// The description as lines of documentation.
    pub(crate) said: Vec<String>,
    /// Its description, in a sentence.
    pub(crate) summary: Option<String>,
    /// The schema of an object with the parameters.
    pub(crate) schema: Value,
}

/// The parts that only prompts, or only resource templates have.
#[derive(Debug)]
pub(crate) enum OfferKind<'s> {
    Prompt(Vec<PromptArgument<'s>>),
    Template { uri_template: &'s str, mime_type: Option<&'s str> },
}

/// The names of a prompt or a resource template in Rust.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfferIdents {
    /// `prompt_review`
    pub(crate) method: String,
    /// `github_prompt_review`
    pub(crate) handler: String,
    /// `GithubReviewPrompt`
    pub(crate) params: String,
    /// `GithubReviewPromptBuilder`
    pub(crate) builder: String,
}

#[derive(Debug)]
pub(crate) struct PromptArgument<'s> {
    pub(crate) name: &'s str,
    pub(crate) title: Option<&'s str>,
    pub(crate) description: Option<&'s str>,
    pub(crate) is_required: bool,
}

impl Offer<'_> {
    pub(crate) fn listed(&self) -> Listed {
        match self.kind {
            OfferKind::Prompt(_) => Listed::Prompt,
            OfferKind::Template { .. } => Listed::ResourceTemplate,
        }
    }

    /// Returns `true` if an item of the list would be bound like this one again.
    fn is_repeated_by(&self, wire: &str, item: &Map<String, Value>, kind: &OfferKind<'_>) -> bool {
        self.wire == wire
            && match (&self.kind, kind) {
                (OfferKind::Template { uri_template, .. }, OfferKind::Template { uri_template: other, .. }) => {
                    uri_template == other
                }
                _ => self.item == item,
            }
    }
}

/// Returns the prompts, or the resource templates, that can be bound.
pub(super) fn read<'s>(listed: Listed, list: &'s [Value], diagnostics: &mut Diagnostics) -> Vec<Offer<'s>> {
    let is_prompt = listed == Listed::Prompt;
    let malformed = if is_prompt { MALFORMED_PROMPT } else { MALFORMED_TEMPLATE };
    let mut offers: Vec<Offer<'s>> = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let named = value.as_object().and_then(|item| Some((item, item.get("name")?.as_str()?)));
        let Some((item, wire)) = named.filter(|(_, name)| !name.is_empty()) else {
            let mut reporter = Reporter::of(listed, &format!("#{index}"), index);
            reporter.say(malformed, "", if value.is_object() { "it has no name" } else { "it is not an object" });
            diagnostics.extend(reporter.finish());
            continue;
        };
        let mut reporter = Reporter::of(listed, wire, index);
        if is_prompt && offers.iter().any(|known| known.wire == wire) {
            reporter.say(MALFORMED_PROMPT, "/name", "another prompt has the same name");
        }
        let read = if is_prompt { prompt(item, &mut reporter) } else { template(item, &mut reporter) };
        diagnostics.extend(reporter.finish());
        let Some((kind, schema)) = read else { continue };
        if offers.iter().any(|known| known.is_repeated_by(wire, item, &kind)) {
            continue;
        }
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        let (title, description) = (text("title"), text("description"));
        let says_more = |text: &&str| !is_in_name(text, wire);
        offers.push(Offer {
            kind,
            index,
            wire,
            item,
            idents: OfferIdents::default(),
            title,
            description,
            said: description.map(sanitized).unwrap_or_default(),
            summary: [description, title].into_iter().flatten().filter(says_more).find_map(first_sentence),
            schema,
        });
    }
    offers
}

/// Returns a prompt, and the schema of its arguments, if they are a list.
fn prompt<'s>(prompt: &'s Map<String, Value>, reporter: &mut Reporter) -> Option<(OfferKind<'s>, Value)> {
    let arguments = arguments(prompt, reporter)?;
    let properties = arguments.iter().map(|argument| {
        let mut schema = Map::from_iter([("type".to_owned(), json!("string"))]);
        let texts = [("title", argument.title), ("description", argument.description)];
        schema.extend(texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into()))));
        (argument.name, Value::Object(schema), argument.is_required)
    });
    let schema = object(properties);
    Some((OfferKind::Prompt(arguments), schema))
}

/// Returns the arguments of a prompt, or `None` if they are not a list.
fn arguments<'s>(prompt: &'s Map<String, Value>, reporter: &mut Reporter) -> Option<Vec<PromptArgument<'s>>> {
    let list = match prompt.get("arguments") {
        None | Some(Value::Null) => return Some(Vec::new()),
        Some(Value::Array(list)) if list.len() <= MOST_VARIABLES => list,
        Some(Value::Array(list)) => {
            reporter.say(MALFORMED_PROMPT, "/arguments", format!("{} arguments are too many", list.len()));
            return None;
        }
        Some(_) => {
            reporter.say(MALFORMED_PROMPT, "/arguments", "they are not an array");
            return None;
        }
    };
    let mut arguments: Vec<PromptArgument<'s>> = Vec::new();
    for (place, item) in list.iter().enumerate() {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        let fault = match text("name") {
            None => Some("an argument has no name"),
            Some(name) if arguments.iter().any(|known| known.name == name) => Some("duplicate argument"),
            Some(_) => None,
        };
        match (fault, text("name")) {
            (None, Some(name)) => arguments.push(PromptArgument {
                name,
                title: text("title"),
                description: text("description"),
                is_required: item.get("required") == Some(&Value::Bool(true)),
            }),
            (fault, _) => {
                reporter.say(MALFORMED_PROMPT, &format!("/arguments/{place}"), fault.unwrap_or_default());
            }
        }
    }
    Some(arguments)
}

/// Returns a resource template, and the schema of its variables, if it can be filled in.
fn template<'s>(template: &'s Map<String, Value>, reporter: &mut Reporter) -> Option<(OfferKind<'s>, Value)> {
    let text = |key: &str| template.get(key).and_then(Value::as_str);
    let Some(uri_template) = text("uriTemplate") else {
        reporter.say(MALFORMED_TEMPLATE, "", "it has no `uriTemplate`");
        return None;
    };
    let variables =
        variables(uri_template).map_err(|message| reporter.say(MALFORMED_TEMPLATE, "/uriTemplate", message)).ok()?;
    let properties = variables.iter().map(|variable| {
        let text = json!({ "type": "string" });
        let schema = if variable.is_list { json!({ "type": "array", "items": text }) } else { text };
        (variable.name.as_str(), schema, variable.is_required)
    });
    Some((OfferKind::Template { uri_template, mime_type: text("mimeType") }, object(properties)))
}

fn variables(text: &str) -> Result<Vec<TemplateVariable>, String> {
    let variables = UriTemplate::parse(text).map_err(|error| error.to_string())?.variables();
    match variables.len() {
        0..=MOST_VARIABLES => Ok(variables),
        many => Err(format!("{many} variables are too many")),
    }
}

/// Returns the schema of an object with these properties.
fn object<'p>(properties: impl Iterator<Item = (&'p str, Value, bool)>) -> Value {
    let mut declared = Map::new();
    let mut required = Vec::new();
    for (name, schema, is_required) in properties {
        declared.insert(name.to_owned(), schema);
        if is_required {
            required.push(Value::from(name));
        }
    }
    json!({ "type": "object", "properties": declared, "required": required })
}

/// The names that prompts and resource templates must not have.
pub(super) struct Taken<'t> {
    /// The prefix of handlers.
    pub(super) prefix: Option<&'t str>,
    /// The methods of tools.
    pub(super) methods: HashSet<&'t str>,
    /// All types, and the other names of the module.
    pub(super) types: HashSet<&'t str>,
}

/// Names the offers of one list; names of tools take precedence.
pub(super) fn name(offers: &mut [Offer<'_>], taken: &Taken<'_>, diagnostics: &mut Diagnostics) {
    let Some(listed) = offers.first().map(Offer::listed) else { return };
    let (word, suffix, longer) = match listed {
        Listed::Prompt => ("prompt", "Prompt", "PromptArguments"),
        _ => ("resource", "Resource", "ResourceVariables"),
    };
    let keys = unique_keys(&offers.iter().map(|offer| (offer.wire, offer.item)).collect::<Vec<_>>());
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let bases = names::offers(word, &keys, taken.methods.iter().copied());
    let bases_read: Vec<&str> = bases.iter().map(String::as_str).collect();
    let types = identifiers(Style::Pascal, &bases_read, &[], word);
    let handler_lead = taken.prefix.map(|prefix| format!("{prefix}_")).unwrap_or_default();
    let type_lead = taken.prefix.map(|prefix| Style::Pascal.apply(prefix)).unwrap_or_default();
    let mut given: HashSet<String> = HashSet::new();
    let mut order: Vec<(usize, &String, &String)> =
        bases.iter().zip(&types).enumerate().map(|(place, (base, name))| (place, base, name)).collect();
    // Ties do not depend on the order of the list.
    order.sort_by_key(|(_, base, _)| *base);
    for (place, base, name) in order {
        let Some(offer) = offers.get_mut(place) else { continue };
        let lead =
            if type_lead.is_empty() && name.starts_with(|first: char| first.is_ascii_digit()) { "N" } else { "" };
        // `args_prompt` is a prompt already.
        let says_so = *base == word || base.strip_suffix(word).is_some_and(|rest| rest.ends_with('_'));
        let suffixes = if says_so { ["", suffix, longer] } else { [suffix, longer, longer] };
        let candidates = suffixes.map(|suffix| {
            let name = format!("{type_lead}{lead}{name}{suffix}");
            Style::Pascal.within_limit(name.clone(), &name)
        });
        let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
        let params = first_free(&candidates, "X", |name| taken.types.contains(name) || given.contains(name));
        given.insert(params.clone());
        let builder = format!("{params}{BUILDER}");
        let builder = first_free(&[&builder], "X", |name| taken.types.contains(name));
        let (method, handler) = (format!("{word}_{base}"), format!("{handler_lead}{word}_{base}"));
        offer.idents = OfferIdents { method, handler, params, builder };
        if *base != Style::Snake.apply(offer.wire) {
            let mut reporter = Reporter::of(listed, offer.wire, offer.index);
            reporter.say(RENAMED, "/name", format!("bound as `{}`", offer.idents.method));
            diagnostics.extend(reporter.finish());
        }
    }
}
