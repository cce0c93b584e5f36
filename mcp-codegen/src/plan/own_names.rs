use mcp_bindgen_model::Prefix;

use crate::names::{STANDARD, Style};
use crate::options::Options;

/// The names in a module beside its tools.
pub(super) struct OwnNames {
    /// The prefix of handlers and types, as a word of an identifier.
    pub(super) prefix: Option<String>,
    pub(super) client_type: String,
    pub(super) call_type: String,
}

/// Names that generated code takes from the library, beside those of the standard library.
const LIBRARY: &str = "BTreeMap CallError CallTool Client ConnectError Map Nullable Prefixed Send ServerSpec Servers \
                       Tool ToolCall ToolResult ToolSpec Value";

/// Returns the names that no generated type may have.
pub(super) fn reserved<'n>() -> impl Iterator<Item = &'n str> {
    [STANDARD, LIBRARY].into_iter().flat_map(|names| names.split(' '))
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
        while [client_type.as_str(), &call(&client_type)].iter().any(|name| reserved().any(|known| known == *name)) {
            client_type.push_str("Server");
        }
        let call_type = call(&client_type);
        Self { prefix, client_type, call_type }
    }

    /// Returns the prefix of types.
    pub(super) fn type_prefix(&self) -> String {
        self.prefix.as_deref().map(|prefix| Style::Pascal.apply(prefix)).unwrap_or_default()
    }
}

#[cfg(feature = "templates")]
impl Options {
    /// Returns `true` if a tool of this server can have this prefixed name.
    pub(crate) fn leads(&self, prefixed: &str) -> bool {
        let mut names = mcp_bindgen_schema::names::PrefixedNames::default();
        names.add(&self.server.name, &self.server.prefix, []);
        names.may_have(&self.server.name, prefixed)
    }
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
        let mut known: Vec<&str> = reserved().collect();
        known.sort_unstable();
        assert_eq!(known, exported);
    }
}
