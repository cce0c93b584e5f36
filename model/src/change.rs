//! The kinds of differences between two versions of a server, by the ids that `[servers.x.drift]` and reports name.

use std::fmt;

/// The effect of a change on code with bindings of the old snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// Calls that were fine may be refused now, or their results not be read; also what cannot be decided.
    Breaking,
    /// Built bindings go on working; code for regenerated ones compiles and means something else.
    Silent,
    /// Built bindings go on working; regenerated ones have another Rust API.
    Source,
    /// Neither built nor regenerated bindings notice.
    Compatible,
    /// Text for people is another.
    Wording,
    /// Accepted in `[servers.x.drift]`, whatever the usual class.
    Accepted,
}

impl Class {
    /// All classes of single changes, the most serious first.
    pub const ALL: [Self; 5] = [Self::Breaking, Self::Silent, Self::Source, Self::Compatible, Self::Wording];
    pub(crate) const NAMES: &[&str] = {
        let [breaking, silent, source, compatible, wording] = Self::ALL;
        &[breaking.name(), silent.name(), source.name(), compatible.name(), wording.name()]
    };

    /// Returns `true` for breaking and silent changes, which no compiler reports.
    #[must_use]
    pub fn is_loud(self) -> bool {
        self <= Self::Silent
    }

    /// Returns the name for programs: `breaking`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::Silent => "silent",
            Self::Source => "source",
            Self::Compatible => "compatible",
            Self::Wording => "wording",
            Self::Accepted => "accepted",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

macro_rules! kinds {
    ($(#[doc = $title:literal] $kind:ident = $id:literal $name:literal;)*) => {
        /// The kinds of differences. Each has an id that never changes meaning; `docs/book/src/changes.md` has an example of each.
        ///
        /// ```
        /// use mcp_bindgen_model::ChangeKind;
        ///
        /// assert_eq!(ChangeKind::by_id("MCPD0012"), Some(ChangeKind::NowRequired));
        /// assert_eq!(ChangeKind::NowRequired.name(), "now-required");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ChangeKind {
            $(#[doc = $title] $kind,)*
        }

        impl ChangeKind {
            /// Every kind, in the order of the ids.
            pub const ALL: &[Self] = &[$(Self::$kind),*];
            pub(crate) const IDS: &[&str] = &[$($id),*];

            /// The id, which rules name: `MCPD0012`.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self { $(Self::$kind => $id,)* }
            }

            /// Returns the kind of an id.
            #[must_use]
            pub fn by_id(id: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.id() == id)
            }

            /// The name of the group of kinds that it belongs to, for machines: `now-required`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// One sentence on what it means.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$kind => $title.trim_ascii(),)* }
            }
        }
    };
}

kinds! {
    /// A tool is new.
    ToolAdded = "MCPD0001" "tool-added";
    /// A tool is gone.
    ToolRemoved = "MCPD0002" "tool-removed";
    /// The title, description or icons of a tool, a prompt or a resource template changed.
    Wording = "MCPD0003" "wording";
    /// A description, an example or another text for people in a schema changed.
    SchemaWording = "MCPD0004" "wording";
    /// Another member of a tool changed, which bindings do not depend on.
    ToolMember = "MCPD0005" "other";
    /// The annotations of a tool changed: its hints, such as `readOnlyHint`.
    Hints = "MCPD0006" "other";
    /// Calls of a tool must be tasks now.
    TaskRequired = "MCPD0007" "tightened";
    /// A tool has an output schema now.
    OutputAdded = "MCPD0008" "added";
    /// A tool no longer has an output schema.
    OutputRemoved = "MCPD0009" "removed";
    /// An argument of a type that was valid is refused.
    RefusedType = "MCPD0010" "retyped";
    /// A new property of the arguments is required.
    RequiredAdded = "MCPD0011" "added";
    /// A declared property of the arguments is required now.
    NowRequired = "MCPD0012" "now-required";
    /// An argument can no longer be `null`.
    RefusedNull = "MCPD0013" "tightened";
    /// A value that was valid is no longer listed.
    RefusedValue = "MCPD0014" "tightened";
    /// A keyword, such as `maxLength`, refuses arguments that were valid.
    Tightened = "MCPD0015" "tightened";
    /// A property of the arguments is refused.
    RefusedProperty = "MCPD0016" "removed";
    /// Undeclared properties of the arguments are refused.
    RefusedOtherKeys = "MCPD0017" "tightened";
    /// The alternatives of an argument no longer take all that was valid.
    RefusedAlternative = "MCPD0018" "tightened";
    /// It cannot be decided whether the change breaks.
    Undecided = "MCPD0019" "other";
    /// A result may be of a type that the bindings do not read.
    UnreadType = "MCPD0020" "retyped";
    /// A result may be `null` where the bindings do not read it.
    UnreadNull = "MCPD0021" "loosened";
    /// A result may be a value that was not listed.
    UnreadValue = "MCPD0022" "loosened";
    /// A result may be a number beyond what its type holds, or break another bound that the bindings need.
    UnreadRange = "MCPD0023" "loosened";
    /// A property of the result may be absent where the bindings require it.
    UnreadAbsent = "MCPD0024" "now-optional";
    /// A property of the result is no longer declared and may be anything.
    UnreadProperty = "MCPD0025" "removed";
    /// No alternative that the bindings know reads all results.
    UnreadAlternative = "MCPD0026" "retyped";
    /// More arguments are valid.
    Loosened = "MCPD0027" "loosened";
    /// A schema is written differently and means the same.
    Other = "MCPD0028" "other";
    /// A value has another Rust type.
    Retyped = "MCPD0029" "retyped";
    /// The wrapper around a result came or went, so that handlers return another part of it.
    Wrapper = "MCPD0030" "retyped";
    /// A type has another name in Rust.
    TypeRenamed = "MCPD0031" "other";
    /// A property is new.
    Added = "MCPD0032" "added";
    /// A property is no longer declared, so that its field is gone.
    Removed = "MCPD0033" "removed";
    /// A field that was optional is required.
    FieldRequired = "MCPD0034" "now-required";
    /// A field that was required is optional.
    FieldOptional = "MCPD0035" "now-optional";
    /// A field can be `null` now.
    FieldNullable = "MCPD0036" "loosened";
    /// A field can no longer be `null`.
    FieldNotNullable = "MCPD0037" "tightened";
    /// A field tells absent from `null` in another way.
    Absence = "MCPD0038" "other";
    /// The arguments of `new` are in another order.
    ArgumentOrder = "MCPD0039" "other";
    /// A type keeps undeclared properties now.
    OtherKeysKept = "MCPD0040" "added";
    /// A type no longer keeps undeclared properties.
    OtherKeysDropped = "MCPD0041" "removed";
    /// A tool, property, value or alternative has another name in Rust.
    Renamed = "MCPD0042" "renamed";
    /// A value is listed now.
    ValueAdded = "MCPD0043" "loosened";
    /// A value is no longer listed, so that its variant is gone.
    ValueRemoved = "MCPD0044" "tightened";
    /// A union has a new alternative.
    AlternativeAdded = "MCPD0045" "loosened";
    /// An alternative of a union is gone.
    AlternativeRemoved = "MCPD0046" "tightened";
    /// A prompt, a resource template or a skill is new.
    OfferAdded = "MCPD0047" "added";
    /// A prompt, a resource template or a skill is gone.
    OfferRemoved = "MCPD0048" "removed";
    /// A prompt or a resource template changed in a way that bindings do not depend on.
    OfferMember = "MCPD0049" "other";
    /// A resource template has another URI template.
    TemplateUri = "MCPD0050" "retyped";
    /// The arguments of a prompt are no longer a list, so that it cannot be bound.
    PromptMalformed = "MCPD0051" "retyped";
    /// A prompt takes a new optional argument.
    PromptArgumentAdded = "MCPD0052" "added";
    /// An argument of a prompt is required now.
    PromptArgumentRequired = "MCPD0053" "now-required";
    /// An argument of a prompt is no longer required.
    PromptArgumentOptional = "MCPD0054" "now-optional";
    /// A prompt no longer takes an argument.
    PromptArgumentRemoved = "MCPD0055" "removed";
    /// The instructions of the server changed.
    Instructions = "MCPD0056" "wording";
    /// The protocol version or what the server says of itself changed.
    ServerInfo = "MCPD0057" "other";
    /// The capabilities of the server, or those it was asked with, changed.
    Capabilities = "MCPD0058" "other";
    /// A tool that is not an object changed.
    ToolMalformed = "MCPD0059" "retyped";
    /// Calls of `new` compile and mean something else.
    ArgumentMeaning = "MCPD0060" "other";
    /// A name in Rust stands for another tool, property, value, alternative or prompt.
    NameTaken = "MCPD0061" "renamed";
    /// A new property takes `Eq` and `Hash` from the types that hold it.
    TraitsLost = "MCPD0062" "added";
    /// A union can no longer be made of a type by `From`.
    ConversionLost = "MCPD0063" "other";
    /// A tool, property or type is deprecated now.
    Deprecated = "MCPD0064" "other";
}
