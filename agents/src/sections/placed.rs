//! The sections of a prompt in their places, and what is kept between renderings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};

use mcp_runtime::DynCallTool;
use mcp_runtime::middleware::Stack;
use minijinja::Environment;

use super::check::{self, Placed};
use super::error::{PromptError, RenderError};
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
    /// What calls go through where sections put layers around a server. They are put around once, so that what they
    /// remember lasts.
    layered: Mutex<Vec<Governed>>,
    /// The servers that sections made of their parameters.
    made: Mutex<BTreeMap<(usize, String), Made>>,
}

/// The servers of one name that a section made of its parameters: the last one is kept, others as long as somebody has them.
struct Made {
    latest: Arc<Handle>,
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
        let kinds = nodes.iter().map(|node| node.parts.kind).collect();
        Ok(Self { nodes, environment, kinds, reserved, layered: Mutex::default(), made: Mutex::default() })
    }

    /// The servers that were made of configurations, those for earlier parameters too.
    pub(super) fn own_servers(&self) -> Vec<Arc<Handle>> {
        let fixed = self.nodes.iter().flat_map(|node| &node.parts.servers).filter_map(|declared| match declared {
            Declared::Fixed(server) => Some(server.handle().clone()),
            Declared::FromParams(_) => None,
        });
        let made = locked(&self.made);
        let of_parameters = made.values().flat_map(|made| {
            let earlier = made.earlier.iter().filter_map(Weak::upgrade);
            [made.latest.clone()].into_iter().chain(earlier)
        });
        fixed.chain(of_parameters).filter(|handle| handle.config.is_some()).collect()
    }

    /// The parameters of each section.
    pub(super) fn resolve(&self, params: &PromptParams) -> Result<Vec<Held>, RenderError> {
        params.check(&self.kinds)?;
        let first_default = |kind: Kind| {
            let defaults = self.nodes.iter().filter_map(|node| node.parts.default.as_ref());
            defaults.into_iter().find(|held| held.kind() == kind)
        };
        let of_node = |node: &Placed| {
            let parts = &node.parts;
            let found =
                params.get(parts.kind).or(parts.default.as_ref()).or_else(|| first_default(parts.kind)).cloned();
            let made = || parts.construct.map(|construct| construct());
            let unit = || parts.kind.is_unit().then(|| Held::new(()));
            found
                .or_else(made)
                .or_else(unit)
                .ok_or_else(|| RenderError::MissingParams { section: node.path.clone(), type_name: parts.kind.name })
        };
        self.nodes.iter().map(of_node).collect()
    }

    /// What calls a server through the layers of these sections.
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
        // The closures are the program's: nothing is locked while they run.
        let stack = governors.values().flatten().fold(Stack::new(handle.caller()), |stack, layers| layers(stack));
        let mut layered = locked(&self.layered);
        find(&mut layered).unwrap_or_else(|| {
            let caller: Arc<dyn DynCallTool> = Arc::new(stack);
            let governors = governors.keys().copied().collect();
            layered.push(Governed { handle: Arc::downgrade(handle), governors, caller: caller.clone() });
            caller
        })
    }

    /// The servers of a section for its parameters.
    pub(super) fn servers(&self, index: usize, params: &Held) -> Result<Vec<SectionServer>, RenderError> {
        let Some(node) = self.nodes.get(index) else { return Ok(Vec::new()) };
        let mut servers: Vec<SectionServer> = Vec::new();
        for declared in &node.parts.servers {
            let found = match declared {
                Declared::Fixed(server) => vec![server.clone()],
                Declared::FromParams(make) => self.made(index, node, make(params.get()))?,
            };
            for server in found {
                if servers.iter().any(|other| other.name() == server.name()) {
                    let message = format!("two servers are called `{}`", mcp_model::printable(server.name()));
                    return Err(RenderError::Server { section: node.path.clone(), message });
                }
                servers.push(server);
            }
        }
        Ok(servers)
    }

    /// What a section made of its parameters, each the one that it made before where that is the same.
    fn made(&self, index: usize, node: &Placed, made: Vec<SectionServer>) -> Result<Vec<SectionServer>, RenderError> {
        let one = |server: SectionServer| {
            let problem = server.handle().problem(&self.reserved);
            if let Some(message) = problem {
                return Err(RenderError::Server { section: node.path.clone(), message });
            }
            // What the program calls by itself it keeps by itself: two clients of one configuration need not be alike.
            let handle = match &server.handle().config {
                Some(_) => self.kept(index, server.handle()),
                None => server.handle().clone(),
            };
            Ok(server.by(handle))
        };
        made.into_iter().map(one).collect()
    }

    fn kept(&self, index: usize, handle: &Arc<Handle>) -> Arc<Handle> {
        let mut made = locked(&self.made);
        let slot = made
            .entry((index, handle.name.clone()))
            .or_insert_with(|| Made { latest: handle.clone(), earlier: Vec::new() });
        if slot.latest.difference(handle).is_none() {
            return slot.latest.clone();
        }
        slot.earlier.retain(|earlier| earlier.strong_count() > 0);
        let again = slot.earlier.iter().filter_map(Weak::upgrade).find(|earlier| earlier.difference(handle).is_none());
        let next = again.unwrap_or_else(|| handle.clone());
        let before = std::mem::replace(&mut slot.latest, next.clone());
        slot.earlier.retain(|earlier| !std::ptr::eq(earlier.as_ptr(), Arc::as_ptr(&next)));
        slot.earlier.push(Arc::downgrade(&before));
        next
    }
}
