//! The user's rules for the generated code with their origins: `derive`, `rename`, `extern`, `shared` and switches.

use mcp_bindgen_model::{ConfigPlace, FileError, RustConfig, RustRule, ServerConfig, pointer_segment};
use proc_macro2::Span;

/// The rules of a server, the configuration's first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    /// Their keys are empty.
    pub(crate) derive: Vec<Rule>,
    /// A place, and the name for it.
    pub(crate) rename: Vec<Rule>,
    /// The pointer of a definition, and the path of a type.
    pub(crate) extern_types: Vec<Rule>,
    /// The name of a type, and a place.
    pub(crate) shared: Vec<Rule>,
    /// The key of a switch, and `true` or `false`.
    pub(crate) switches: Vec<Rule>,
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

/// One entry.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) origin: Origin,
}

/// The origin of a rule.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// In code: a build script's.
    Code,
    /// In the configuration; and the macro's literal that asks for the server.
    Config(ConfigPlace, Option<Span>),
    /// The same of the name of a view.
    View(ConfigPlace, Option<Span>),
    /// An option of the macro, with its literals.
    Macro { key: Span, value: Span },
}

/// A rule that does not fit the tools.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RuleFault {
    /// The error, with its position in the configuration and the next step.
    pub error: FileError,
    /// The literal of the macro that is wrong.
    pub(crate) span: Option<Span>,
    is_configured: bool,
}

impl RuleFault {
    /// Creates a fault of the options as a whole.
    pub(crate) fn of_options(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { error: FileError::new(message).with_help(help), span: None, is_configured: false }
    }

    /// Returns `true` if the rule is in the configuration.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.is_configured
    }
}

impl Rule {
    /// Creates a rule from code.
    pub(crate) fn in_code(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), origin: Origin::Code }
    }

    /// Returns an error about the key.
    pub(crate) fn fault_of_key(&self, message: impl Into<String>, help: impl Into<String>) -> RuleFault {
        self.fault(message, help, if let Origin::Macro { key, .. } = &self.origin { Some(*key) } else { None })
    }

    /// Returns an error about the value.
    pub(crate) fn fault_of_value(&self, message: impl Into<String>, help: impl Into<String>) -> RuleFault {
        self.fault(message, help, if let Origin::Macro { value, .. } = &self.origin { Some(*value) } else { None })
    }

    fn fault(&self, message: impl Into<String>, help: impl Into<String>, span: Option<Span>) -> RuleFault {
        let (error, is_configured) = match &self.origin {
            Origin::Config(place, _) | Origin::View(place, _) => (place.error(message), true),
            Origin::Code | Origin::Macro { .. } => (FileError::new(message), false),
        };
        RuleFault { error: error.with_help(help), span, is_configured }
    }

    /// Returns the key of the configuration that the rule is from, for `rename`.
    pub(crate) fn renamed_in(&self) -> &'static str {
        if matches!(self.origin, Origin::View(..)) { "view" } else { "rename" }
    }

    /// Returns the span for code that comes of the rule.
    pub(crate) fn span(&self) -> Span {
        match &self.origin {
            Origin::Macro { value: span, .. } | Origin::Config(_, Some(span)) | Origin::View(_, Some(span)) => *span,
            Origin::Code | Origin::Config(_, None) | Origin::View(_, None) => Span::call_site(),
        }
    }
}

impl From<&RustRule> for Rule {
    fn from(rule: &RustRule) -> Self {
        Self { key: rule.key.clone(), value: rule.value.clone(), origin: Origin::Config(rule.place.clone(), None) }
    }
}

impl From<&RustConfig> for Rules {
    fn from(config: &RustConfig) -> Self {
        let rules = |rules: &[RustRule]| rules.iter().map(Rule::from).collect();
        Self {
            derive: rules(&config.derive),
            rename: rules(&config.rename),
            extern_types: rules(&config.extern_types),
            shared: rules(&config.shared),
            switches: rules(&config.switches),
        }
    }
}

impl From<&ServerConfig> for Rules {
    fn from(config: &ServerConfig) -> Self {
        let mut rules = Self::from(&config.rust);
        let named = config.views.iter().filter_map(|(tool, view)| Some((tool, view.name.clone()?, view.place("name"))));
        rules.rename.extend(named.map(|(tool, value, place)| Rule {
            key: pointer_segment(tool),
            value,
            origin: Origin::View(place, None),
        }));
        rules
    }
}

impl Rules {
    /// Adds a switch that was set in code.
    pub(crate) fn switch(&mut self, key: &str, on: bool) {
        put(&mut self.switches, vec![Rule::in_code(key, on.to_string())]);
    }

    pub(crate) fn switches(&self) -> Switches {
        let is_on = |key: &str| self.switched_on().any(|rule| rule.key == key);
        Switches { setters: is_on(SETTERS), named: is_on(NAMED), checked: is_on(CHECKED) }
    }

    pub(crate) fn switched_on(&self) -> impl Iterator<Item = &Rule> {
        self.switches.iter().filter(|rule| rule.value == "true")
    }

    pub(crate) fn is_empty(&self) -> bool {
        [&self.derive, &self.rename, &self.extern_types, &self.shared, &self.switches].into_iter().all(Vec::is_empty)
    }

    /// Sets the span of the code that the configuration's rules generate.
    pub(crate) fn configured_at(&mut self, span: Span) {
        let Self { derive, rename, extern_types, shared, switches } = self;
        for rule in [derive, rename, extern_types, shared, switches].into_iter().flatten() {
            if let Origin::Config(_, at) | Origin::View(_, at) = &mut rule.origin {
                *at = Some(span);
            }
        }
    }

    /// Adds rules.
    pub(crate) fn add(&mut self, more: Self) {
        self.derive.extend(more.derive);
        put(&mut self.rename, more.rename);
        put(&mut self.extern_types, more.extern_types);
        put(&mut self.shared, more.shared);
        put(&mut self.switches, more.switches);
    }
}

/// Adds rules. Of two for one key the later holds.
pub(crate) fn put(rules: &mut Vec<Rule>, more: Vec<Rule>) {
    rules.retain(|rule| !more.iter().any(|later| later.key == rule.key));
    rules.extend(more);
}

/// Declares the methods that add rules, for a type with [`Rules`].
macro_rules! rule_methods {
    ($type:ty, $($rules:tt)+) => {
        impl $type {
            /// Adds derives: `"Eq"`, `"PartialOrd"` and the like on types that can have them, any other path on every type.
            pub fn derive<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
                let rule = |path| $crate::rules::Rule::in_code("", path);
                self.$($rules)+.derive.extend(paths.into_iter().map(rule));
                self
            }

            /// Renames a tool (`"create_issue"`) or the field of a property (`"create_issue/labels"`,
            /// `"create_issue/$output/number"`, `"create_entities/entities/*/name"`). The JSON keeps the original names.
            pub fn rename(mut self, place: impl Into<String>, name: impl Into<String>) -> Self {
                $crate::rules::put(&mut self.$($rules)+.rename, vec![$crate::rules::Rule::in_code(place, name)]);
                self
            }

            /// Uses a type of the program, which implements serde's traits, for a definition: `"#/$defs/Money"`,
            /// `"crate::Money"`.
            pub fn extern_type(mut self, pointer: impl Into<String>, path: impl Into<String>) -> Self {
                $crate::rules::put(&mut self.$($rules)+.extern_types, vec![$crate::rules::Rule::in_code(pointer, path)]);
                self
            }

            /// Uses one type with this name for every place with the same shape as the given one: `"Entity"`,
            /// `"create_entities/entities/*"`.
            pub fn shared(mut self, name: impl Into<String>, place: impl Into<String>) -> Self {
                $crate::rules::put(&mut self.$($rules)+.shared, vec![$crate::rules::Rule::in_code(name, place)]);
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
