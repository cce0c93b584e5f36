//! A key of `mcp.toml`: its name, the form of its value, its default and its help.

/// A key of a table.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    /// The servers that it is for.
    pub(crate) reach: Reach,
    /// `true` if the key restricts calls. A configuration that only changes the connection keeps such a key.
    pub(crate) is_demand: bool,
    /// `true` if bindings embed its value, because it is used at run time.
    pub(crate) is_embedded: bool,
    /// The default as JSON, or in words; empty if the key has no default.
    pub(crate) default: &'static str,
    /// Its effect, in Markdown without links.
    pub(crate) help: &'static str,
    /// The page of the book about it.
    pub(crate) page: &'static str,
}

/// The form of a value.
pub(crate) enum Form {
    Text,
    Boolean,
    Number,
    /// A value of any type.
    Value,
    /// A port of this machine.
    Port,
    /// A number with a unit: `"30s"`.
    Duration,
    /// A number of calls in a time: `"10/s"`.
    Rate,
    /// A date: `"2027-01-31"`.
    Date,
    /// A word for names, or `false`.
    Prefix,
    Words(fn() -> Vec<&'static str>),
    Texts,
    /// Codes of diagnostics: `"MCP0006"`.
    Codes,
    /// Places of secrets: `"env"`, `"keyring"`, `"dotenv:.env"`.
    Stores,
    /// Texts by names.
    TextMap,
    /// Words by ids of rules.
    RuleMap(fn() -> Vec<&'static str>),
    /// Values of any type by names.
    ValueMap,
    /// One of the words, or strings.
    WordsOrTexts(fn() -> Vec<&'static str>),
    /// One of the words, or a table.
    WordsOrTable(fn() -> Vec<&'static str>, &'static [Key]),
    Table(&'static [Key]),
    Tables(&'static [Key]),
    /// Tables by names.
    TableMap(&'static [Key]),
}

/// The servers that a key is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Any,
    /// Only child processes.
    Child,
    /// Only servers with a `url`.
    Remote,
}

pub(crate) const fn key(name: &'static str, form: Form, default: &'static str, help: &'static str) -> Key {
    Key { name, form, reach: Reach::Any, is_demand: false, is_embedded: true, default, help, page: "" }
}

impl Key {
    pub(crate) const fn child(self) -> Self {
        Self { reach: Reach::Child, ..self }
    }

    pub(crate) const fn remote(self) -> Self {
        Self { reach: Reach::Remote, ..self }
    }

    pub(crate) const fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    pub(crate) const fn demand(self) -> Self {
        Self { is_demand: true, ..self }
    }

    pub(crate) const fn not_embedded(self) -> Self {
        Self { is_embedded: false, ..self }
    }

    pub(crate) const fn page(self, page: &'static str) -> Self {
        Self { page, ..self }
    }

    /// Returns the keys of the tables below it.
    pub(crate) const fn inner(&self) -> &'static [Self] {
        match self.form {
            Form::Table(keys) | Form::Tables(keys) | Form::TableMap(keys) | Form::WordsOrTable(_, keys) => keys,
            _ => &[],
        }
    }
}

/// Returns `true` if one of the keys has a name.
pub(crate) fn has(keys: &[Key], name: &str) -> bool {
    keys.iter().any(|key| key.name == name)
}
