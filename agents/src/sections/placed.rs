//! The sections of a prompt with their positions, and the state between renderings.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Weak};

use mcp_bindgen_runtime::middleware::Stack;
use mcp_bindgen_runtime::{CallTool, DynCallTool};
use mcp_bindgen_schema::names::PrefixedNames;
use minijinja::Environment;

use super::check::{self, Placed};
use super::error::{PromptError, RenderError};
use super::function::functions;
use super::params::{Held, Kind, PromptParams};
use super::section::{AnySection, Declared, Parts};
use super::server::{Handle, SectionServer};
use super::template;
use crate::lock::locked;

pub(super) struct Inner {
    /// Each before its children, and those before what comes after it.
    pub(super) nodes: Vec<Placed>,
    pub(super) environment: Environment<'static>,
    reserved: Vec<String>,
    /// The layers of sections around servers. They are put around once, so that their
    /// state lasts.
    layered: Mutex<Vec<Governed>>,
    /// The servers that sections made of their parameters, the most recently used ones last.
    made: Mutex<Vec<Arc<Handle>>>,
}

/// The number of unused servers kept under one name, because conversations with different parameters alternate.
const KEPT: usize = 8;

/// A server with the layers of these sections around.
struct Governed {
    handle: Weak<Handle>,
    governors: BTreeSet<usize>,
    caller: Arc<dyn DynCallTool>,
}

impl Inner {
    pub(super) fn new(sections: Vec<AnySection>, reserved: Vec<String>) -> Result<Self, PromptError> {
        let environment = template::environment();
        let mut nodes = check::placed(sections, &environment, &reserved)?;
        unite(&nodes);
        let parts = nodes.iter_mut().map(|node| &mut node.parts);
        parts.filter(|parts| !parts.layers.is_empty() && !parts.tools.is_empty()).for_each(govern_functions);
        Ok(Self { nodes, environment, reserved, layered: Mutex::default(), made: Mutex::default() })
    }

    /// Returns the servers that were made of configurations, those for earlier parameters too.
    pub(super) fn own_servers(&self) -> Vec<Arc<Handle>> {
        self.all_servers().into_iter().filter(|handle| handle.config.is_some()).collect()
    }

    /// Returns what calls the tools of its servers and its functions.
    pub(super) fn callers(&self) -> Vec<Arc<dyn DynCallTool>> {
        let servers = self.all_servers().into_iter().map(|handle| handle.caller.clone());
        let functions = self.nodes.iter().flat_map(|node| &node.parts.tools).map(|tool| tool.caller.clone());
        servers.chain(functions).collect()
    }

    /// Returns the servers that do not depend on parameters.
    fn fixed(&self) -> impl Iterator<Item = Arc<Handle>> {
        self.nodes.iter().flat_map(|node| node.parts.fixed()).map(SectionServer::handle)
    }

    fn all_servers(&self) -> Vec<Arc<Handle>> {
        let of_parameters = locked(&self.made).clone();
        self.fixed().chain(of_parameters).collect()
    }

    /// Returns the tool names of all declared servers, and of servers that sections create from their parameters.
    pub(super) fn names(&self, shown: impl Iterator<Item = Arc<Handle>>) -> PrefixedNames {
        let mut names = PrefixedNames::default();
        for handle in shown.chain(self.fixed()) {
            if !names.has(&handle.name) {
                handle.add_to(&mut names);
            }
        }
        names
    }

    /// Returns the parameters of each section.
    pub(super) fn resolve(&self, params: &PromptParams) -> Result<Vec<Held>, RenderError> {
        params.check(|kind| self.nodes.iter().any(|node| node.parts.own.is_none() && node.parts.kind == kind))?;
        let first_default = |kind: Kind| {
            let mut defaults = self.nodes.iter().filter_map(|node| node.parts.default.as_ref());
            defaults.find(|held| held.kind() == kind)
        };
        let of_node = |node: &Placed| {
            let parts = &node.parts;
            let given = || params.get(parts.kind).or(parts.default.as_ref());
            let found = parts.own.as_ref().or_else(given).or_else(|| first_default(parts.kind)).cloned();
            let made = || parts.construct.map(|construct| construct());
            let unit = || parts.kind.is_unit().then(|| Held::new(()));
            found
                .or_else(made)
                .or_else(unit)
                .ok_or_else(|| RenderError::MissingParams { section: node.path.clone(), type_name: parts.kind.name })
        };
        self.nodes.iter().map(of_node).collect()
    }

    /// Returns the client of a server, with the layers of these sections around.
    pub(super) fn governed(&self, handle: &Arc<Handle>, governors: &BTreeSet<usize>) -> Arc<dyn DynCallTool> {
        if governors.is_empty() {
            return handle.caller.clone();
        }
        let find = |layered: &mut Vec<Governed>| {
            layered.retain(|governed| governed.handle.strong_count() > 0);
            let is_it = |governed: &&Governed| {
                std::ptr::eq(governed.handle.as_ptr(), Arc::as_ptr(handle)) && *governors == governed.governors
            };
            layered.iter().find(is_it).map(|governed| governed.caller.clone())
        };
        if let Some(caller) = find(&mut locked(&self.layered)) {
            return caller;
        }
        // The closures belong to the program, so no lock is held while they run.
        let layers = governors.iter().filter_map(|index| self.nodes.get(*index)).flat_map(|node| &node.parts.layers);
        let stack = layers.fold(Stack::new(handle.caller.clone()), |stack, layers| layers(stack));
        let mut layered = locked(&self.layered);
        find(&mut layered).unwrap_or_else(|| {
            let caller: Arc<dyn DynCallTool> = Arc::new(stack);
            let (handle, governors) = (Arc::downgrade(handle), governors.clone());
            layered.push(Governed { handle, governors, caller: caller.clone() });
            caller
        })
    }

    /// Returns the servers of a section for its parameters.
    pub(super) fn servers(&self, node: &Placed, params: &Held) -> Result<Vec<SectionServer>, RenderError> {
        let wrong = |message| RenderError::Server { section: node.path.clone(), message };
        let mut servers: Vec<SectionServer> = Vec::new();
        for declared in &node.parts.servers {
            let found = match declared {
                Declared::Fixed(server) => Ok(vec![server.clone()]),
                Declared::FromParams(make) => make(params.get()).into_iter().map(|made| self.kept(made)).collect(),
            };
            for server in found.map_err(wrong)? {
                if servers.iter().any(|other| other.name() == server.name()) {
                    let name = mcp_bindgen_model::printable(server.name());
                    return Err(wrong(format!("duplicate server name `{name}`")));
                }
                servers.push(server);
            }
        }
        Ok(servers)
    }

    /// Returns a server that a section created from its parameters. An equal existing server replaces a new one.
    fn kept(&self, server: SectionServer) -> Result<SectionServer, String> {
        let handle = server.handle();
        if let Some(problem) = handle.problem(&self.reserved) {
            return Err(problem);
        }
        if !handle.can_be_compared {
            return Ok(server.by(handle));
        }
        let is_it = |other: &Arc<Handle>| other.name == handle.name && other.difference(&handle).is_none();
        let fixed = self.fixed().find(is_it);
        let kept = fixed.unwrap_or_else(|| {
            let mut made = locked(&self.made);
            let again = made.iter().position(is_it).map(|index| made.remove(index));
            let kept = again.unwrap_or_else(|| handle.clone());
            made.push(kept.clone());
            let mut newer = made.iter().filter(|other| other.name == handle.name).count();
            made.retain(|other| {
                newer -= usize::from(other.name == handle.name);
                other.name != handle.name || newer < KEPT || Arc::strong_count(other) > 1
            });
            kept
        });
        kept.learn(&handle);
        Ok(server.by(kept))
    }
}

/// Puts the layers of a section around its functions. Functions that they deny by name are not offered.
fn govern_functions(parts: &mut Parts) {
    let functions: Arc<dyn DynCallTool> = Arc::new(functions(&parts.tools));
    let caller: Arc<dyn DynCallTool> =
        Arc::new(parts.layers.iter().fold(Stack::new(functions), |stack, layers| layers(stack)));
    let offer = caller.offer();
    parts.tools.retain(|tool| offer.admits(tool.name()));
    parts.tools.iter_mut().for_each(|tool| tool.caller = caller.clone());
}

/// Makes one server of equal declarations.
fn unite(nodes: &[Placed]) {
    let mut firsts: Vec<&SectionServer> = Vec::new();
    for server in nodes.iter().flat_map(|node| node.parts.fixed()) {
        let handle = server.handle();
        let is_equal =
            |first: &&&SectionServer| first.name() == handle.name && first.handle().difference(&handle).is_none();
        match firsts.iter().find(is_equal) {
            Some(first) => Handle::unite(&first.handle(), &handle),
            None => firsts.push(server),
        }
    }
}
