//! The user's rules for the generated code with their origins: `derive`, `rename`, `extern`, `shared` and switches.

use mcp_bindgen_model::{ConfigPlace, FileError, ServerConfig, pointer_segment};
use proc_macro2::Span;

/// The rules of a server, the configuration's first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules(pub(crate) Vec<Rule>);

/// One entry.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) kind: Kind,
    pub(crate) key: String,
    pub(crate) value: String,
    /// `true` for the name of a view.
    is_view: bool,
    /// The position in the configuration, if the rule is there.
    place: Option<ConfigPlace>,
    /// The literals of key and value in the macro. For a rule of the configuration both are the name of the server.
    spans: Option<[Span; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its key is empty.
    Derive,
    /// A place, and the name for it.
    Rename,
    /// The pointer of a definition, and the path of a type.
    Extern,
    /// The name of a type, and a place.
    Shared,
    /// The key of a switch, and `true` or `false`.
    Switch,
}

/// The switches for every type.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Switches {
    /// A chained setter for every optional field.
    pub(crate) setters: bool,
    /// A builder in place of `new`, for structs with required properties.
    pub(crate) named: bool,
    /// Newtypes for the strings and numbers of arguments that the schema narrows.
    pub(crate) checked: bool,
}

/// The keys of the switches.
pub(crate) const SETTERS: &str = "setters";
pub(crate) const NAMED: &str = "named";
pub(crate) const CHECKED: &str = "checked";

/// A rule that does not fit the tools.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RuleFault {
    /// The error, with its position in the configuration and the next step.
    pub error: FileError,
    /// The literal of the macro that is wrong.
    pub(crate) span: Option<Span>,
    /// `true` if the rule is in the configuration.
    pub(crate) is_configured: bool,
}

impl Rule {
    /// Creates a rule from code.
    pub(crate) fn new(kind: Kind, key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { kind, key: key.into(), value: value.into(), is_view: false, place: None, spans: None }
    }

    /// Sets the literals of the macro.
    pub(crate) fn at(self, key: Span, value: Span) -> Self {
        Self { spans: Some([key, value]), ..self }
    }

    /// Returns an error about the key.
    pub(crate) fn fault_of_key(&self, message: String, help: impl Into<String>) -> RuleFault {
        let message = format!("in `{}`: {message}", self.config_key());
        self.fault(message, help.into(), self.spans.map(|[key, _]| key))
    }

    /// Returns an error about the value.
    pub(crate) fn fault_of_value(&self, message: String, help: impl Into<String>) -> RuleFault {
        let message = format!("in `{}`: {message}", self.config_key());
        self.fault(message, help.into(), self.spans.map(|[_, value]| value))
    }

    /// Returns the error of a rule that the backend of the types ignores.
    pub(crate) fn without_effect(&self) -> RuleFault {
        let message = format!("`{}` has no effect with `types = \"typify\"`", self.config_key());
        self.fault(message, "remove one of the two".to_owned(), self.spans.map(|[key, _]| key))
    }

    fn fault(&self, message: String, help: String, span: Option<Span>) -> RuleFault {
        let error = self.place.as_ref().map_or_else(|| FileError::new(&message), |place| place.error(&message));
        RuleFault { error: error.with_help(help), span, is_configured: self.place.is_some() }
    }

    /// Returns the key of the configuration that such rules are in.
    fn config_key(&self) -> &str {
        match self.kind {
            Kind::Derive => "derive",
            Kind::Rename if self.is_view => "view",
            Kind::Rename => "rename",
            Kind::Extern => "extern",
            Kind::Shared => "shared",
            Kind::Switch => &self.key,
        }
    }

    /// Returns the span for code that comes of the rule.
    pub(crate) fn span(&self) -> Span {
        self.spans.map_or_else(Span::call_site, |[_, value]| value)
    }
}

impl From<&ServerConfig> for Rules {
    fn from(config: &ServerConfig) -> Self {
        let rust = &config.rust;
        let lists = [
            (Kind::Derive, &rust.derive),
            (Kind::Rename, &rust.rename),
            (Kind::Extern, &rust.extern_types),
            (Kind::Shared, &rust.shared),
            (Kind::Switch, &rust.switches),
        ];
        let rules = lists.into_iter().flat_map(|(kind, rules)| rules.iter().map(move |rule| (kind, rule)));
        let rules = rules
            .map(|(kind, rule)| Rule { place: Some(rule.place.clone()), ..Rule::new(kind, &rule.key, &rule.value) });
        let views = config.views.iter().filter_map(|(tool, view)| {
            let rule = Rule::new(Kind::Rename, pointer_segment(tool), view.name.clone()?);
            Some(Rule { is_view: true, place: Some(view.place("name")), ..rule })
        });
        Self(rules.chain(views).collect())
    }
}

impl Rules {
    /// Returns the rules of one kind.
    pub(crate) fn of(&self, kind: Kind) -> Vec<&Rule> {
        self.0.iter().filter(|rule| rule.kind == kind).collect()
    }

    pub(crate) fn switches(&self) -> Switches {
        let rules = self.of(Kind::Switch);
        let is_on = |key: &str| rules.iter().any(|rule| rule.key == key && rule.value == "true");
        Switches { setters: is_on(SETTERS), named: is_on(NAMED), checked: is_on(CHECKED) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the rules of the configuration.
    pub(crate) fn configured(&self) -> Self {
        Self(self.0.iter().filter(|rule| rule.place.is_some()).cloned().collect())
    }

    /// Sets the span of the code that the configuration's rules generate.
    pub(crate) fn configured_at(&mut self, span: Span) {
        for rule in self.0.iter_mut().filter(|rule| rule.place.is_some()) {
            rule.spans = Some([span; 2]);
        }
    }

    /// Adds a rule. Of two for one key the later holds; derives have none.
    pub(crate) fn add(&mut self, rule: Rule) {
        self.0.retain(|known| rule.kind == Kind::Derive || (known.kind, &known.key) != (rule.kind, &rule.key));
        self.0.push(rule);
    }

    /// Adds the rules of others.
    pub(crate) fn extend(&mut self, others: Self) {
        others.0.into_iter().for_each(|rule| self.add(rule));
    }

    /// Adds a switch that was set in code.
    pub(crate) fn switch(&mut self, key: &str, on: bool) {
        self.add(Rule::new(Kind::Switch, key, on.to_string()));
    }
}

/// Declares the methods that add rules, for a type with [`Rules`].
macro_rules! rule_methods {
    ($type:ty, $($rules:tt)+) => {
        impl $type {
            /// Adds derives: `"Eq"`, `"PartialOrd"` and the like on types that can have them, any other path on every type.
            pub fn derive<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
                for path in paths {
                    self.$($rules)+.add($crate::rules::Rule::new($crate::rules::Kind::Derive, "", path));
                }
                self
            }

            /// Renames a tool (`"create_issue"`) or the field of a property (`"create_issue/labels"`,
            /// `"create_issue/$output/number"`, `"create_entities/entities/*/name"`). The JSON keeps the original names.
            pub fn rename(mut self, place: impl Into<String>, name: impl Into<String>) -> Self {
                self.$($rules)+.add($crate::rules::Rule::new($crate::rules::Kind::Rename, place, name));
                self
            }

            /// Uses a type of the program, which implements serde's traits, for a definition: `"#/$defs/Money"`,
            /// `"crate::Money"`.
            pub fn extern_type(mut self, pointer: impl Into<String>, path: impl Into<String>) -> Self {
                self.$($rules)+.add($crate::rules::Rule::new($crate::rules::Kind::Extern, pointer, path));
                self
            }

            /// Uses one type with this name for every place with the same shape as the given one: `"Entity"`,
            /// `"create_entities/entities/*"`.
            pub fn shared(mut self, name: impl Into<String>, place: impl Into<String>) -> Self {
                self.$($rules)+.add($crate::rules::Rule::new($crate::rules::Kind::Shared, name, place));
                self
            }

            /// Generates setters for the optional fields of parameters: `Params::new("title").labels(labels)`.
            pub fn setters(mut self, on: bool) -> Self {
                self.$($rules)+.switch($crate::rules::SETTERS, on);
                self
            }

            /// Generates a builder instead of a positional `new`; its `build` is available once all required properties
            /// are set: `Params::builder().title("t").build()`.
            pub fn named(mut self, on: bool) -> Self {
                self.$($rules)+.switch($crate::rules::NAMED, on);
                self
            }

            /// Generates newtypes for strings and numbers of arguments with a pattern, a length or bounds: they cannot
            /// hold invalid values. Results keep plain types.
            pub fn checked(mut self, on: bool) -> Self {
                self.$($rules)+.switch($crate::rules::CHECKED, on);
                self
            }
        }
    };
}
pub(crate) use rule_methods;
