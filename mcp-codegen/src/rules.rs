//! The user's rules for the generated code with their origins: `derive`, `rename`, `extern`, `shared` and switches.

use mcp_bindgen_model::{ConfigPlace, FileError, ServerConfig, pointer_segment};
use proc_macro2::Span;

/// The rules of a server, the configuration's first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules(pub(crate) Vec<Rule>);

/// One entry.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// The option of `[servers.x.rust]` that it belongs to.
    pub(crate) option: &'static str,
    /// The key; empty for a derive or a switch.
    pub(crate) key: String,
    /// The value; `true` or `false` for a switch.
    pub(crate) value: String,
    /// `true` for the name of a view.
    is_view: bool,
    /// The position in the configuration, if the rule is there.
    place: Option<ConfigPlace>,
    /// The literals of key and value in the macro. For a rule of the configuration both are the name of the server.
    spans: Option<[Span; 2]>,
}

// The options of `[servers.x.rust]`: the values of `Rule::option`.

// Derives for every type.
pub(crate) const DERIVE: &str = "derive";
// The keys are positions, the values names.
pub(crate) const RENAME: &str = "rename";
// The keys are pointers of definitions, the values paths of types.
pub(crate) const EXTERN: &str = "extern";
// The keys are names of types, the values positions.
pub(crate) const SHARED: &str = "shared";
// The switches.
pub(crate) const SETTERS: &str = "setters";
pub(crate) const NAMED: &str = "named";
pub(crate) const CHECKED: &str = "checked";

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
    pub(crate) fn new(option: &'static str, key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { option, key: key.into(), value: value.into(), is_view: false, place: None, spans: None }
    }

    /// Creates a switch from code.
    pub(crate) fn switch(option: &'static str, on: bool) -> Self {
        Self::new(option, "", on.to_string())
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
    fn config_key(&self) -> &'static str {
        if self.is_view { "view" } else { self.option }
    }

    /// Returns the span for code that comes of the rule.
    pub(crate) fn span(&self) -> Span {
        self.spans.map_or_else(Span::call_site, |[_, value]| value)
    }
}

impl From<&ServerConfig> for Rules {
    fn from(config: &ServerConfig) -> Self {
        let rules = config.rust.rules.iter().map(|rule| {
            let place = Some(rule.place.clone());
            Rule { place, ..Rule::new(rule.option, &rule.key, &rule.value) }
        });
        let views = config.views.iter().filter_map(|(tool, view)| {
            let rule = Rule::new(RENAME, pointer_segment(tool), view.name.clone()?);
            Some(Rule { is_view: true, place: Some(view.place("name")), ..rule })
        });
        Self(rules.chain(views).collect())
    }
}

impl Rules {
    /// Returns the rules of one option.
    pub(crate) fn of(&self, option: &str) -> Vec<&Rule> {
        self.0.iter().filter(|rule| rule.option == option).collect()
    }

    pub(crate) fn switches(&self) -> Switches {
        let is_on = |option: &str| self.0.iter().any(|rule| rule.option == option && rule.value == "true");
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
        self.0.retain(|known| rule.option == DERIVE || (known.option, &known.key) != (rule.option, &rule.key));
        self.0.push(rule);
    }

    /// Adds the rules of others.
    pub(crate) fn extend(&mut self, others: Self) {
        others.0.into_iter().for_each(|rule| self.add(rule));
    }
}

/// Declares the methods that add rules, for a type with [`Rules`].
macro_rules! rule_methods {
    ($type:ty, $($rules:tt)+) => {
        impl $type {
            /// Adds derives: `"Eq"`, `"PartialOrd"` and the like on types that can have them, any other path on every type.
            pub fn derive<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
                for path in paths {
                    self.$($rules)+.add($crate::rules::Rule::new($crate::rules::DERIVE, "", path));
                }
                self
            }

            /// Renames a tool (`"create_issue"`) or the field of a property (`"create_issue/labels"`,
            /// `"create_issue/$output/number"`, `"create_entities/entities/*/name"`). The JSON keeps the original names.
            pub fn rename(mut self, place: impl Into<String>, name: impl Into<String>) -> Self {
                self.$($rules)+.add($crate::rules::Rule::new($crate::rules::RENAME, place, name));
                self
            }

            /// Uses a type of the program, which implements serde's traits, for a definition: `"#/$defs/Money"`,
            /// `"crate::Money"`.
            pub fn extern_type(mut self, pointer: impl Into<String>, path: impl Into<String>) -> Self {
                self.$($rules)+.add($crate::rules::Rule::new($crate::rules::EXTERN, pointer, path));
                self
            }

            /// Uses one type with this name for every place with the same shape as the given one: `"Entity"`,
            /// `"create_entities/entities/*"`.
            pub fn shared(mut self, name: impl Into<String>, place: impl Into<String>) -> Self {
                self.$($rules)+.add($crate::rules::Rule::new($crate::rules::SHARED, name, place));
                self
            }

            /// Generates setters for the optional fields of parameters: `Params::new("title").labels(labels)`.
            pub fn setters(mut self, on: bool) -> Self {
                self.$($rules)+.add($crate::rules::Rule::switch($crate::rules::SETTERS, on));
                self
            }

            /// Generates a builder instead of a positional `new`; its `build` is available once all required properties
            /// are set: `Params::builder().title("t").build()`.
            pub fn named(mut self, on: bool) -> Self {
                self.$($rules)+.add($crate::rules::Rule::switch($crate::rules::NAMED, on));
                self
            }

            /// Generates newtypes for strings and numbers of arguments with a pattern, a length or bounds: they cannot
            /// hold invalid values. Results keep plain types.
            pub fn checked(mut self, on: bool) -> Self {
                self.$($rules)+.add($crate::rules::Rule::switch($crate::rules::CHECKED, on));
                self
            }
        }
    };
}
pub(crate) use rule_methods;
