//! The sections of a prompt with their positions, and the state between renderings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};

use mcp_bindgen_runtime::middleware::Stack;
use mcp_bindgen_runtime::{CallTool, DynCallTool};
use mcp_bindgen_schema::names::PrefixedNames;
use minijinja::Environment;

use super::check::{self, Placed};
use super::error::{PromptError, RenderError};
use super::function::{SectionTool, functions};
use super::params::{Held, Kind, PromptParams};
use super::section::{AnySection, Declared};
use super::server::{Handle, Layering, SectionServer, locked};
use super::template;

pub(super) struct Inner {
    /// Each before its children, and those before what comes after it.
    pub(super) nodes: Vec<Placed>,
    pub(super) environment: Environment<'static>,
    kinds: BTreeSet<Kind>,
    reserved: Vec<String>,
    /// The layers of sections around servers. They are put around once, so that their
    /// state lasts.
    layered: Mutex<Vec<Governed>>,
    /// The layers around the functions of each section that has some.
    functions: BTreeMap<usize, Arc<dyn DynCallTool>>,
    /// The servers that sections made of their parameters, by name.
    made: Mutex<BTreeMap<String, Made>>,
}

/// The number of unused servers kept under one name, because conversations with different parameters alternate.
const KEPT: usize = 8;

/// The servers of one name that sections made of their parameters.
#[derive(Default)]
struct Made {
    /// The recent servers, the latest last.
    recent: Vec<Arc<Handle>>,
    /// Older servers, while they are in use.
    earlier: Vec<Weak<Handle>>,
}

/// A server with the layers of these sections around.
struct Governed {
    handle: Weak<Handle>,
    governors: Vec<usize>,
    caller: Arc<dyn DynCallTool>,
}

impl Inner {
    pub(super) fn new(sections: Vec<AnySection>, reserved: Vec<String>) -> Result<Self, PromptError> {
        let environment = template::environment();
        let nodes = check::placed(sections, &environment, &reserved)?;
        let kinds = nodes.iter().filter(|node| node.parts.own.is_none()).map(|node| node.parts.kind).collect();
        unite(&nodes);
        let governed = nodes.iter().filter(|node| !node.parts.layers.is_empty() && !node.parts.tools.is_empty());
        let functions = governed.map(|node| {
            let caller: Arc<dyn DynCallTool> = Arc::new(functions(&node.parts.tools));
            let stack = node.parts.layers.iter().fold(Stack::new(caller), |stack, layers| layers(stack));
            (node.index, Arc::new(stack) as Arc<dyn DynCallTool>)
        });
        let functions = functions.collect();
        Ok(Self { nodes, environment, kinds, reserved, layered: Mutex::default(), functions, made: Mutex::default() })
    }

    /// Returns the functions of a section that may be called, with its layers around.
    pub(super) fn functions(&self, node: &Placed) -> Vec<SectionTool> {
        let Some(caller) = self.functions.get(&node.index) else { return node.parts.tools.clone() };
        let offer = caller.offer();
        let admitted = node.parts.tools.iter().filter(|tool| offer.admits(tool.name()));
        admitted.map(|tool| tool.governed(caller.clone())).collect()
    }

    /// Returns the servers that were made of configurations, those for earlier parameters too.
    pub(super) fn own_servers(&self) -> Vec<Arc<Handle>> {
        self.all_servers().into_iter().filter(|handle| handle.config.is_some()).collect()
    }

    /// Returns what calls the tools of its servers and its functions.
    pub(super) fn callers(&self) -> Vec<Arc<dyn DynCallTool>> {
        let servers = self.all_servers().into_iter().map(|handle| handle.caller());
        let functions = self.nodes.iter().flat_map(|node| &node.parts.tools).map(|tool| tool.caller().clone());
        servers.chain(self.functions.values().cloned()).chain(functions).collect()
    }

    fn all_servers(&self) -> Vec<Arc<Handle>> {
        let fixed = fixed(&self.nodes).map(SectionServer::handle);
        let made = locked(&self.made);
        let of_parameters = made.values().flat_map(|made| {
            let earlier = made.earlier.iter().filter_map(Weak::upgrade);
            made.recent.iter().cloned().chain(earlier)
        });
        fixed.chain(of_parameters).collect()
    }

    /// Returns the tool names of all declared servers, and of servers that sections create from their parameters.
    pub(super) fn names(&self, shown: impl Iterator<Item = Arc<Handle>>) -> PrefixedNames {
        let mut names = PrefixedNames::default();
        for handle in shown.chain(fixed(&self.nodes).map(SectionServer::handle)) {
            if !names.has(&handle.name) {
                handle.add_to(&mut names);
            }
        }
        names
    }

    /// Returns the parameters of each section.
    pub(super) fn resolve(&self, params: &PromptParams) -> Result<Vec<Held>, RenderError> {
        params.check(&self.kinds)?;
        let first_default = |kind: Kind| {
            let defaults = self.nodes.iter().filter_map(|node| node.parts.default.as_ref());
            defaults.into_iter().find(|held| held.kind() == kind)
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
    pub(super) fn governed(
        &self,
        handle: &Arc<Handle>,
        governors: &BTreeMap<usize, Vec<Layering>>,
    ) -> Arc<dyn DynCallTool> {
        if governors.is_empty() {
            return handle.caller();
        }
        let find = |layered: &mut Vec<Governed>| {
            layered.retain(|governed| governed.handle.strong_count() > 0);
            let is_it = |governed: &&Governed| {
                std::ptr::eq(governed.handle.as_ptr(), Arc::as_ptr(handle)) && governors.keys().eq(&governed.governors)
            };
            layered.iter().find(is_it).map(|governed| governed.caller.clone())
        };
        if let Some(caller) = find(&mut locked(&self.layered)) {
            return caller;
        }
        // The closures belong to the program, so no lock is held while they run.
        let stack = governors.values().flatten().fold(Stack::new(handle.caller()), |stack, layers| layers(stack));
        let mut layered = locked(&self.layered);
        find(&mut layered).unwrap_or_else(|| {
            let caller: Arc<dyn DynCallTool> = Arc::new(stack);
            let governors = governors.keys().copied().collect();
            layered.push(Governed { handle: Arc::downgrade(handle), governors, caller: caller.clone() });
            caller
        })
    }

    /// Returns the servers of a section for its parameters.
    pub(super) fn servers(&self, node: &Placed, params: &Held) -> Result<Vec<SectionServer>, RenderError> {
        let mut servers: Vec<SectionServer> = Vec::new();
        for declared in &node.parts.servers {
            let found = match declared {
                Declared::Fixed(server) => vec![server.clone()],
                Declared::FromParams(make) => self.made(node, make(params.get()))?,
            };
            for server in found {
                if servers.iter().any(|other| other.name() == server.name()) {
                    let message = format!("duplicate server name `{}`", mcp_bindgen_model::printable(server.name()));
                    return Err(RenderError::Server { section: node.path.clone(), message });
                }
                servers.push(server);
            }
        }
        Ok(servers)
    }

    /// Returns the servers that a section created from its parameters. An equal existing server replaces a new one.
    fn made(&self, node: &Placed, made: Vec<SectionServer>) -> Result<Vec<SectionServer>, RenderError> {
        let one = |server: SectionServer| {
            let handle = server.handle();
            if let Some(message) = handle.problem(&self.reserved) {
                return Err(RenderError::Server { section: node.path.clone(), message });
            }
            Ok(server.by(self.kept(handle)))
        };
        made.into_iter().map(one).collect()
    }

    fn kept(&self, handle: Arc<Handle>) -> Arc<Handle> {
        if !handle.can_be_compared() {
            return handle;
        }
        let is_it = |other: &Arc<Handle>| other.name == handle.name && other.difference(&handle).is_none();
        if let Some(fixed) = fixed(&self.nodes).map(SectionServer::handle).find(is_it) {
            fixed.learn(&handle);
            return fixed;
        }
        let mut made = locked(&self.made);
        let Made { recent, earlier } = made.entry(handle.name.clone()).or_default();
        let again = recent.iter().position(is_it).map(|index| recent.remove(index));
        let again = again.or_else(|| earlier.iter().filter_map(Weak::upgrade).find(is_it));
        let kept = again.unwrap_or_else(|| handle.clone());
        kept.learn(&handle);
        earlier.retain(|earlier| earlier.strong_count() > 0 && !std::ptr::eq(earlier.as_ptr(), Arc::as_ptr(&kept)));
        recent.push(kept.clone());
        if recent.len() > KEPT {
            earlier.push(Arc::downgrade(&recent.remove(0)));
        }
        kept
    }
}

fn fixed(nodes: &[Placed]) -> impl Iterator<Item = &SectionServer> {
    nodes.iter().flat_map(|node| &node.parts.servers).filter_map(|declared| match declared {
        Declared::Fixed(server) => Some(server),
        Declared::FromParams(_) => None,
    })
}

/// Makes one server of equal declarations.
fn unite(nodes: &[Placed]) {
    let mut firsts: Vec<&SectionServer> = Vec::new();
    for server in fixed(nodes) {
        let handle = server.handle();
        let is_equal =
            |first: &&&SectionServer| first.name() == handle.name && first.handle().difference(&handle).is_none();
        match firsts.iter().find(is_equal) {
            Some(first) => Handle::unite(&first.handle(), &handle),
            None => firsts.push(server),
        }
    }
}
