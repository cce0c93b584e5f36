//! Additional derives from the options, and the types that can have them.

use std::collections::HashSet;

use mcp_bindgen_model::printable;
use mcp_bindgen_schema::{Presence, Shape, ShapeId, Slot, UnionShape, Unknown};
use proc_macro2::{Span, TokenStream};
use quote::quote;

use super::{SchemaPlan, ToolPlan, schemas};
use crate::names::ident;
use crate::rules::{DERIVE, RuleFault, Rules};
use crate::rust_path::RustPath;

/// The traits of every generated type, derived or implemented.
const USUAL: [&str; 5] = ["Clone", "Debug", "PartialEq", "Serialize", "Deserialize"];

/// The derives for every type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derives {
    standard: Vec<Standard>,
    /// Unknown derives, and the positions at which errors about them are reported.
    others: Vec<(RustPath, Span)>,
}

/// A derive of the standard library that not every type can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standard {
    Copy,
    Default,
    Eq,
    Hash,
    PartialOrd,
    Ord,
}

impl Standard {
    /// Each, in the order of generated code, with its module in `core` and its name.
    const ALL: [(Self, &str, &str); 6] = [
        (Self::Copy, "marker", "Copy"),
        (Self::Default, "default", "Default"),
        (Self::Eq, "cmp", "Eq"),
        (Self::Hash, "hash", "Hash"),
        (Self::PartialOrd, "cmp", "PartialOrd"),
        (Self::Ord, "cmp", "Ord"),
    ];

    fn of(path: &RustPath) -> Option<Self> {
        let last = path.last();
        let mut all = Self::ALL.iter().filter(|_| path.is_standard());
        all.find(|(_, _, name)| *name == last).map(|(derive, ..)| *derive)
    }

    /// Describes the types that can have the derive.
    fn needs(self) -> &'static str {
        match self {
            Self::Copy => "types with strings, lists, maps or untyped values cannot have it",
            Self::Default => "enums and what requires them cannot have it",
            Self::Eq | Self::Hash => "types with a `number`, which is an `f64`, cannot have it",
            Self::PartialOrd => "types with untyped values cannot have it",
            Self::Ord => "types with untyped values or a `number`, which is an `f64`, cannot have it",
        }
    }
}

impl Derives {
    /// Reads the rules. Derives that cannot hold are reported.
    pub(super) fn new(rules: &Rules, tools: &[ToolPlan<'_>], faults: &mut Vec<RuleFault>) -> Self {
        let schemas = schemas(tools);
        let mut derives = Self::default();
        for rule in rules.of(DERIVE) {
            let shown = printable(&rule.value);
            let Some(path) = RustPath::parse(&rule.value) else {
                let help = "write a name or a path: `Eq`, `crate::Traced`, `::strum::EnumIs`";
                faults.push(rule.fault_of_value(format!("invalid path `{shown}`"), help));
                continue;
            };
            let Some(standard) = Standard::of(&path) else {
                if USUAL.contains(&path.last().as_str()) {
                    let message = format!("every generated type already has `{}`", path.last());
                    faults.push(rule.fault_of_value(message, "remove it"));
                } else if !derives.others.iter().any(|(known, _)| *known == path) {
                    derives.others.push((path, rule.span()));
                }
                continue;
            };
            derives.standard.push(standard);
            derives.standard.extend((standard == Standard::Ord).then_some(Standard::PartialOrd));
            let can = |schema: &&SchemaPlan<'_>| schema.order.iter().any(|id| schema.can_derive(*id, standard));
            if !schemas.is_empty() && !schemas.iter().any(can) {
                let message = format!("no type of this server can have `{shown}`");
                faults.push(rule.fault_of_value(message, format!("remove it: {}", standard.needs())));
            }
        }
        derives
    }

    /// Returns the derives for a type besides those in `has`, each after a comma.
    pub(crate) fn of(&self, schema: &SchemaPlan<'_>, id: ShapeId, has: &[Standard]) -> TokenStream {
        let is_wanted =
            |derive| self.standard.contains(derive) && !has.contains(derive) && schema.can_derive(id, *derive);
        let standard = Standard::ALL.iter().filter(|(derive, ..)| is_wanted(derive));
        // The full paths are independent of the user's names.
        let standard = standard.map(|(_, module, name)| (ident(module), ident(name)));
        let standard = standard.map(|(module, name)| quote!(::core::#module::#name));
        let others = self.others.iter().map(|(path, span)| path.tokens(*span));
        quote!(#(, #standard)* #(, #others)*)
    }
}

impl SchemaPlan<'_> {
    /// Returns `true` if a type can derive it.
    pub(crate) fn can_derive(&self, id: ShapeId, derive: Standard) -> bool {
        if derive == Standard::Default {
            return self.has_default(id, &mut HashSet::new());
        }
        self.reached(id, Shape::children).all(|id| match (derive, self.document.shapes.get(id)) {
            (Standard::Copy, _) => !self.owns_memory(id),
            (Standard::Eq | Standard::Hash, shape) => !matches!(shape, Shape::Number | Shape::Opaque),
            (Standard::Ord, Shape::Number) => false,
            _ => !self.is_untyped(id),
        })
    }

    /// Returns `true` for types without known traits: JSON values and user types. A tagged union from the server also
    /// holds such a value, for unlisted branches.
    fn is_untyped(&self, id: ShapeId) -> bool {
        match self.document.shapes.get(id) {
            Shape::Anything | Shape::AnyOf(_) | Shape::FreeMap | Shape::Opaque => true,
            Shape::Union(union) => self.has_other(id, union),
            _ => false,
        }
    }

    fn owns_memory(&self, id: ShapeId) -> bool {
        let boxes = |held: ShapeId| self.is_boxed(id, held);
        let shape = self.document.shapes.get(id);
        match shape {
            Shape::Text | Shape::List(_) | Shape::Map(_) | Shape::Prefixed(..) => true,
            // An open enumeration holds unlisted values.
            Shape::TextEnum(values) => self.is_answered(id) && values.len() > 1,
            Shape::Struct(object) => {
                matches!(object.unknown, Unknown::Keep(_)) || shape.inline().into_iter().any(boxes)
            }
            _ => self.is_untyped(id) || shape.inline().into_iter().any(boxes),
        }
    }

    /// `holders` hold the type: one that requires itself has no default.
    fn has_default(&self, id: ShapeId, holders: &mut HashSet<ShapeId>) -> bool {
        if self.checks.get(id).is_some() || !holders.insert(id) {
            return false;
        }
        let mut slot_has = |slot: &Slot| slot.nullable || self.has_default(slot.shape, holders);
        let has = match self.document.shapes.get(id) {
            Shape::Struct(object) => {
                object.fields.iter().all(|field| field.presence != Presence::Required || slot_has(&field.slot))
            }
            Shape::Tuple(slots) => slots.iter().all(slot_has),
            Shape::Named(slot) => slot_has(slot),
            Shape::Union(_) | Shape::TextEnum(_) | Shape::LiteralEnum(_) | Shape::Opaque => false,
            _ => true,
        };
        holders.remove(&id);
        has
    }

    /// Returns `true` if a union has a variant for branches that the schema does not list: a tagged one from the server
    /// may grow.
    pub(crate) fn has_other(&self, id: ShapeId, union: &UnionShape) -> bool {
        self.is_answered(id) && union.tag.is_some()
    }
}
