//! Prompts and resource templates, and their names in Rust.

use std::collections::HashSet;

use mcp_bindgen_model::{Snapshot, UriTemplate};
use mcp_bindgen_schema::diagnostics::{Diagnostics, Listed, MALFORMED_PROMPT, MALFORMED_TEMPLATE, RENAMED, Reporter};
use serde_json::{Map, Value, json};

use super::idents::{OwnNames, reserved, unique_keys};
use super::{BUILDER, ToolPlan, report, schemas};
use crate::markdown::{first_sentence, is_in_name, sanitized};
use crate::names::{self, Style, first_free, identifiers};
use crate::table::sorted;

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
fn read<'s>(listed: Listed, list: &'s [Value], diagnostics: &mut Diagnostics) -> Vec<Offer<'s>> {
    let is_prompt = listed == Listed::Prompt;
    let malformed = if is_prompt { MALFORMED_PROMPT } else { MALFORMED_TEMPLATE };
    let mut offers: Vec<Offer<'s>> = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let named = value.as_object().and_then(|item| Some((item, item.get("name")?.as_str()?)));
        let Some((item, wire)) = named.filter(|(_, name)| !name.is_empty()) else {
            let fault = if value.is_object() { "it has no name" } else { "it is not an object" };
            report(Reporter::of(listed, &format!("#{index}"), index), malformed, "", fault, diagnostics);
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
    let property = |argument: &PromptArgument<'s>| {
        let mut schema = Map::from_iter([("type".to_owned(), json!("string"))]);
        let texts = [("title", argument.title), ("description", argument.description)];
        schema.extend(texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into()))));
        (argument.name, Value::Object(schema), argument.is_required)
    };
    let schema = object(arguments.iter().map(property).collect());
    Some((OfferKind::Prompt(arguments), schema))
}

/// Returns the arguments of a prompt, or `None` if they are not a list.
fn arguments<'s>(prompt: &'s Map<String, Value>, reporter: &mut Reporter) -> Option<Vec<PromptArgument<'s>>> {
    let list = match prompt.get("arguments") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(list)) if list.len() <= MOST_VARIABLES => list.as_slice(),
        other => {
            let many = other.and_then(Value::as_array).map(|list| format!("{} arguments are too many", list.len()));
            let fault = many.unwrap_or_else(|| "they are not an array".to_owned());
            reporter.say(MALFORMED_PROMPT, "/arguments", fault);
            return None;
        }
    };
    let mut arguments: Vec<PromptArgument<'s>> = Vec::new();
    for (place, item) in list.iter().enumerate() {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        let fault = match text("name") {
            Some(name) if !arguments.iter().any(|known| known.name == name) => {
                arguments.push(PromptArgument {
                    name,
                    title: text("title"),
                    description: text("description"),
                    is_required: item.get("required") == Some(&Value::Bool(true)),
                });
                continue;
            }
            Some(_) => "duplicate argument",
            None => "an argument has no name",
        };
        reporter.say(MALFORMED_PROMPT, &format!("/arguments/{place}"), fault);
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
    let variables = UriTemplate::parse(uri_template).map(|parsed| parsed.variables());
    let variables = match variables {
        Ok(variables) if variables.len() <= MOST_VARIABLES => variables,
        other => {
            let fault = match other {
                Ok(many) => format!("{} variables are too many", many.len()),
                Err(error) => error.to_string(),
            };
            reporter.say(MALFORMED_TEMPLATE, "/uriTemplate", fault);
            return None;
        }
    };
    let mut properties = Vec::new();
    for variable in &variables {
        let text = json!({ "type": "string" });
        let schema = if variable.is_list { json!({ "type": "array", "items": text }) } else { text };
        properties.push((variable.name.as_str(), schema, variable.is_required));
    }
    Some((OfferKind::Template { uri_template, mime_type: text("mimeType") }, object(properties)))
}

/// Returns the schema of an object with these properties.
fn object(properties: Vec<(&str, Value, bool)>) -> Value {
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

/// Returns the prompts, then the resource templates, which take no name of a tool's.
pub(super) fn all<'s>(
    snapshot: &'s Snapshot,
    tools: &[ToolPlan<'s>],
    own: &OwnNames,
    diagnostics: &mut Diagnostics,
) -> Vec<Offer<'s>> {
    let mut prompts = read(Listed::Prompt, &snapshot.prompts, diagnostics);
    let mut templates = read(Listed::ResourceTemplate, &snapshot.resource_templates, diagnostics);
    if prompts.is_empty() && templates.is_empty() {
        return prompts;
    }
    let mut names = [&reserved()[..], &own.types()].concat();
    for schema in schemas(tools) {
        names.append(&mut schema.names());
        names.extend(schema.order.iter().filter_map(|id| schema.builders.get(*id)).map(String::as_str));
    }
    let taken: HashSet<String> = names.into_iter().map(str::to_owned).collect();
    let methods: Vec<&str> = tools.iter().map(|tool| tool.idents.method.as_str()).collect();
    name(&mut prompts, &methods, &taken, own, diagnostics);
    name(&mut templates, &methods, &taken, own, diagnostics);
    prompts.append(&mut templates);
    prompts
}

/// Names the offers of one list; the methods and `taken` types of tools take precedence.
fn name(
    offers: &mut [Offer<'_>],
    methods: &[&str],
    taken: &HashSet<String>,
    own: &OwnNames,
    diagnostics: &mut Diagnostics,
) {
    let Some(listed) = offers.first().map(Offer::listed) else { return };
    let (word, suffix, longer) = match listed {
        Listed::Prompt => ("prompt", "Prompt", "PromptArguments"),
        _ => ("resource", "Resource", "ResourceVariables"),
    };
    let items: Vec<_> = offers.iter().map(|offer| (offer.wire, offer.item)).collect();
    let keys = unique_keys(&items);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let bases = names::offers(word, &keys, methods.iter().copied());
    let bases_read: Vec<&str> = bases.iter().map(String::as_str).collect();
    let types = identifiers(Style::Pascal, &bases_read, &[], word);
    let mut given: HashSet<String> = HashSet::new();
    // Ties do not depend on the order of the list.
    for place in sorted(bases.len(), &|left, right| bases.get(left).cmp(&bases.get(right))) {
        let (Some(offer), Some(base), Some(name)) = (offers.get_mut(place), bases.get(place), types.get(place)) else {
            continue;
        };
        let stem = own.type_stem(name);
        // `args_prompt` is a prompt already.
        let says_so = *base == word || base.strip_suffix(word).is_some_and(|rest| rest.ends_with('_'));
        let mut candidates = Vec::new();
        for suffix in if says_so { ["", suffix, longer] } else { [suffix, longer, longer] } {
            let name = format!("{stem}{suffix}");
            candidates.push(Style::Pascal.within_limit(name.clone(), &name));
        }
        let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
        let params = first_free(&candidates, "X", |name| taken.contains(name) || given.contains(name));
        given.insert(params.clone());
        let builder = format!("{params}{BUILDER}");
        let builder = first_free(&[&builder], "X", |name| taken.contains(name));
        let (method, handler) = (format!("{word}_{base}"), format!("{}{word}_{base}", own.handler_lead));
        offer.idents = OfferIdents { method, handler, params, builder };
        if *base != Style::Snake.apply(offer.wire) {
            let fault = format!("bound as `{}`", offer.idents.method);
            report(Reporter::of(listed, offer.wire, offer.index), RENAMED, "/name", &fault, diagnostics);
        }
    }
}
