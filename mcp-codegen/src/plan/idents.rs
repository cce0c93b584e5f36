//! The names of a module's items: those that every module has, and those of its tools.

use std::collections::{HashMap, HashSet};

use mcp_bindgen_model::{Prefix, Snapshot, canonical_object};
use mcp_bindgen_schema::names::PrefixedNames;
use serde_json::{Map, Value};

use crate::names::{self, STANDARD, Style, ToolNames, fingerprint};
use crate::options::Options;
use crate::patterns::tool_names;
use crate::table::sorted;

/// The names in a module beside its tools.
#[derive(Debug)]
pub(crate) struct OwnNames {
    /// The beginning of the names of handlers: `github_`, or nothing.
    pub(super) handler_lead: String,
    /// The beginning of the names of types: `Github`, or nothing.
    pub(super) type_lead: String,
    /// `Github`
    pub(crate) client_type: String,
    /// `GithubCall`
    pub(crate) call_type: String,
}

/// Names that generated code takes from the library, beside those of the standard library.
const LIBRARY: &str = "BTreeMap CallError CallTool Client ConnectError Map Nullable Prefixed Send ServerSpec Servers \
                       Tool ToolCall ToolResult ToolSpec Value";

/// Returns the names that no generated type may have.
pub(super) fn reserved() -> Vec<&'static str> {
    STANDARD.split(' ').chain(LIBRARY.split(' ')).collect()
}

impl OwnNames {
    pub(super) fn new(options: &Options) -> Self {
        let prefix = match &options.server.prefix {
            Prefix::ServerName => Some(Style::Snake.apply(&options.server.name)),
            Prefix::Named(prefix) => Some(Style::Snake.apply(prefix)),
            Prefix::None => None,
        };
        let mut client_type = Style::Pascal.apply(prefix.as_deref().unwrap_or(&options.server.name));
        let call = |client_type: &str| format!("{client_type}Call");
        let reserved = reserved();
        while reserved.contains(&client_type.as_str()) || reserved.contains(&call(&client_type).as_str()) {
            client_type.push_str("Server");
        }
        Self {
            handler_lead: prefix.as_ref().map(|prefix| format!("{prefix}_")).unwrap_or_default(),
            type_lead: prefix.map(|prefix| Style::Pascal.apply(&prefix)).unwrap_or_default(),
            call_type: call(&client_type),
            client_type,
        }
    }

    /// Returns the beginning of the names of a tool's types, or of those of a prompt or resource template.
    pub(super) fn type_stem(&self, name: &str) -> String {
        let stem = format!("{}{name}", self.type_lead);
        if stem.starts_with(|first: char| first.is_ascii_digit()) { format!("N{stem}") } else { stem }
    }

    /// Returns the names of the module's own types.
    pub(super) fn types(&self) -> [&str; 2] {
        [&self.client_type, &self.call_type]
    }
}

#[cfg(feature = "templates")]
impl Options {
    /// Returns `true` if a tool of this server can have this prefixed name.
    pub(crate) fn leads(&self, prefixed: &str) -> bool {
        let mut names = PrefixedNames::default();
        names.add(&self.server.name, &self.server.prefix, []);
        names.may_have(&self.server.name, prefixed)
    }
}

/// The names of a tool in Rust.
#[derive(Clone, Debug)]
pub(crate) struct ToolIdents {
    /// `create_issue`
    pub(crate) method: String,
    /// `CreateIssue`
    pub(crate) variant: String,
    /// `github_create_issue`
    pub(crate) handler: String,
    /// `github_create_issue` as models know the tool; see [`mcp_bindgen_schema::names::PrefixedNames`].
    pub(crate) prefixed: String,
    /// `GithubCreateIssueParams`
    pub(crate) params: String,
    /// `GithubCreateIssueOutput`
    pub(crate) output: String,
    /// The name has a suffix, because another tool's reads the same.
    pub(crate) renamed: bool,
}

impl ToolIdents {
    /// Creates the names of all tools; `given` has those that the user chose.
    pub(super) fn all(
        snapshot: &Snapshot,
        options: &Options,
        keys: &[&str],
        given: &[Option<String>],
        own: &OwnNames,
    ) -> Vec<Self> {
        let prefixed = prefixed(snapshot, options, keys, given);
        let mut all = Vec::new();
        for (place, (ToolNames { method, variant }, prefixed)) in
            names::tools(keys, given).into_iter().zip(prefixed).enumerate()
        {
            let stem = own.type_stem(&variant);
            let as_declared = keys.get(place).map(|tool| Style::Snake.apply(tool));
            let is_given = given.get(place).is_some_and(Option::is_some);
            all.push(Self {
                handler: format!("{}{method}", own.handler_lead),
                prefixed,
                params: format!("{stem}Params"),
                output: format!("{stem}Output"),
                renamed: !is_given && as_declared.as_ref() != Some(&method),
                method,
                variant,
            });
        }
        all
    }
}

/// Returns the prefixed name of each tool, by key. Tools that only the macro or build script excludes count.
fn prefixed(snapshot: &Snapshot, options: &Options, keys: &[&str], given: &[Option<String>]) -> Vec<String> {
    let mut names = PrefixedNames::clone(&options.beside);
    let renames = keys.iter().zip(given).filter_map(|(key, given)| Some((*key, given.as_deref()?)));
    names.add(&options.server.name, &options.server.prefix, renames);
    let listed = tool_names(snapshot).into_iter().filter(|tool| options.server.selects(tool));
    names.add_snapshot(&options.server.name, keys.iter().copied().chain(listed));
    names.tools(&options.server.name, keys)
}

/// Returns a key for each item of a list: its name. Of several with one name the least by content has it, and the
/// others have a fingerprint behind it.
pub(super) fn unique_keys(items: &[(&str, &Map<String, Value>)]) -> Vec<String> {
    let (mut keys, mut taken) = (Vec::new(), HashSet::new());
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, (name, _)) in items.iter().enumerate() {
        keys.push((*name).to_owned());
        taken.insert((*name).to_owned());
        by_name.entry(name).or_default().push(place);
    }
    // The keys of two names differ, so that the order of names does not matter.
    for (name, places) in by_name.iter().filter(|(_, places)| places.len() > 1) {
        let content = |(_, item): &(&str, &Map<String, Value>)| canonical_object(item);
        let contents: Vec<Option<String>> = places.iter().map(|place| items.get(*place).map(content)).collect();
        let order = sorted(contents.len(), &|left, right| contents.get(left).cmp(&contents.get(right)));
        for rank in order.into_iter().skip(1) {
            let Some(Some(content)) = contents.get(rank) else { continue };
            let mut key = format!("{name} {}", fingerprint(content));
            while !taken.insert(key.clone()) {
                key.push('x');
            }
            if let Some(slot) = places.get(rank).and_then(|place| keys.get_mut(*place)) {
                *slot = key;
            }
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prelude_names_are_complete() {
        let source = include_str!("../../../runtime/src/generated/prelude.rs");
        let names = source.lines().filter(|line| line.starts_with("pub use")).flat_map(|line| {
            line.split(|char: char| !char.is_alphanumeric()).filter(|word| word.starts_with(char::is_uppercase))
        });
        let mut exported: Vec<&str> = names.chain(["Self"]).collect();
        exported.sort_unstable();
        exported.dedup();
        let mut known = reserved();
        known.sort_unstable();
        assert_eq!(known, exported);
    }
}
