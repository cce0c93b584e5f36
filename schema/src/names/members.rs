//! The names of a struct's fields and of an enum's variants.

use std::collections::HashMap;

use super::{Style, first_free, given_or_made, identifiers};
use crate::shape::UnionShape;

/// The names for the field of properties without a field: the first that no property's field has.
const EXTRA: [&str; 4] = ["extra", "extra_properties", "all_extra_properties", "extra_extra_properties"];
/// The variant of an open enumeration for unlisted values.
const OTHER: &str = "Other";
/// The constant that lists the values, beside the variants.
const ALL: &str = "ALL";

/// Returns the field of each property of an object.
#[must_use]
pub fn fields(wires: &[&str]) -> Vec<String> {
    identifiers(Style::Snake, wires, &[], "property")
}

/// Names members like [`fields`], with some names given.
#[must_use]
pub fn fields_or(wires: &[&str], given: &[Option<String>]) -> Vec<String> {
    given_or_made(Style::Snake, wires, given, &[], "property")
}

/// Returns the field for the other properties, next to these fields.
#[must_use]
pub fn extra(fields: &[String]) -> String {
    first_free(&EXTRA, "extra_", |name| fields.iter().any(|field| field == name))
}

/// The inherent methods of a struct, which setters must not hide.
const STRUCT_METHODS: &str = "new|builder|build|uri|clone|default|eq|ne|hash|fmt|into|serialize|deserialize";

/// Returns the setter of each field.
#[must_use]
pub fn setters(fields: &[String]) -> Vec<String> {
    let mut setters = fields.to_vec();
    for setter in &mut setters {
        if STRUCT_METHODS.split('|').any(|method| method == setter) {
            let candidate = format!("{setter}_property");
            *setter = first_free(&[&candidate], "set_", |name| fields.iter().any(|field| field == name));
        }
    }
    setters
}

/// The items of an enumeration, besides a variant for each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enumeration {
    /// Nothing but the list of its values.
    Closed,
    /// A variant for values that are not listed, too.
    Open,
}

/// Returns the variant of each value.
#[must_use]
pub fn variants(wires: &[&str], enumeration: Enumeration) -> Vec<String> {
    let reserved: &[&str] = match enumeration {
        Enumeration::Closed => &[ALL],
        Enumeration::Open => &[ALL, OTHER],
    };
    identifiers(Style::Pascal, wires, reserved, "value")
}

/// Returns the variant of each branch of a union, from [`branch_labels`]; `has_other` adds one for branches that the
/// schema does not list.
#[must_use]
pub fn branches(labels: &[&str], has_other: bool) -> Vec<String> {
    identifiers(Style::Pascal, labels, if has_other { &[OTHER] } else { &[] }, "value")
}

/// Returns a label for each branch. Equal ones are distinguished by the property that differs, or else by number.
#[must_use]
pub fn branch_labels(union: &UnionShape) -> Vec<String> {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut labels = Vec::new();
    for branch in &union.branches {
        let mut label = branch.name.clone();
        while let Some(number) = numbers.get_mut(&label) {
            *number += 1;
            label = format!("{label} {number}");
        }
        numbers.insert(label.clone(), 1);
        labels.push(label);
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::setters;

    #[test]
    fn setter_names_do_not_conflict_with_methods_or_other_setters() {
        let of = |fields: &[&str]| setters(&fields.iter().map(|field| (*field).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["labels", "new", "clone"]), ["labels", "new_property", "clone_property"]);
        assert_eq!(of(&["new", "new_property"]), ["set_new_property", "new_property"]);
        assert_eq!(of(&["new_property", "new", "set_new_property"])[1], "set_set_new_property");
    }
}
