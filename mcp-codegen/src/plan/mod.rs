//! The translation of a whole tool list, before tokens: every tool's shapes and names.

mod alike;
mod alike_shapes;
mod builders;
mod can_derive;
mod declared;
mod derives;
mod extern_types;
mod keys;
mod located;
mod naming;
mod offers;
mod own_names;
mod read_tool;
mod rules;
mod schema_plan;
mod shared;
mod tool_idents;

use std::collections::HashMap;

use mcp_bindgen_model::{Snapshot, Types, UnknownKeys, side_by_side};
use mcp_bindgen_schema::Role;
use mcp_bindgen_schema::diagnostics::{DUPLICATE_TOOL, Diagnostics, MALFORMED_TOOL, RENAMED, Reporter};
use proc_macro2::Ident;
use serde_json::{Map, Value};

use alike::TypeAt;
pub use alike_shapes::{AlikePlace, AlikeShapes};
pub(crate) use declared::Declared;
pub(crate) use derives::Standard;
pub(crate) use extern_types::ExternTypes;
use keys::unique_keys;
pub(crate) use naming::Spot;
pub(crate) use offers::{Offer, OfferIdents, PromptPlan, TemplatePlan};
use own_names::{OwnNames, reserved};
use read_tool::{ReadTool, title};
pub(crate) use schema_plan::SchemaPlan;
use shared::{Sharing, Wish};
pub(crate) use tool_idents::ToolIdents;

use crate::names::{Identity, Wanted, renamed_types};
use crate::options::Options;
use crate::patterns::tool_names;
use crate::rules::RuleFault;

/// The number of tools from which reading takes longer than starting a thread.
const WORTH_A_THREAD: usize = 32;

/// A tool list, translated.
#[derive(Debug)]
pub(crate) struct Plan<'s> {
    pub(crate) server: String,
    pub(crate) module: Ident,
    /// `Github`
    pub(crate) client_type: String,
    /// `GithubCall`
    pub(crate) call_type: String,
    pub(crate) tools: Vec<ToolPlan<'s>>,
    pub(crate) prompts: Vec<PromptPlan<'s>>,
    pub(crate) templates: Vec<TemplatePlan<'s>>,
    pub(crate) diagnostics: Diagnostics,
    /// The user's types in place of definitions.
    pub(crate) extern_types: ExternTypes,
    /// The rules of the user that cannot hold.
    pub(crate) faults: Vec<RuleFault>,
}

/// A tool, translated.
#[derive(Debug)]
pub(crate) struct ToolPlan<'s> {
    /// The place in the snapshot's list.
    pub(crate) index: usize,
    /// Later places that hold the same tool again.
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

impl<'s> Plan<'s> {
    pub(crate) fn new(snapshot: &'s Snapshot, options: &Options) -> Self {
        let mut diagnostics = Diagnostics::default();
        let entries = Entry::collect(snapshot, options, &mut diagnostics);
        let own_names = OwnNames::new(options);
        let type_prefix = own_names.type_prefix();
        let OwnNames { prefix, client_type, call_type } = own_names;
        let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        let mut faults = Vec::new();
        let given = rules::tool_names(options, &keys, &mut faults);
        let prefixed = tool_idents::prefixed(snapshot, options, &keys, &given);
        let idents = ToolIdents::all(&keys, &given, prefix.as_deref(), prefixed);
        let (extern_types, shared) = rules::of_types(options);
        let extern_types = ExternTypes::new(extern_types, &mut faults);
        let entries: Vec<(Entry<'s>, ToolIdents)> = entries.into_iter().zip(idents).collect();
        let around = extern_types.pointers();
        let checked = options.rules.switches().checked && options.server.types == Types::Native;
        let read =
            side_by_side(&entries, WORTH_A_THREAD, |(entry, idents)| ReadTool::new(entry, idents, &around, checked));
        let mut tools: Vec<ToolPlan<'s>> = Vec::with_capacity(entries.len());
        for ((entry, idents), (read, said)) in entries.into_iter().zip(read) {
            diagnostics.extend(said);
            let declared =
                Declared::of(entry.tool, snapshot.overridden.get(entry.wire), snapshot.viewed.get(entry.wire));
            tools.push(ToolPlan::new(entry, idents, read, declared, &extern_types));
        }
        faults.extend(extern_types.idle(&tools));
        let own = [client_type.as_str(), &call_type];
        let every = if options.rules.is_empty() { Vec::new() } else { tool_names(snapshot) };
        let wish = Wish { rules: shared, every: &every, prefix: &type_prefix, own: &own };
        let sharing = Sharing::new(&mut tools, &wish, &mut faults);
        name_types(&mut tools, &own, &sharing, &mut diagnostics);
        if options.rules.switches().named {
            builders::name(&mut tools, &own);
        }
        if options.server.unknown == UnknownKeys::Keep {
            tools.iter_mut().flat_map(ToolPlan::schemas_mut).for_each(SchemaPlan::keep_unknown);
        }
        if !options.rules.is_empty() || options.server.unknown == UnknownKeys::Keep {
            rules::apply(options, &mut tools, &sharing, &every, &mut faults);
        }
        let (prompts, templates) = offers_beside(snapshot, &tools, prefix.as_deref(), &own, &mut diagnostics);
        Self {
            server: options.server.name.clone(),
            module: options.module_ident(),
            client_type,
            call_type,
            tools,
            prompts,
            templates,
            diagnostics,
            extern_types,
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
                let mut reporter = Reporter::new(&format!("#{index}"), index, "");
                reporter.say(
                    MALFORMED_TOOL,
                    "",
                    if tool.is_object() { "it has no name" } else { "it is not an object" },
                );
                diagnostics.extend(reporter.finish());
                continue;
            };
            if !options.selects(wire) {
                continue;
            }
            let twins = by_name.entry(wire).or_default();
            let same = twins.iter().find(|twin| entries.get(**twin).is_some_and(|entry| entry.tool == map)).copied();
            if !twins.is_empty() {
                let mut reporter = Reporter::new(wire, index, "");
                reporter.say(DUPLICATE_TOOL, "/name", "");
                diagnostics.extend(reporter.finish());
            }
            match same.and_then(|twin| entries.get_mut(twin)) {
                Some(entry) => entry.repeats.push(index),
                None => {
                    twins.push(entries.len());
                    entries.push(Self { index, repeats: Vec::new(), wire, key: String::new(), tool: map });
                }
            }
        }
        let keys = unique_keys(&entries.iter().map(|entry| (entry.wire, entry.tool)).collect::<Vec<_>>());
        entries.iter_mut().zip(keys).for_each(|(entry, key)| entry.key = key);
        entries
    }
}

impl<'s> ToolPlan<'s> {
    fn new(
        entry: Entry<'s>,
        idents: ToolIdents,
        read: ReadTool<'s>,
        declared: Declared<'s>,
        extern_types: &ExternTypes,
    ) -> Self {
        let text = |key: &str| entry.tool.get(key).and_then(Value::as_str);
        let annotations = entry.tool.get("annotations").and_then(Value::as_object);
        let of_schema = |read| {
            let schema = SchemaPlan::of(read);
            let extern_types = extern_types.in_document(&schema.document);
            schema.with_extern_types(extern_types)
        };
        Self {
            index: entry.index,
            repeats: entry.repeats,
            wire: entry.wire,
            key: entry.key,
            idents,
            title: title(entry.tool),
            description: text("description"),
            said: read.said,
            summary: read.summary,
            annotations,
            input_schema: read.input_schema,
            output_schema: read.output_schema,
            input: of_schema(read.input),
            output: read.output.map(of_schema),
            declared,
        }
    }

    pub(crate) fn schemas(&self) -> impl Iterator<Item = &SchemaPlan<'s>> {
        std::iter::once(&self.input).chain(&self.output)
    }

    fn schemas_mut(&mut self) -> impl Iterator<Item = &mut SchemaPlan<'s>> {
        std::iter::once(&mut self.input).chain(&mut self.output)
    }
}

/// Prompts and resource templates, which take no name of a tool's.
fn offers_beside<'s>(
    snapshot: &'s Snapshot,
    tools: &[ToolPlan<'s>],
    prefix: Option<&str>,
    own: &[&str],
    diagnostics: &mut Diagnostics,
) -> (Vec<PromptPlan<'s>>, Vec<TemplatePlan<'s>>) {
    let mut prompts = offers::prompts(&snapshot.prompts, diagnostics);
    let mut templates = offers::templates(&snapshot.resource_templates, diagnostics);
    if prompts.is_empty() && templates.is_empty() {
        return (prompts, templates);
    }
    let schemas = tools.iter().flat_map(ToolPlan::schemas);
    let types = schemas.flat_map(|schema| {
        let types = schema.order.iter().filter_map(|id| schema.name(*id));
        types.chain(schema.builders.values().map(String::as_str))
    });
    let taken = offers::Taken {
        prefix,
        methods: tools.iter().map(|tool| tool.idents.method.as_str()).collect(),
        types: types.chain(reserved()).chain(own.iter().copied()).collect(),
    };
    offers::name(&mut prompts.iter_mut().map(|prompt| &mut prompt.offer).collect::<Vec<_>>(), &taken, diagnostics);
    offers::name(
        &mut templates.iter_mut().map(|template| &mut template.offer).collect::<Vec<_>>(),
        &taken,
        diagnostics,
    );
    (prompts, templates)
}

/// Names all types of all tools in one scope.
fn name_types(tools: &mut [ToolPlan<'_>], own: &[&str], sharing: &Sharing, diagnostics: &mut Diagnostics) {
    let (named, names) = (sharing.named(), sharing.names(tools));
    let every = || tools.iter().enumerate().flat_map(|(at, tool)| tool.schemas().map(move |schema| (at, tool, schema)));
    let types: Vec<_> = every()
        .flat_map(|(at, tool, schema)| schema.order.iter().map(move |id| (at, tool, schema, *id)))
        .filter(|(tool, _, schema, shape)| {
            named.is_empty() || !named.contains(&TypeAt { tool: *tool, role: schema.document.role, shape: *shape })
        })
        .map(|(_, tool, schema, id)| (tool, schema, id))
        .collect();
    let wanted: Vec<Wanted<'_>> = types
        .iter()
        .map(|(_, schema, id)| Wanted {
            name: schema.name(*id).unwrap_or_default(),
            is_root: *id == schema.document.root,
        })
        .collect();
    let identity = |place: usize| -> Identity {
        let Some((tool, schema, id)) = types.get(place) else { return Identity::default() };
        let (depth, path) = schema.path(*id);
        let role = match schema.document.role {
            Role::Input => "input",
            Role::Output => "output",
        };
        (depth, format!("{} {role} {path}", tool.key))
    };
    let reserved: Vec<&str> = reserved().chain(own.iter().copied()).chain(names.iter().map(String::as_str)).collect();
    let mut renamed = renamed_types(&wanted, &reserved, identity);
    renamed.sort();
    let places: Vec<_> = renamed
        .into_iter()
        .filter_map(|(place, name)| {
            let (tool, schema, id) = types.get(place)?;
            Some((tool.index, schema.document.role, *id, name))
        })
        .collect();
    let mut renamed = places.into_iter().peekable();
    for tool in &mut *tools {
        while let Some((_, role, id, name)) = renamed.next_if(|(index, ..)| *index == tool.index) {
            let schema = if role == Role::Input { Some(&mut tool.input) } else { tool.output.as_mut() };
            let Some(named) = schema.and_then(|schema| schema.types.get_mut(&id)) else { continue };
            let mut reporter = Reporter::new(tool.wire, tool.index, "");
            reporter.say(RENAMED, "", format!("the type `{}` is named `{name}`", named.name));
            diagnostics.extend(reporter.finish());
            named.name = name;
        }
    }
    sharing.spread_names(tools);
    for tool in tools {
        tool.idents.params = tool.input.root_name().to_owned();
        tool.idents.output = tool.output.as_ref().map_or("", SchemaPlan::root_name).to_owned();
    }
}
