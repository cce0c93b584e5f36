//! The translation of a whole tool list, before tokens: every tool's shapes and names.

mod alike;
mod alike_shapes;
mod builders;
mod derives;
mod extern_types;
mod idents;
mod naming;
mod offers;
mod place;
mod rules;
mod schema_plan;
mod shared;
mod tool;

use std::collections::HashMap;

use mcp_bindgen_model::{Snapshot, Types, UnknownKeys, side_by_side};
use mcp_bindgen_schema::diagnostics::{DUPLICATE_TOOL, Diagnostics, MALFORMED_TOOL, RENAMED, Reporter};
use proc_macro2::Ident;
use serde_json::{Map, Value};

use alike::TypeAt;
pub use alike_shapes::{AlikePlace, AlikeShapes};
pub(crate) use derives::{Derives, Standard};
pub(crate) use extern_types::ExternTypes;
pub(crate) use idents::ToolIdents;
use idents::{OwnNames, reserved, unique_keys};
pub(crate) use naming::Spot;
pub(crate) use offers::{Offer, OfferIdents, OfferKind};
pub(crate) use schema_plan::SchemaPlan;
use shared::Sharing;
pub(crate) use tool::{Declared, ToolPlan};

use crate::names::{Wanted, renamed_types};
use crate::options::Options;
use crate::patterns::tool_names;
use crate::rules::{Kind, Rule, RuleFault, Switches};

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
        let rules = |kind| options.rules.of(kind).filter(|_| is_native).collect::<Vec<&Rule>>();
        let extern_types = ExternTypes::new(&rules(Kind::Extern), &mut faults);
        let around = extern_types.pointers();
        let switches = options.rules.switches();
        let checked = switches.checked && is_native;
        let entries: Vec<(Entry<'s>, ToolIdents)> = entries.into_iter().zip(idents).collect();
        let plan = |(entry, idents): &(Entry<'s>, ToolIdents)| ToolPlan::new(snapshot, entry, idents, &around, checked);
        let mut tools: Vec<ToolPlan<'s>> = Vec::with_capacity(entries.len());
        for (tool, said) in side_by_side(&entries, WORTH_A_THREAD, plan) {
            diagnostics.extend(said);
            tools.push(tool);
        }
        faults.extend(extern_types.idle(&tools));
        let every = if options.rules.is_empty() { Vec::new() } else { tool_names(snapshot) };
        let sharing = Sharing::new(&mut tools, &rules(Kind::Shared), &every, &own, &mut faults);
        name_types(&mut tools, own.types(), &sharing, &mut diagnostics);
        if switches.named {
            builders::name(&mut tools, &own.types());
        }
        if options.server.unknown == UnknownKeys::Keep {
            tools.iter_mut().flat_map(ToolPlan::schemas_mut).for_each(SchemaPlan::keep_unknown);
        }
        let derives = rules::apply(options, &mut tools, &sharing, &every, &mut faults);
        let offers = offers::all(snapshot, &tools, &own, &mut diagnostics);
        let OwnNames { client_type, call_type, .. } = own;
        Self {
            server: options.server.name.clone(),
            module: options.module_ident(),
            client_type,
            call_type,
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
                let mut reporter = Reporter::new(&format!("#{index}"), index, "");
                let fault = if tool.is_object() { "it has no name" } else { "it is not an object" };
                reporter.say(MALFORMED_TOOL, "", fault);
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

/// Names all types of all tools in one scope.
fn name_types(tools: &mut [ToolPlan<'_>], own: [&str; 2], sharing: &Sharing, diagnostics: &mut Diagnostics) {
    let named = sharing.named();
    let names: Vec<String> = named.iter().map(|at| at.name(tools).to_owned()).collect();
    let types: Vec<TypeAt> = TypeAt::all(tools).filter(|at| !named.contains(at)).collect();
    let wanted: Vec<Wanted<'_>> =
        types.iter().map(|at| Wanted { name: at.name(tools), is_root: at.is_root(tools) }).collect();
    let identity = |place: usize| types.get(place).map(|at| at.identity(tools)).unwrap_or_default();
    let reserved: Vec<&str> = reserved().chain(own).chain(names.iter().map(String::as_str)).collect();
    let mut renamed = renamed_types(&wanted, &reserved, &identity);
    renamed.sort();
    for (place, name) in renamed {
        let Some(at) = types.get(place) else { continue };
        if let Some(tool) = tools.get(at.tool) {
            let mut reporter = Reporter::new(tool.wire, tool.index, "");
            reporter.say(RENAMED, "", format!("the type `{}` is named `{name}`", at.name(tools)));
            diagnostics.extend(reporter.finish());
        }
        at.rename(tools, &name);
    }
    sharing.spread_names(tools);
    for tool in tools {
        tool.idents.params = tool.input.root_name().to_owned();
        tool.idents.output = tool.output.as_ref().map_or("", SchemaPlan::root_name).to_owned();
    }
}
