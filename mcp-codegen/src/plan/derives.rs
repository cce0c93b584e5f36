//! Additional derives from the options, and the types that can have them.

use std::collections::{BTreeSet, HashSet};

use mcp_bindgen_model::printable;
use mcp_bindgen_schema::{Presence, Shape, ShapeId, Slot, UnionShape, Unknown};
use proc_macro2::{Span, TokenStream};
use quote::quote;

use super::{SchemaPlan, ToolPlan};
use crate::rules::{Kind, RuleFault, Rules};
use crate::rust_path::RustPath;

/// The traits of every generated type, derived or implemented.
const USUAL: [&str; 5] = ["Clone", "Debug", "PartialEq", "Serialize", "Deserialize"];

/// The derives for every type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derives {
    standard: BTreeSet<Standard>,
    /// Unknown derives, and the positions at which errors about them are reported.
    others: Vec<(RustPath, Span)>,
}

/// A derive of the standard library that not every type can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standard {
    Copy,
    Default,
    Eq,
    Hash,
    PartialOrd,
    Ord,
}

impl Standard {
    fn of(path: &RustPath) -> Option<Self> {
        match path.last().as_str() {
            _ if !path.is_standard() => None,
            "Copy" => Some(Self::Copy),
            "Default" => Some(Self::Default),
            "Eq" => Some(Self::Eq),
            "Hash" => Some(Self::Hash),
            "PartialOrd" => Some(Self::PartialOrd),
            "Ord" => Some(Self::Ord),
            _ => None,
        }
    }

    /// Returns the full path, which is independent of the user's names.
    fn tokens(self) -> TokenStream {
        match self {
            Self::Copy => quote!(::core::marker::Copy),
            Self::Default => quote!(::core::default::Default),
            Self::Eq => quote!(::core::cmp::Eq),
            Self::Hash => quote!(::core::hash::Hash),
            Self::PartialOrd => quote!(::core::cmp::PartialOrd),
            Self::Ord => quote!(::core::cmp::Ord),
        }
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
        let schemas = || tools.iter().flat_map(ToolPlan::schemas);
        let mut derives = Self::default();
        for rule in rules.of(Kind::Derive) {
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
            derives.standard.insert(standard);
            derives.standard.extend((standard == Standard::Ord).then_some(Standard::PartialOrd));
            let can = |schema: &SchemaPlan<'_>| schema.order.iter().any(|id| schema.can_derive(*id, standard));
            if schemas().next().is_some() && !schemas().any(can) {
                let message = format!("no type of this server can have `{shown}`");
                faults.push(rule.fault_of_value(message, format!("remove it: {}", standard.needs())));
            }
        }
        derives
    }

    /// Returns the derives for a type besides those in `has`, each after a comma.
    pub(crate) fn of(&self, schema: &SchemaPlan<'_>, id: ShapeId, has: &[Standard]) -> TokenStream {
        let standard = self.standard.iter().filter(|derive| !has.contains(derive));
        let standard = standard.filter(|derive| schema.can_derive(id, **derive)).map(|derive| derive.tokens());
        let others = self.others.iter().map(|(path, span)| path.tokens(*span));
        standard.chain(others).map(|path| quote!(, #path)).collect()
    }
}

impl SchemaPlan<'_> {
    /// Returns `true` if a type can derive it.
    pub(crate) fn can_derive(&self, id: ShapeId, derive: Standard) -> bool {
        let mut reached = self.reached(id, Shape::children);
        let is_float = |id| matches!(self.document.shapes.get(id), Shape::Number);
        let is_opaque = |id| matches!(self.document.shapes.get(id), Shape::Opaque);
        match derive {
            Standard::Default => self.has_default(id, &mut HashSet::new()),
            Standard::Copy => reached.all(|id| !self.owns_memory(id)),
            Standard::Eq | Standard::Hash => reached.all(|id| !is_float(id) && !is_opaque(id)),
            Standard::PartialOrd => reached.all(|id| !self.is_untyped(id)),
            Standard::Ord => reached.all(|id| !self.is_untyped(id) && !is_float(id)),
        }
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
        if self.checks.contains_key(&id) || !holders.insert(id) {
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
