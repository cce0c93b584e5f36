//! Scopes: one name for each thing in them, all different.

use std::collections::{HashMap, HashSet};

use super::{Style, fingerprint, words};
use crate::keys::{counts, in_order, set};

/// Returns an identifier for each name of a scope, all unique and none reserved. Equal names share one. A name that
/// collides with a reserved one only gets the suffix `kind`.
#[must_use]
pub fn identifiers(style: Style, wires: &[&str], reserved: &[&str], kind: &str) -> Vec<String> {
    // Sorted, so that collisions of fingerprints do not depend on the order of wire names.
    let distinct = in_order(wires);
    let (mut bases, mut wanted, mut taken) = (Vec::new(), Vec::new(), HashSet::new());
    distinct.iter().for_each(|wire| bases.push(style.apply(wire)));
    let claims = counts(&bases);
    for name in reserved {
        taken.insert((*name).to_owned());
    }
    for (wire, base) in distinct.iter().zip(&bases) {
        taken.insert(base.clone());
        let is_alone = wire == base || claims.get(base.as_str()) == Some(&1);
        wanted.push(if is_alone && !reserved.contains(&base.as_str()) {
            base.clone()
        } else {
            let suffix = if is_alone { kind.to_owned() } else { difference(wire) };
            style.with_suffix(base, &suffix)
        });
    }
    let (claims, mut names, mut rest) = (counts(&wanted), wanted.clone(), Vec::new());
    for (place, (name, base)) in wanted.iter().zip(&bases).enumerate() {
        let is_free = claims.get(name.as_str()) == Some(&1) && taken.insert(name.clone());
        if name != base && !is_free {
            rest.push(place);
        }
    }
    for place in rest {
        if let (Some(name), Some(base), Some(wire)) = (names.get_mut(place), bases.get(place), distinct.get(place)) {
            *name = fallback(style, base, wire, &mut taken);
        }
    }
    let name = |wire| names.get(distinct.binary_search(&wire).ok()?).cloned();
    wires.iter().map(|wire| name(wire).unwrap_or_default()).collect()
}

/// Names items like [`identifiers`], with some names given. The others are unaffected, unless one is given to another
/// item.
#[must_use]
pub fn given_or_made(
    style: Style,
    wires: &[&str],
    given: &[Option<String>],
    reserved: &[&str],
    kind: &str,
) -> Vec<String> {
    let or_given = |reserved: &[&str]| {
        let made = identifiers(style, wires, reserved, kind).into_iter().zip(given);
        made.map(|(made, given)| given.clone().unwrap_or(made)).collect::<Vec<String>>()
    };
    let names = or_given(reserved);
    if set(&names).len() == names.len() {
        return names;
    }
    let mut reserved = reserved.to_vec();
    given.iter().for_each(|given| reserved.extend(given.as_deref()));
    or_given(&reserved)
}

/// A type that needs a name.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'w> {
    /// The preferred name.
    pub name: &'w str,
    /// Types of whole tools take precedence over types inside them.
    pub is_root: bool,
}

/// The identity of a type in its module: its depth, and its tool and wire path.
pub type Identity = (usize, String);

/// Returns the types of a module that cannot have their preferred name, by index, with the names they get. Whole
/// tools and then the least nested types take precedence.
#[must_use]
pub fn renamed_types(
    wanted: &[Wanted<'_>],
    reserved: &[&str],
    identity: &dyn Fn(usize) -> Identity,
) -> Vec<(usize, String)> {
    let (mut claims, mut kept, mut taken) = (HashMap::new(), HashSet::new(), HashSet::new());
    for name in reserved {
        kept.insert(*name);
        taken.insert((*name).to_owned());
    }
    for want in wanted {
        *claims.entry(want.name).or_default() += 1;
        taken.insert(want.name.to_owned());
    }
    let mut ranked: Vec<(bool, Identity, usize)> = Vec::new();
    for (place, want) in wanted.iter().enumerate() {
        if claims.get(want.name) != Some(&1_usize) || kept.contains(want.name) {
            ranked.push((!want.is_root, identity(place), place));
        }
    }
    ranked.sort_unstable();
    ranked.retain_mut(|(is_inner, _, place)| {
        // The first one of a name keeps it, and the rank of the others is their identity.
        *is_inner = false;
        wanted.get(*place).is_some_and(|want| !kept.insert(want.name))
    });
    ranked.sort_unstable();
    let mut renamed = Vec::new();
    for (_, (_, identity), place) in ranked {
        let name = wanted.get(place).map_or("", |want| want.name);
        renamed.push((place, fallback(Style::Pascal, name, &identity, &mut taken)));
    }
    renamed
}

/// Returns the first free name, or the last one with `more` appended as often as necessary.
#[must_use]
pub fn first_free(candidates: &[&str], more: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name =
        candidates.iter().find(|name| !is_taken(name)).or(candidates.last()).map_or("", |name| *name).to_owned();
    while is_taken(&name) {
        name.insert_str(0, more);
    }
    name
}

/// Returns a name with a suffix made of the item's identity. If another item has that name, it grows until it is free.
fn fallback(style: Style, base: &str, identity: &str, taken: &mut HashSet<String>) -> String {
    let mut name = style.with_suffix(base, &format!("x{}", fingerprint(identity)));
    while !taken.insert(name.clone()) {
        name.push('x');
    }
    name
}

/// Describes how a wire name differs from others that read the same: by its symbols, or its case.
fn difference(wire: &str) -> String {
    let symbols = words::symbols(wire);
    if !symbols.is_empty() {
        return symbols.join("_");
    }
    let has = |test: fn(&char) -> bool| wire.chars().any(|char| test(&char));
    match (has(|char| char.is_uppercase()), has(|char| char.is_lowercase())) {
        (true, false) => "upper",
        (true, true) if wire.starts_with(char::is_uppercase) => "pascal",
        (true, true) => "camel",
        (false, _) => "lower",
    }
    .to_owned()
}
