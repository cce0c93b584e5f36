//! Scopes: one name for each thing in them, all different.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Style, fingerprint, words};

/// Returns an identifier for each name of a scope, all unique and none reserved. Equal names share one. A name that
/// collides with a reserved one only gets the suffix `kind`.
#[must_use]
pub fn identifiers(style: Style, wires: &[&str], reserved: &[&str], kind: &str) -> Vec<String> {
    // The map is sorted, so that collisions of fingerprints do not depend on the order of wire names.
    let bases: BTreeMap<&str, String> = wires.iter().map(|wire| (*wire, style.apply(wire))).collect();
    let mut claims: HashMap<&str, usize> = HashMap::new();
    bases.values().for_each(|base| *claims.entry(base).or_default() += 1);
    let mut taken: HashSet<String> =
        bases.values().cloned().chain(reserved.iter().map(|name| (*name).to_owned())).collect();
    let mut names: HashMap<&str, String> = HashMap::new();
    let mut readable: HashMap<String, Vec<(&str, &str)>> = HashMap::new();
    for (wire, base) in &bases {
        let is_alone = wire == base || claims.get(base.as_str()) == Some(&1);
        if is_alone && !reserved.contains(&base.as_str()) {
            names.insert(wire, base.clone());
        } else {
            let suffix = if is_alone { kind.to_owned() } else { difference(wire) };
            readable.entry(style.with_suffix(base, &suffix)).or_default().push((wire, base));
        }
    }
    let mut rest = Vec::new();
    for (name, wanted) in readable {
        match wanted.as_slice() {
            [(wire, _)] if taken.insert(name.clone()) => drop(names.insert(wire, name)),
            _ => rest.extend(wanted),
        }
    }
    rest.sort_unstable();
    for (wire, base) in rest {
        names.insert(wire, fallback(style, base, wire, &mut taken));
    }
    wires.iter().map(|wire| names.get(wire).cloned().unwrap_or_default()).collect()
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
    let or_given = |made: Vec<String>| -> Vec<String> {
        made.into_iter().zip(given).map(|(made, given)| given.clone().unwrap_or(made)).collect()
    };
    let names = or_given(identifiers(style, wires, reserved, kind));
    let mut seen = HashSet::new();
    if names.iter().all(|name| seen.insert(name)) {
        return names;
    }
    let reserved: Vec<&str> = reserved.iter().copied().chain(given.iter().flatten().map(String::as_str)).collect();
    or_given(identifiers(style, wires, &reserved, kind))
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
    identity: impl Fn(usize) -> Identity,
) -> Vec<(usize, String)> {
    let mut claims: HashMap<&str, Vec<usize>> = HashMap::with_capacity(wanted.len());
    for (place, want) in wanted.iter().enumerate() {
        claims.entry(want.name).or_default().push(place);
    }
    let mut losers: Vec<(Identity, usize, &str)> = Vec::new();
    for (name, claimants) in &claims {
        let is_reserved = reserved.contains(name);
        if claimants.len() == 1 && !is_reserved {
            continue;
        }
        let is_inner = |place: &usize| wanted.get(*place).is_some_and(|want| !want.is_root);
        let mut ranked: Vec<(bool, Identity, usize)> =
            claimants.iter().map(|place| (is_inner(place), identity(*place), *place)).collect();
        ranked.sort();
        let keepers = usize::from(!is_reserved);
        losers.extend(ranked.into_iter().skip(keepers).map(|(_, identity, place)| (identity, place, *name)));
    }
    losers.sort();
    let mut taken: HashSet<String> = claims.keys().chain(reserved).map(|name| (*name).to_owned()).collect();
    losers
        .into_iter()
        .map(|((_, identity), place, name)| (place, fallback(Style::Pascal, name, &identity, &mut taken)))
        .collect()
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
