//! Views of tools: `[servers.x.view.TOOL]`.

use std::fmt;

use serde_json::{Map, Value};

use super::{ConfigPlace, ConfigPlaces};
use crate::FileError;
use crate::config::key::{Form, Key, key};
use crate::config::read::{Node, Reader};
use crate::config::table::{ConfigValue, Table, table};
use crate::json_text::object;
use crate::secrets::quoted;

table! {
    /// A view of a tool: what programs and models see of it. The server never learns of it: calls have the tool's own name
    /// and all of its arguments.
    ///
    /// ```
    /// use mcp_bindgen_model::{View, ServerConfig};
    ///
    /// let mut view = View::new();
    /// view.name = Some("open_issue".to_owned());
    /// view.fixed.insert("owner".to_owned(), "rust-lang".into());
    /// let server = ServerConfig::stdio("github", "github-mcp").view("create_issue", view);
    ///
    /// let mut arguments = serde_json::Map::from_iter([("title".to_owned(), "It broke".into())]);
    /// let view = server.views.get("create_issue").expect("it was added");
    /// view.complete(&mut arguments).expect("nothing speaks against it");
    /// assert_eq!(arguments["owner"], "rust-lang");
    /// ```
    #[derive(Clone, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct View {
        /// The name instead of the tool's own, in snake case.
        pub name: Option<String> => "name", "", "the name instead of the tool's own, in snake case";
        /// The title instead of the server's.
        pub title: Option<String> => "title", "", "the title instead of the server's";
        /// The description instead of the server's.
        pub description: Option<String> => "description", "", "the description instead of the server's";
        /// The hints (`readOnlyHint` and the like) that are stricter than the server's: each has its strict value.
        pub hints: Vec<Hint> => "hints", "", "hints that are stricter than the server's";
        /// Arguments that every call has, with these values. They cannot be seen.
        pub fixed: Map<String, Value> => "fixed", "{}",
            "arguments that every call has, with their values; nobody sees or changes them";
        /// Values of arguments that a call does not have.
        pub default: Map<String, Value> => "default", "{}", "values of arguments that a call does not have";
        /// Arguments that cannot be seen or sent; one with a default always has that.
        pub hide: Vec<String> => "hide", "[]",
            "arguments that nobody sees or sends; with a value in `default`, every call has that";
    }
    with {
        /// The positions of its keys in the configuration, such as `fixed/owner`.
        pub(crate) places: ConfigPlaces = ConfigPlaces::default();
    }
}

/// A hint about the behaviour of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hint {
    /// `readOnlyHint`
    ReadOnly,
    /// `destructiveHint`
    Destructive,
    /// `idempotentHint`
    Idempotent,
    /// `openWorldHint`
    OpenWorld,
}

impl Hint {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Destructive, Self::Idempotent, Self::OpenWorld];

    /// Returns the word in `mcp.toml`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Destructive => "destructive",
            Self::Idempotent => "idempotent",
            Self::OpenWorld => "open_world",
        }
    }

    /// Returns the key of the protocol.
    #[must_use]
    pub const fn wire(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnlyHint",
            Self::Destructive => "destructiveHint",
            Self::Idempotent => "idempotentHint",
            Self::OpenWorld => "openWorldHint",
        }
    }

    /// Returns the value that makes clients more careful, the only one that a view can set.
    #[must_use]
    pub const fn strict(self) -> bool {
        matches!(self, Self::Destructive | Self::OpenWorld)
    }
}

/// An argument that a view does not let a call have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewRefusal {
    /// The argument.
    pub argument: String,
    /// The reason, without any value.
    pub message: String,
}

impl View {
    /// Creates a view that changes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the fixed arguments of a call, and the defaults of its missing arguments. A second call changes nothing.
    ///
    /// # Errors
    /// Fails if the call has a hidden argument, or another value for a fixed one.
    pub fn complete(&self, arguments: &mut Map<String, Value>) -> Result<(), ViewRefusal> {
        for (argument, value) in arguments.iter() {
            let message = match self.fixed_value(argument) {
                Some(fixed) if fixed == value => continue,
                Some(_) => "the configuration sets this argument; leave it out",
                None if self.hides(argument) => "the configuration hides this argument; leave it out",
                None => continue,
            };
            return Err(ViewRefusal { argument: argument.clone(), message: message.to_owned() });
        }
        for (argument, value) in self.fixed.iter().chain(&self.default) {
            if !arguments.contains_key(argument) {
                arguments.insert(argument.clone(), value.clone());
            }
        }
        Ok(())
    }

    /// Returns the value that every call has for an argument.
    #[must_use]
    pub fn fixed_value(&self, argument: &str) -> Option<&Value> {
        self.fixed.get(argument).or_else(|| self.default.get(argument).filter(|_| self.hides(argument)))
    }

    /// Returns `true` if `hide` names an argument.
    #[must_use]
    pub fn hides(&self, argument: &str) -> bool {
        self.hide.iter().any(|hidden| hidden == argument)
    }

    /// Returns the arguments that cannot be seen: fixed ones and hidden ones.
    pub fn hidden_arguments(&self) -> impl Iterator<Item = &str> {
        let hidden = self.hide.iter().filter(|argument| !self.fixed.contains_key(*argument));
        self.fixed.keys().chain(hidden).map(String::as_str)
    }

    /// Returns an error at the position of one of its keys, such as `fixed/owner`, or of the view.
    pub fn error(&self, key: &str, message: impl Into<String>) -> FileError {
        self.place(key).error(message)
    }

    /// Returns the position of one of its keys, such as `fixed/owner`, or of the view.
    #[must_use]
    pub fn place(&self, key: &str) -> ConfigPlace {
        self.places.of(key)
    }
}

/// Omits the values, because they are arguments of calls.
impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("name", &self.name)
            .field("title", &self.title)
            .field("description", &self.description)
            .field("hints", &self.hints)
            .field("fixed", &self.fixed.keys().collect::<Vec<_>>())
            .field("default", &self.default.keys().collect::<Vec<_>>())
            .field("hide", &self.hide)
            .finish_non_exhaustive()
    }
}

/// The table is this project's in every kind of file, so an unknown key in it is always an error.
impl ConfigValue for View {
    const FORM: Form = Form::Table(Self::KEYS);

    fn read(reader: &Reader<'_>, node: &Node, _: &str) -> Result<Self, FileError> {
        let what = &match node.key.as_str() {
            "" => "the view".to_owned(),
            tool => format!("the view of tool `{}`", quoted(tool)),
        };
        let view = Self { places: reader.places(node), ..Self::new() }.filled(reader, node, what)?;
        if let (Some(name), Some(node)) = (&view.name, node.get("name")) {
            reader.check_snake_case(node.at, name, format!("`name` in {what} is not a name in snake case"))?;
        }
        let is_fixed = |argument: &&String| view.fixed.contains_key(*argument);
        let twice = |key: &str, argument: &str, help: &str| {
            let message = format!("{what} has `{}` in both `fixed` and `{key}`", quoted(argument));
            Err(view.error(&format!("{key}/{argument}"), message).with_help(help))
        };
        if let Some(both) = view.default.keys().find(is_fixed) {
            return twice("default", both, "keep one of the two");
        }
        if let Some(both) = view.hide.iter().find(is_fixed) {
            return twice("hide", both, "remove it from `hide`: a fixed argument cannot be seen");
        }
        Ok(view)
    }

    fn to_json(&self) -> Value {
        self.members().into()
    }
}

const HINTS: &[Key] = &[
    key("read_only", Form::BOOLEAN, "", "`false`: the tool may change something"),
    key("destructive", Form::BOOLEAN, "", "`true`: it may delete or overwrite something"),
    key("idempotent", Form::BOOLEAN, "", "`false`: a second call may have a second effect"),
    key("open_world", Form::BOOLEAN, "", "`true`: it may reach systems beyond the server"),
];

impl ConfigValue for Vec<Hint> {
    const FORM: Form = Form::Table(HINTS);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let mut hints = Self::new();
        for node in reader.known(node, what, HINTS)? {
            let what = format!("`{}` in {what}", node.key);
            let value = bool::read(reader, node, &what)?;
            let Some(hint) = Hint::ALL.iter().copied().find(|hint| hint.name() == node.key) else { continue };
            if value != hint.strict() {
                let message = format!("{what} cannot be `{value}`: retries and caches rely on it");
                let help = format!("a view only makes hints stricter: remove it, or write `{}`", hint.strict());
                return Err(reader.error(node.at, message).with_help(help));
            }
            hints.insert(hints.partition_point(|known| *known < hint), hint);
        }
        Ok(hints)
    }

    fn to_json(&self) -> Value {
        object(self.iter().map(|hint| (hint.name(), Some(hint.strict().into()))).collect()).into()
    }
}
