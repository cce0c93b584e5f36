//! Prefixed names of tools, for models, templates, the proxy and the command line.
//!
//! A name is `PREFIX_TOOL`: the prefix of the server and the tool's name, both in snake case, so `get-sum` of
//! `everything` is `everything_get_sum`. It is also the name of the tool's handler, and every provider accepts it. If
//! it exceeds 64 characters, its end is replaced with a hash of the whole. If it would be ambiguous, it gets a
//! suffix: `_` and eight hexadecimal digits of a hash of the server's name. A name has the suffix
//!
//! - if a tool in the snapshot of another server has the same name;
//! - if another tool of the snapshot has it as its name on the server, if it is one of [`SET_CALLS`], or ends in the
//!   suffix of a server;
//! - for a tool without a snapshot also if any other tool of the server has it as its name there, if it begins with
//!   the longer prefix of another server, or if another server has the same prefix.
//!
//! Thus a name depends only on the configuration, the snapshots and the list of its own server. No order and no set of
//! connected servers affects it, and names of two servers never collide.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Config, Prefix, ServerConfig, Snapshot};
use serde_json::Value;

use super::{METHODS, Style, fingerprint, given_or_made};
use crate::keys::{in_order, set};

/// The group of a program's functions in a toolset. No server has this name.
pub const PROGRAM: &str = "program";

/// The group of the calls that open sections. No server has this name.
pub const SECTIONS: &str = "sections";

/// The tools that toolsets add themselves.
pub const SET_CALLS: [&str; 4] = ["find_tools", "call_tool", "open_sections", "read_section"];

/// The most characters that every provider accepts.
const LONGEST: usize = 64;
/// An underscore and eight digits.
const SUFFIX: usize = 9;
/// A longer prefix is not whole in a name that is cut.
const LONGEST_LEAD: usize = 40;

/// The prefixed names of the tools of several servers.
///
/// ```
/// use mcp_bindgen_model::Prefix;
/// use mcp_bindgen_schema::names::PrefixedNames;
///
/// let mut names = PrefixedNames::default();
/// names.add("everything", &Prefix::ServerName, []);
/// assert_eq!(names.tools("everything", &["get-sum", "echo"]), ["everything_get_sum", "everything_echo"]);
///
/// // Both servers have a tool that would be `a_b_c`.
/// for (server, tool) in [("a", "b_c"), ("a_b", "c")] {
///     names.add(server, &Prefix::ServerName, []);
///     names.add_snapshot(server, [tool]);
/// }
/// assert_eq!(names.tools("a", &["b_c"]), ["a_b_c_296230c0"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixedNames {
    /// Sorted by name.
    servers: Vec<Server>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Server {
    name: String,
    /// `github_`, or nothing.
    lead: String,
    /// `true` if tools keep their own names when every provider accepts them.
    is_bare: bool,
    /// `true` if these are the names of prompts.
    has_prompts: bool,
    renames: HashMap<String, String>,
    /// The names of views, which tools have without prefixes too.
    viewed: HashMap<String, String>,
    /// The tools of the snapshot, with their unmarked names, whole.
    plain: HashMap<String, String>,
    /// The unmarked names of these, at most 64 characters long.
    claims: HashSet<String>,
    /// Names that bindings have.
    bound: HashMap<String, String>,
}

/// Names that were assigned before, by tool.
pub type Given = HashMap<String, String>;

impl PrefixedNames {
    /// Adds a server, or replaces it: its prefix, and the tools that its configuration renames.
    pub fn add<'r>(&mut self, server: &str, prefix: &Prefix, renames: impl IntoIterator<Item = (&'r str, &'r str)>) {
        self.take(server);
        let mut added = Server { name: server.to_owned(), lead: lead(server, prefix), ..Server::default() };
        for (tool, name) in renames {
            added.renames.insert(tool.to_owned(), renamed(name));
        }
        self.put(added);
    }

    /// Returns the names of all servers of a configuration, from every readable snapshot.
    #[must_use]
    pub fn of_config(config: &Config) -> Self {
        let mut names = Self::default();
        for server in config.servers.values() {
            names.add_with_snapshot(server, &config.snapshot_path(&server.name));
        }
        names
    }

    /// Returns the servers of a configuration whose tools could collide with this one's, because the prefix of one
    /// begins with that of the other; usually none. Also returns the paths of their snapshots, readable or not.
    #[must_use]
    pub fn beside(config: &Config, server: &str) -> (Self, Vec<PathBuf>) {
        let (mut names, mut files) = (Self::default(), Vec::new());
        let Some(own) = config.servers.get(server) else { return (names, files) };
        let lead_of = |server: &ServerConfig| lead(&server.name, &server.prefix);
        let lead = lead_of(own);
        let is_related = |other: &&ServerConfig| {
            let other = lead_of(other);
            lead.starts_with(&other) || other.starts_with(&lead)
        };
        for other in config.servers.values().filter(|other| other.name != server).filter(is_related) {
            let path = config.snapshot_path(&other.name);
            names.add_with_snapshot(other, &path);
            files.push(path);
        }
        (names, files)
    }

    fn add_with_snapshot(&mut self, server: &ServerConfig, path: &Path) {
        self.add_configured(server);
        if let Ok(snapshot) = Snapshot::load(path) {
            self.add_listed(server, &snapshot.tools);
        }
    }

    /// Adds a server with its configuration, or replaces it.
    pub fn add_configured(&mut self, server: &ServerConfig) {
        let renames: Vec<(String, &str)> = server.renamed_tools().collect();
        self.add(&server.name, &server.prefix, renames.iter().map(|(tool, name)| (tool.as_str(), *name)));
        let mut added = self.take(&server.name);
        for (tool, view) in server.views.iter() {
            view.name.iter().for_each(|name| drop(added.viewed.insert(tool.clone(), name.clone())));
        }
        self.put(added);
    }

    /// Adds the tools of a snapshot that the configuration selects.
    pub fn add_listed(&mut self, server: &ServerConfig, tools: &[Value]) {
        let names = tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        self.add_snapshot(&server.name, names.filter(|name| server.selects(name)));
    }

    /// Adds the tools that a server's snapshot lists.
    pub fn add_snapshot<'t>(&mut self, server: &str, tools: impl IntoIterator<Item = &'t str>) {
        let mut server = self.take(server);
        for tool in tools {
            server.plain.insert(tool.to_owned(), String::new());
        }
        self.put(server);
    }

    /// Adds the names in bindings, which are fixed.
    pub fn add_bound<'t>(&mut self, server: &str, names: impl IntoIterator<Item = (&'t str, &'t str)>) {
        let mut server = self.take(server);
        for (tool, name) in names {
            server.plain.insert(tool.to_owned(), String::new());
            server.bound.insert(tool.to_owned(), name.to_owned());
        }
        self.put(server);
    }

    /// Adds the servers of others, and their facts about the same servers.
    #[inline]
    pub fn merge(&mut self, others: &Self) {
        for other in &others.servers {
            let mut server = if self.has(&other.name) { self.take(&other.name) } else { other.clone() };
            for tool in other.plain.keys() {
                server.plain.insert(tool.clone(), String::new());
            }
            for (tool, name) in &other.bound {
                server.bound.insert(tool.clone(), name.clone());
            }
            self.put(server);
        }
    }

    /// Returns `true` if it contains a server.
    #[must_use]
    pub fn has(&self, server: &str) -> bool {
        self.servers.iter().any(|known| known.name == server)
    }

    /// Returns the same servers with unprefixed names: a tool keeps its own name if every provider accepts it.
    #[must_use]
    pub fn without_prefixes(mut self) -> Self {
        for server in &mut self.servers {
            server.lead.clear();
            server.is_bare = true;
            server.bound.clear();
            server.plan();
        }
        self
    }

    /// Returns the names of a server's tools, in order. The list contains all tools that the configuration selects.
    #[must_use]
    pub fn tools(&self, server: &str, listed: &[&str]) -> Vec<String> {
        self.tools_beside(server, listed, &Given::new())
    }

    /// Names tools like [`tools`](Self::tools), while some tools keep earlier names.
    #[must_use]
    pub fn tools_beside(&self, server: &str, listed: &[&str], given: &Given) -> Vec<String> {
        let own = self.server(server);
        let (mut made, mut live) = (HashMap::new(), HashSet::new());
        let mut taken: HashSet<String> = given.values().cloned().collect();
        for (tool, name) in &own.bound {
            if is_accepted(name) {
                taken.insert(name.clone());
                made.insert(tool.clone(), name.clone());
            }
        }
        let mut unknown = Vec::new();
        for tool in in_order(listed) {
            live.insert(tool);
            if !own.plain.contains_key(tool) && !given.contains_key(tool) {
                unknown.push(tool);
            }
        }
        // Live tools change no name of the snapshot.
        let known = in_order(&own.plain.keys().map(String::as_str).collect::<Vec<_>>());
        let known = known.into_iter().map(|tool| (tool, own.plain.get(tool).cloned().unwrap_or_default(), true));
        let others = unknown.iter().zip(own.plain_names(&unknown)).map(|(tool, whole)| (*tool, whole, false));
        for (tool, whole, is_known) in known.chain(others) {
            if made.contains_key(tool) {
                continue;
            }
            let plain = cut(&whole, LONGEST);
            let is_tool = own.plain.contains_key(&plain) || !is_known && live.contains(plain.as_str());
            let is_marked = whole.len() > LONGEST && own.lead.len() > LONGEST_LEAD
                || plain != tool && is_tool
                || SET_CALLS.contains(&plain.as_str())
                || self.has_mark(&plain, server)
                || self.others(server).any(|other| other.claims(&plain))
                || !is_known && self.others(server).any(|other| other.may_claim(&own.lead, &plain));
            let name = if is_marked { marked(&whole, server) } else { plain };
            let name = free_name(name, &whole, &whole, server, |name| taken.insert(name.to_owned()));
            made.insert(tool.to_owned(), name);
        }
        listed.iter().map(|tool| given.get(*tool).or_else(|| made.get(*tool)).cloned().unwrap_or_default()).collect()
    }

    /// Returns the names of a server's prompts, which never equal those of tools in a snapshot.
    #[must_use]
    pub fn prompts_beside(&self, server: &str, listed: &[&str], given: &Given) -> Vec<String> {
        let mut prompts = Self::default();
        for Server { name, lead, is_bare, .. } in &self.servers {
            let (name, lead, is_bare) = (name.clone(), lead.clone(), *is_bare);
            prompts.servers.push(Server { name, lead, is_bare, has_prompts: true, ..Server::default() });
        }
        prompts.tools_beside(server, listed, given)
    }

    /// Returns `true` if a tool of the server can have this name.
    #[must_use]
    pub fn may_have(&self, server: &str, name: &str) -> bool {
        name.starts_with(head(&self.server(server).lead, LONGEST_LEAD))
    }

    /// Removes a server, as it is known, or as it would be.
    fn take(&mut self, name: &str) -> Server {
        let place = self.servers.iter().position(|known| known.name == name);
        place.map_or_else(|| Server::named(name), |place| self.servers.remove(place))
    }

    /// Adds a server, and names the tools of its snapshot.
    fn put(&mut self, mut server: Server) {
        server.plan();
        let place = self.servers.partition_point(|known| known.name < server.name);
        self.servers.insert(place, server);
    }

    /// Returns a server as it is known, or as it would be.
    fn server(&self, name: &str) -> Cow<'_, Server> {
        let known = self.servers.iter().find(|known| known.name == name);
        known.map_or_else(|| Cow::Owned(Server::named(name)), Cow::Borrowed)
    }

    /// Returns `true` if a name ends in the mark of a server.
    fn has_mark(&self, name: &str, own: &str) -> bool {
        let Some((_, end)) = name.rsplit_once('_').filter(|(_, end)| end.len() == SUFFIX - 1) else { return false };
        end == fingerprint(own) || self.servers.iter().any(|server| end == fingerprint(&server.name))
    }

    fn others<'s>(&'s self, server: &'s str) -> impl Iterator<Item = &'s Server> {
        self.servers.iter().filter(move |other| other.name != server)
    }
}

impl Server {
    fn named(name: &str) -> Self {
        Self { name: name.to_owned(), lead: lead(name, &Prefix::ServerName), ..Self::default() }
    }

    /// Computes the names of the snapshot's tools.
    fn plan(&mut self) {
        let known = std::mem::take(&mut self.plain);
        let tools: Vec<&str> = known.keys().map(String::as_str).collect();
        self.claims.clear();
        for (tool, whole) in tools.iter().zip(self.plain_names(&tools)) {
            self.claims.insert(self.bound.get(*tool).cloned().unwrap_or_else(|| cut(&whole, LONGEST)));
            self.plain.insert((*tool).to_owned(), whole);
        }
    }

    /// Returns the names of tools before they are cut and marked, beside those of the snapshot.
    fn plain_names(&self, tools: &[&str]) -> Vec<String> {
        if self.is_bare {
            let viewed = tools.iter().map(|tool| self.viewed.get(*tool).map_or(*tool, String::as_str));
            let names: Vec<String> = viewed.map(str::to_owned).collect();
            let is_distinct = self.viewed.is_empty() || set(&names).len() == names.len();
            if is_distinct && names.iter().all(|name| is_accepted(name)) {
                return names;
            }
        }
        let renames: Vec<Option<String>> = tools.iter().map(|tool| self.renames.get(*tool).cloned()).collect();
        let (methods, kind) = if self.has_prompts { (&[][..], "prompt") } else { (METHODS, "tool") };
        let mut reserved = methods.to_vec();
        for name in self.plain.values() {
            reserved.extend(name.strip_prefix(&self.lead));
        }
        let mut names = given_or_made(Style::Snake, tools, &renames, &reserved, kind);
        names.iter_mut().for_each(|name| name.insert_str(0, &self.lead));
        names
    }

    /// Returns `true` if a tool of the snapshot has this unmarked name.
    fn claims(&self, name: &str) -> bool {
        // This check runs for each pair of a tool and a server; comparing the prefix is cheaper than hashing the name.
        (name.starts_with(head(&self.lead, LONGEST_LEAD)) || !self.bound.is_empty()) && self.claims.contains(name)
    }

    /// Returns `true` if a tool of this server that is in no snapshot could have the unmarked name of another server's
    /// tool.
    fn may_claim(&self, lead: &str, name: &str) -> bool {
        self.lead == lead || (self.lead.len() > lead.len() && name.starts_with(head(&self.lead, LONGEST_LEAD)))
    }
}

/// Makes names unique: ambiguous ones get a suffix from their server. Each is given with its server and its tool.
#[must_use]
pub fn told_apart(wanted: &[(&str, &str, String)], is_taken: impl Fn(&str) -> bool) -> Vec<String> {
    let mut count: HashMap<&str, usize> = HashMap::new();
    wanted.iter().for_each(|(.., name)| *count.entry(name).or_default() += 1);
    let is_free = |name: &str| count.get(name) == Some(&1) && !is_taken(name);
    let mut used: HashSet<String> = wanted.iter().map(|(.., name)| name.clone()).collect();
    let mut open: Vec<_> = wanted.iter().enumerate().filter(|(_, (.., name))| !is_free(name)).collect();
    open.sort_by_key(|(_, (server, tool, _))| (*server, *tool));
    let mut names: Vec<String> = wanted.iter().map(|(.., name)| name.clone()).collect();
    for (place, (server, tool, name)) in open {
        let is_free = |made: &str| !is_taken(made) && used.insert(made.to_owned());
        let made = free_name(marked(name, server), name, tool, server, is_free);
        if let Some(name) = names.get_mut(place) {
            *name = made;
        }
    }
    names
}

/// Returns the name, or a longer one with a hash of the whole name and its purpose if the name is taken.
fn free_name(mut name: String, whole: &str, of: &str, server: &str, mut is_free: impl FnMut(&str) -> bool) -> String {
    let mut longer = of.to_owned();
    while !is_free(&name) {
        longer.push('x');
        name = marked(&format!("{}_{}", head(whole, LONGEST - 2 * SUFFIX), fingerprint(&longer)), server);
    }
    name
}

/// Returns `true` if every provider accepts a name: `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`.
#[must_use]
pub fn is_accepted(name: &str) -> bool {
    name.len() <= LONGEST
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Returns the name that a configuration gives to a tool.
fn renamed(name: &str) -> String {
    let name = name.strip_prefix("r#").unwrap_or(name);
    if is_accepted(name) { name.to_owned() } else { Style::Snake.apply(name) }
}

/// Returns the beginning of the names of a server's tools.
fn lead(server: &str, prefix: &Prefix) -> String {
    let prefix = match prefix {
        Prefix::ServerName => server,
        Prefix::Named(prefix) => prefix,
        Prefix::None => return String::new(),
    };
    format!("{}_", Style::Snake.apply(prefix))
}

/// Returns the name with at most `room` bytes: a fingerprint of the whole replaces its end.
fn cut(whole: &str, room: usize) -> String {
    if whole.len() <= room {
        return whole.to_owned();
    }
    format!("{}_{}", head(whole, room - SUFFIX).trim_end_matches('_'), fingerprint(whole))
}

fn marked(whole: &str, server: &str) -> String {
    format!("{}_{}", cut(whole, LONGEST - SUFFIX), fingerprint(server))
}

/// Returns at most `length` bytes of a name, which is ASCII.
fn head(text: &str, length: usize) -> &str {
    text.get(..length.min(text.len())).unwrap_or(text)
}
