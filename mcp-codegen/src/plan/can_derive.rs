//! The types that can have a derive.

use std::collections::HashSet;

use mcp_bindgen_model::printable;
use mcp_bindgen_schema::{Presence, Shape, ShapeId, Slot, UnionShape, Unknown};
use proc_macro2::TokenStream;
use quote::quote;

use super::derives::{Derives, Standard, USUAL};
use super::{SchemaPlan, ToolPlan};
use crate::rules::{Rule, RuleFault};
use crate::rust_path::RustPath;

/// Returns the derives that cannot hold.
pub(super) fn faults(rules: &[Rule], tools: &[ToolPlan<'_>]) -> Vec<RuleFault> {
    let has_types = tools.iter().flat_map(ToolPlan::schemas).next().is_some();
    let fault = |rule: &Rule| {
        let shown = printable(&rule.value);
        let Some(path) = RustPath::parse(&rule.value) else {
            let help = "write a name or a path: `Eq`, `crate::Traced`, `::strum::EnumIs`";
            return Some(rule.fault_of_value(format!("in `derive`: invalid path `{shown}`"), help));
        };
        if USUAL.contains(&path.last()) {
            let message = format!("in `derive`: every generated type already has `{}`", path.last());
            return Some(rule.fault_of_value(message, "remove it"));
        }
        let standard = Standard::of(&path).filter(|_| has_types)?;
        let can = |schema: &SchemaPlan<'_>| schema.order.iter().any(|id| schema.can_derive(*id, standard));
        if tools.iter().flat_map(ToolPlan::schemas).any(can) {
            return None;
        }
        let message = format!("in `derive`: no type of this server can have `{shown}`");
        Some(rule.fault_of_value(message, format!("remove it: {}", standard.needs())))
    };
    rules.iter().filter_map(fault).collect()
}

impl Derives {
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
        match derive {
            Standard::Default => self.has_default(id, &mut HashSet::new()),
            Standard::Copy => self.everywhere(id, |plan, id| !plan.owns_memory(id)),
            Standard::Eq | Standard::Hash => {
                self.everywhere(id, |plan, id| !matches!(plan.document.shapes.get(id), Shape::Number | Shape::Opaque))
            }
            Standard::PartialOrd => self.everywhere(id, |plan, id| !plan.is_untyped(id)),
            Standard::Ord => self.everywhere(id, |plan, id| {
                !plan.is_untyped(id) && !matches!(plan.document.shapes.get(id), Shape::Number)
            }),
        }
    }

    /// Returns `true` if it holds for a shape and all that it mentions.
    fn everywhere(&self, id: ShapeId, holds: impl Fn(&Self, ShapeId) -> bool) -> bool {
        let (mut pending, mut seen) = (vec![id], HashSet::new());
        while let Some(id) = pending.pop() {
            if !holds(self, id) {
                return false;
            }
            if seen.insert(id) {
                pending.extend(self.document.shapes.get(id).children());
            }
        }
        true
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
