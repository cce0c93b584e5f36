//! The translation of a whole tool list, before tokens: every tool's shapes and names.

#[cfg(feature = "format")]
mod alike_shapes;
mod derives;
mod extern_types;
mod idents;
mod offers;
mod place;
mod rules;
mod schema_plan;
mod shared;

use std::collections::HashMap;
use std::sync::LazyLock;

use mcp_bindgen_model::{Overridden, Snapshot, Types, UnknownKeys, Viewed, side_by_side};
use mcp_bindgen_schema::diagnostics::{
    Code, DUPLICATE_TOOL, Diagnostics, MALFORMED_INPUT, MALFORMED_OUTPUT, MALFORMED_TOOL, RENAMED, Reporter,
};
use mcp_bindgen_schema::{Presence, Role, Shape, ShapeId};
use proc_macro2::Ident;
use serde_json::{Map, Value};

#[cfg(feature = "format")]
pub use alike_shapes::{AlikePlace, AlikeShapes};
pub(crate) use derives::{Derives, Standard};
pub(crate) use extern_types::ExternTypes;
pub(crate) use idents::ToolIdents;
use idents::{OwnNames, reserved, unique_keys};
pub(crate) use offers::{Offer, OfferIdents, OfferKind};
pub(crate) use schema_plan::{SchemaPlan, Spot};
use shared::{Sharing, TypeAt};

use crate::markdown::{first_sentence, is_in_name, sanitized};
use crate::names::{Wanted, renamed_types};
use crate::options::Options;
use crate::patterns::tool_names;
use crate::rules::{EXTERN, RuleFault, SHARED, Switches};
use crate::table::Table;

/// The number of tools from which reading takes longer than starting a thread.
const WORTH_A_THREAD: usize = 32;

/// A tool list, translated.
#[derive(Debug)]
pub(crate) struct Plan<'s> {
    pub(crate) server: String,
    pub(crate) module: Ident,
    /// The names beside those of tools.
    pub(crate) own: OwnNames,
    pub(crate) tools: Vec<ToolPlan<'s>>,
    /// The prompts, then the resource templates.
    pub(crate) offers: Vec<Offer<'s>>,
    pub(crate) diagnostics: Diagnostics,
    /// The user's types in place of definitions.
    pub(crate) extern_types: ExternTypes,
    /// The derives of the user for every type.
    pub(crate) derives: Derives,
    pub(crate) switches: Switches,
    /// The rules of the user that cannot hold.
    pub(crate) faults: Vec<RuleFault>,
}

impl<'s> Plan<'s> {
    pub(crate) fn new(snapshot: &'s Snapshot, options: &Options) -> Self {
        let mut diagnostics = Diagnostics::default();
        let entries = Entry::collect(snapshot, options, &mut diagnostics);
        let own = OwnNames::new(options);
        let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        let mut faults = Vec::new();
        let given = rules::tool_names(options, &keys, &mut faults);
        let idents = ToolIdents::all(snapshot, options, &keys, &given, &own);
        let is_native = options.server.types == Types::Native;
        // These only affect the generator's own types.
        let rules = |option| if is_native { options.rules.of(option) } else { Vec::new() };
        let extern_types = ExternTypes::new(rules(EXTERN), &mut faults);
        let around = extern_types.pointers();
        let switches = options.rules.switches();
        let checked = switches.checked && is_native;
        let pairs: Vec<_> = entries.iter().zip(&idents).collect();
        let plan =
            |(entry, idents): &(&Entry<'s>, &ToolIdents)| ToolPlan::new(snapshot, entry, idents, &around, checked);
        let mut tools: Vec<ToolPlan<'s>> = Vec::with_capacity(entries.len());
        for (tool, said) in side_by_side(&pairs, WORTH_A_THREAD, plan) {
            diagnostics.extend(said);
            tools.push(tool);
        }
        extern_types.report_idle(&tools, &mut faults);
        let every = if options.rules.is_empty() { Vec::new() } else { tool_names(snapshot) };
        let sharing = Sharing::new(&mut tools, rules(SHARED), &every, &own, &mut faults);
        name_types(&mut tools, own.types(), &sharing, &mut diagnostics);
        if switches.named {
            name_builders(&mut tools, &own.types());
        }
        if options.server.unknown == UnknownKeys::Keep {
            tools.iter_mut().flat_map(ToolPlan::schemas_mut).for_each(SchemaPlan::keep_unknown);
        }
        let derives = rules::apply(options, &mut tools, &sharing, &every, &mut faults);
        let offers = offers::all(snapshot, &tools, &own, &mut diagnostics);
        Self {
            server: options.server.name.clone(),
            module: options.module_ident(),
            own,
            tools,
            offers,
            diagnostics,
            extern_types,
            derives,
            switches,
            faults,
        }
    }
}

/// An entry of the tool list that is a tool.
struct Entry<'s> {
    index: usize,
    repeats: Vec<usize>,
    wire: &'s str,
    /// See [`ToolPlan::key`].
    key: String,
    tool: &'s Map<String, Value>,
}

impl<'s> Entry<'s> {
    fn collect(snapshot: &'s Snapshot, options: &Options, diagnostics: &mut Diagnostics) -> Vec<Self> {
        let mut entries: Vec<Self> = Vec::new();
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, tool) in snapshot.tools.iter().enumerate() {
            let named = tool.as_object().and_then(|map| Some((map, map.get("name")?.as_str()?)));
            let Some((map, wire)) = named else {
                let fault = if tool.is_object() { "it has no name" } else { "it is not an object" };
                report(Reporter::new(&format!("#{index}"), index, ""), MALFORMED_TOOL, "", fault, diagnostics);
                continue;
            };
            if !options.selects(wire) {
                continue;
            }
            let twins = by_name.entry(wire).or_default();
            let same = twins.iter().find(|twin| entries.get(**twin).is_some_and(|entry| entry.tool == map)).copied();
            if !twins.is_empty() {
                report(Reporter::new(wire, index, ""), DUPLICATE_TOOL, "/name", "", diagnostics);
            }
            match same.and_then(|twin| entries.get_mut(twin)) {
                Some(entry) => entry.repeats.push(index),
                None => {
                    twins.push(entries.len());
                    entries.push(Self { index, repeats: Vec::new(), wire, key: String::new(), tool: map });
                }
            }
        }
        let items: Vec<_> = entries.iter().map(|entry| (entry.wire, entry.tool)).collect();
        let keys = unique_keys(&items);
        entries.iter_mut().zip(keys).for_each(|(entry, key)| entry.key = key);
        entries
    }
}

/// Names all types of all tools in one scope.
fn name_types(tools: &mut [ToolPlan<'_>], own: [&str; 2], sharing: &Sharing, diagnostics: &mut Diagnostics) {
    let named = sharing.named();
    let (mut types, mut wanted) = (Vec::new(), Vec::new());
    let mut taken = [&reserved()[..], &own].concat();
    for at in TypeAt::all(tools) {
        if named.contains(&at) {
            taken.push(at.name(tools));
        } else {
            types.push(at);
            wanted.push(Wanted { name: at.name(tools), is_root: at.is_root(tools) });
        }
    }
    let mut names = renamed(tools, &types, &wanted, &taken);
    for (place, at) in types.iter().enumerate() {
        let Some(name) = names.remove(place) else { continue };
        if let Some(tool) = tools.get(at.tool) {
            let fault = format!("the type `{}` is named `{name}`", at.name(tools));
            report(Reporter::new(tool.wire, tool.index, ""), RENAMED, "", &fault, diagnostics);
        }
        at.rename(tools, &name);
    }
    sharing.spread_names(tools);
    for tool in tools {
        tool.idents.params = tool.input.root_name().to_owned();
        tool.idents.output = tool.output.as_ref().map_or("", SchemaPlan::root_name).to_owned();
    }
}

/// Returns new names for those of these types whose wanted names are taken, by their places.
fn renamed(tools: &[ToolPlan<'_>], types: &[TypeAt], wanted: &[Wanted<'_>], taken: &[&str]) -> Table<String> {
    let identity = |place: usize| types.get(place).map(|at| at.identity(tools)).unwrap_or_default();
    let mut names = Table::default();
    renamed_types(wanted, taken, &identity).into_iter().for_each(|(place, name)| names.insert(place, name));
    names
}

/// Reports one diagnostic: its code, its pointer, and what is wrong.
fn report(mut reporter: Reporter, code: Code, pointer: &str, fault: &str, diagnostics: &mut Diagnostics) {
    reporter.say(code, pointer, fault);
    diagnostics.extend(reporter.finish());
}

/// Returns the schemas of all tools.
fn schemas<'p, 's>(tools: &'p [ToolPlan<'s>]) -> Vec<&'p SchemaPlan<'s>> {
    tools.iter().flat_map(ToolPlan::schemas).collect()
}

/// The end of a builder's name.
const BUILDER: &str = "Builder";
/// The maximum number of required properties of a builder, which has a type parameter for each and a method for each
/// with all of them. Larger structs are written field by field.
const MOST_REQUIRED: usize = 32;

/// Names the builders of the types of tools. Types keep their names, and builders make way.
fn name_builders(tools: &mut [ToolPlan<'_>], own: &[&str]) {
    let (mut built, mut names, mut taken) = (Vec::new(), Vec::new(), own.to_vec());
    for at in TypeAt::all(tools) {
        let name = at.name(tools);
        taken.push(name);
        if at.schema(tools).is_some_and(|schema| schema.has_builder(at.shape)) {
            names.push(format!("{name}{BUILDER}"));
            built.push(at);
        }
    }
    taken.retain(|name| name.contains(BUILDER));
    let wanted: Vec<Wanted<'_>> = names.iter().map(|name| Wanted { name, is_root: false }).collect();
    let mut renamed = renamed(tools, &built, &wanted, &taken);
    for (place, (at, name)) in built.iter().zip(names).enumerate() {
        let name = renamed.remove(place).unwrap_or(name);
        if let Some(schema) = at.schema_mut(tools) {
            schema.builders.insert(at.shape, name);
        }
    }
}

impl SchemaPlan<'_> {
    /// Returns `true` if a struct asks for values, and not for too many.
    pub(crate) fn has_builder(&self, id: ShapeId) -> bool {
        let Shape::Struct(object) = self.document.shapes.get(id) else { return false };
        let required = object.fields.iter().filter(|field| field.presence == Presence::Required);
        (1..=MOST_REQUIRED).contains(&required.count())
    }
}

/// A tool, translated.
#[derive(Debug)]
pub(crate) struct ToolPlan<'s> {
    /// The place in the snapshot's list.
    pub(crate) index: usize,
    /// Later places that hold the same tool again.
    #[cfg_attr(not(feature = "format"), allow(dead_code))]
    pub(crate) repeats: Vec<usize>,
    pub(crate) wire: &'s str,
    /// The unique key of the tool: its wire name, with a suffix if another tool has the same.
    key: String,
    pub(crate) idents: ToolIdents,
    pub(crate) title: Option<&'s str>,
    pub(crate) description: Option<&'s str>,
    /// The description as lines of documentation.
    pub(crate) said: Vec<String>,
    /// The purpose of the tool, in a sentence of the description, or as a title that is not its name again.
    pub(crate) summary: Option<String>,
    pub(crate) annotations: Option<&'s Map<String, Value>>,
    pub(crate) input_schema: &'s Value,
    pub(crate) output_schema: Option<&'s Value>,
    pub(crate) input: SchemaPlan<'s>,
    pub(crate) output: Option<SchemaPlan<'s>>,
    /// The server's own schemas, if overrides changed them.
    pub(crate) declared: Declared<'s>,
}

impl<'s> ToolPlan<'s> {
    /// Reads a tool, around the definitions at these pointers.
    fn new(
        snapshot: &'s Snapshot,
        entry: &Entry<'s>,
        idents: &ToolIdents,
        definitions: &[&str],
        checked: bool,
    ) -> (Self, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let (tool, wire) = (entry.tool, entry.wire);
        let declared_input = input_schema(tool);
        let mut reporter = Reporter::new(wire, entry.index, "/inputSchema");
        if declared_input.is_none() {
            reporter.say(MALFORMED_INPUT, "", if tool.contains_key("inputSchema") { "" } else { "it is missing" });
        }
        let input_schema = declared_input.unwrap_or(&FREE_FORM);
        let input = SchemaPlan::new(input_schema, Role::Input, &idents.params, definitions, checked, &mut reporter);
        diagnostics.extend(reporter.finish());
        let mut reporter = Reporter::new(wire, entry.index, "/outputSchema");
        let output_schema = output_schema(tool);
        if output_schema.is_none() && tool.get("outputSchema").is_some_and(|schema| !schema.is_null()) {
            reporter.say(MALFORMED_OUTPUT, "", "");
        }
        let output = output_schema
            .map(|schema| SchemaPlan::new(schema, Role::Output, &idents.output, definitions, false, &mut reporter));
        diagnostics.extend(reporter.finish());
        if idents.renamed {
            let fault = format!("bound as `{}`", idents.method);
            report(Reporter::new(wire, entry.index, ""), RENAMED, "/name", &fault, &mut diagnostics);
        }
        let says_more = |text: &&str| !is_in_name(text, wire);
        let annotations = tool.get("annotations").and_then(Value::as_object);
        let title = tool.get("title").and_then(Value::as_str);
        let title = title.or_else(|| annotations.and_then(|map| map.get("title")?.as_str()));
        let description = tool.get("description").and_then(Value::as_str);
        let plan = Self {
            index: entry.index,
            repeats: entry.repeats.clone(),
            wire,
            key: entry.key.clone(),
            idents: idents.clone(),
            title,
            description,
            said: description.map(sanitized).unwrap_or_default(),
            summary: [description, title].into_iter().flatten().filter(says_more).find_map(first_sentence),
            annotations,
            input_schema,
            output_schema,
            input,
            output,
            declared: Declared::of(tool, snapshot.overridden.get(wire), snapshot.viewed.get(wire)),
        };
        (plan, diagnostics)
    }

    pub(crate) fn schemas(&self) -> impl Iterator<Item = &SchemaPlan<'s>> {
        std::iter::once(&self.input).chain(&self.output)
    }

    fn schemas_mut(&mut self) -> impl Iterator<Item = &mut SchemaPlan<'s>> {
        std::iter::once(&mut self.input).chain(&mut self.output)
    }

    /// Returns the plan of one of its schemas.
    pub(crate) fn schema(&self, role: Role) -> Option<&SchemaPlan<'s>> {
        match role {
            Role::Input => Some(&self.input),
            Role::Output => self.output.as_ref(),
        }
    }
}

/// The replacement for a malformed `inputSchema`.
static FREE_FORM: LazyLock<Value> =
    LazyLock::new(|| Value::Object(Map::from_iter([("type".to_owned(), "object".into())])));

/// The parts that a server declares otherwise than the bindings have them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Declared<'s> {
    /// The server's `inputSchema`, if the bindings have another.
    pub(crate) input: Option<&'s Value>,
    /// The server's `outputSchema`, or its absence, if the bindings have another.
    pub(crate) output: Option<Option<&'s Value>>,
    /// From how many results the `outputSchema` was learned.
    pub(crate) learned_from: Option<u64>,
    /// The view of the tool, and the tool without it.
    pub(crate) viewed: Option<&'s Viewed>,
}

impl<'s> Declared<'s> {
    fn of(tool: &'s Map<String, Value>, overridden: Option<&'s Overridden>, viewed: Option<&'s Viewed>) -> Self {
        let tool = viewed.and_then(|viewed| viewed.before.as_object()).unwrap_or(tool);
        let Some((overridden, declared)) = overridden.and_then(|known| Some((known, known.declared.as_object()?)))
        else {
            return Self { viewed, ..Self::default() };
        };
        let input = input_schema(declared).unwrap_or(&FREE_FORM);
        let output = output_schema(declared);
        Self {
            input: Some(input).filter(|input| input_schema(tool) != Some(input)),
            output: Some(output).filter(|output| output_schema(tool) != *output),
            learned_from: overridden.learned_from,
            viewed,
        }
    }

    /// Returns the server's `inputSchema`, if an override or a view replaced it.
    pub(crate) fn input_schema(&self) -> Option<&'s Value> {
        self.input.or_else(|| {
            self.viewed.map(|viewed| viewed.before.as_object().and_then(input_schema).unwrap_or(&FREE_FORM))
        })
    }
}

fn input_schema(tool: &Map<String, Value>) -> Option<&Value> {
    tool.get("inputSchema").filter(|schema| schema.is_object())
}

fn output_schema(tool: &Map<String, Value>) -> Option<&Value> {
    tool.get("outputSchema").filter(|schema| schema.is_object())
}
