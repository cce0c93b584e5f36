//! Stage 4: the one authority on identifiers.
//!
//! Collisions are resolved by what the names are, never by their order: the name whose wire form equals the
//! identifier keeps it, any other gets a suffix made of its own wire name.

mod words;

use std::collections::{HashMap, HashSet};

use proc_macro2::{Ident, Span};

/// How an identifier is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Snake,
    Pascal,
}

/// Identifiers longer than this are cut.
const LONGEST: usize = 96;

impl Style {
    /// The identifier that a wire name asks for, before collisions.
    pub(crate) fn apply(self, wire: &str) -> String {
        let words = words::words(wire);
        let written = match self {
            Self::Snake => words.join("_"),
            Self::Pascal => words.iter().map(|word| capitalized(word)).collect(),
        };
        let lead = match (self, written.starts_with(|first: char| first.is_ascii_digit())) {
            (_, false) => "",
            (Self::Snake, true) => "n",
            (Self::Pascal, true) => "N",
        };
        cut(format!("{lead}{written}"), self, wire)
    }

    /// An identifier that was put together, cut to a length that people can read.
    pub(crate) fn within_limit(self, name: String) -> String {
        let wire = name.clone();
        cut(name, self, &wire)
    }

    fn with_suffix(self, base: &str, suffix: &str) -> String {
        match self {
            Self::Snake => format!("{base}_{suffix}"),
            Self::Pascal => format!("{base}{}", suffix.split('_').map(capitalized).collect::<String>()),
        }
    }
}

/// One identifier for each wire name of a scope, all different and none reserved. Equal wire names share one. A name
/// that would be free if it were not reserved gets the suffix `kind`.
pub(crate) fn identifiers(style: Style, wires: &[&str], reserved: &[&str], kind: &str) -> Vec<String> {
    let written: Vec<String> = wires.iter().map(|wire| style.apply(wire)).collect();
    let mut seen = HashSet::new();
    if written.iter().all(|name| seen.insert(name.as_str()) && !reserved.contains(&name.as_str())) {
        return written;
    }
    let mut distinct: Vec<&str> = wires.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let bases: HashMap<&str, String> = distinct.iter().map(|wire| (*wire, style.apply(wire))).collect();
    let mut claims: HashMap<&str, usize> = HashMap::new();
    for base in bases.values() {
        *claims.entry(base).or_default() += 1;
    }
    let keeps = |wire: &str, base: &str| !reserved.contains(&base) && (claims.get(base) == Some(&1) || wire == base);
    let mut readable: HashMap<String, usize> = HashMap::new();
    let suffixed = |wire: &str, base: &str| {
        let alone = claims.get(base) == Some(&1) || wire == base;
        style.with_suffix(base, &if alone { kind.to_owned() } else { difference(wire) })
    };
    for (wire, base) in &bases {
        if !keeps(wire, base) {
            *readable.entry(suffixed(wire, base)).or_default() += 1;
        }
    }
    let resolve = |wire: &str, base: &str| {
        if keeps(wire, base) {
            return base.to_owned();
        }
        let name = suffixed(wire, base);
        let free = readable.get(&name) == Some(&1)
            && !claims.contains_key(name.as_str())
            && !reserved.contains(&name.as_str());
        if free { name } else { style.with_suffix(base, &format!("x{}", fingerprint(wire))) }
    };
    wires.iter().map(|wire| bases.get(wire).map_or_else(String::new, |base| resolve(wire, base))).collect()
}

/// A type that wants a name.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    /// What the type is, told apart from every other: its tool and its place.
    pub(crate) identity: String,
    /// The types of whole tools keep their names before the types inside them.
    pub(crate) is_root: bool,
}

/// One name for each type of a module.
pub(crate) fn type_names(wanted: &[Wanted], reserved: &[&str]) -> Vec<String> {
    let mut holders: HashMap<&str, &Wanted> = HashMap::new();
    for want in wanted {
        let holder = holders.entry(&want.name).or_insert(want);
        if (!want.is_root, &want.identity) < (!holder.is_root, &holder.identity) {
            *holder = want;
        }
    }
    let mut taken: HashSet<String> = holders.keys().map(|name| (*name).to_owned()).collect();
    wanted
        .iter()
        .map(|want| {
            let holds = holders.get(want.name.as_str()).is_some_and(|holder| holder.identity == want.identity);
            if holds && !reserved.contains(&want.name.as_str()) {
                return want.name.clone();
            }
            let mut name = Style::Pascal.with_suffix(&want.name, &format!("x{}", fingerprint(&want.identity)));
            while !taken.insert(name.clone()) {
                name.push('X');
            }
            name
        })
        .collect()
}

/// An identifier as a token: raw where it is a keyword, with a trailing `_` where it cannot be raw.
pub(crate) fn ident(name: &str) -> Ident {
    match name {
        "self" | "Self" | "super" | "crate" | "_" => Ident::new(&format!("{name}_"), Span::call_site()),
        _ if KEYWORDS.contains(&name) => Ident::new_raw(name, Span::call_site()),
        _ => Ident::new(name, Span::call_site()),
    }
}

const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// What tells a wire name from others that read the same: its symbols, or its case.
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

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + chars.as_str())
}

fn cut(name: String, style: Style, wire: &str) -> String {
    if name.len() <= LONGEST {
        return name;
    }
    let cut = name.char_indices().nth(LONGEST - 12).map_or(name.len(), |(place, _)| place);
    let kept = name.get(..cut).unwrap_or_default().trim_end_matches('_');
    style.with_suffix(kept, &format!("x{}", fingerprint(wire)))
}

/// FNV-1a: the same in every build, and short enough to read.
pub(crate) fn fingerprint(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{:08x}", (hash ^ (hash >> 32)) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_well() {
        for (wire, snake, pascal) in [
            ("create_issue", "create_issue", "CreateIssue"),
            ("createIssue", "create_issue", "CreateIssue"),
            ("HTTPServer", "http_server", "HttpServer"),
            ("If-Match", "if_match", "IfMatch"),
            ("$filter", "filter", "Filter"),
            ("{{userName}}", "user_name", "UserName"),
            ("DateCreated<", "date_created_less", "DateCreatedLess"),
            ("<=", "less_or_equal", "LessOrEqual"),
            ("+1", "plus_1", "Plus1"),
            ("-1", "minus_1", "Minus1"),
            ("2fa", "n2fa", "N2fa"),
            ("*", "star", "Star"),
            ("", "empty", "Empty"),
            ("_", "underscore", "Underscore"),
            ("größe", "groesse", "Groesse"),
            ("查询", "u67e5u8be2", "U67e5u8be2"),
            ("a.b/c d", "a_b_c_d", "ABCD"),
        ] {
            assert_eq!(Style::Snake.apply(wire), snake, "{wire}");
            assert_eq!(Style::Pascal.apply(wire), pascal, "{wire}");
        }
    }

    #[test]
    fn collisions_are_resolved_by_content() {
        let names = |wires: &[&str]| identifiers(Style::Snake, wires, &["connect"], "tool");
        assert_eq!(names(&["fill-opacity", "fillOpacity"]), ["fill_opacity_dash", "fill_opacity_camel"]);
        assert_eq!(names(&["read-file", "read_file", "read.file"]), ["read_file_dash", "read_file", "read_file_dot"]);
        assert_eq!(names(&["connect"]), ["connect_tool"]);
        assert_eq!(names(&["a-b", "a_b_dash", "a_b"])[1], "a_b_dash");
        assert_eq!(identifiers(Style::Pascal, &["1m", "1M"], &[], ""), ["N1m", "N1M"]);
        assert_eq!(identifiers(Style::Snake, &["1m", "1M"], &[], ""), ["n1m", "n1_m"]);
        assert_eq!(identifiers(Style::Pascal, &["Sum", "SUM"], &[], ""), ["Sum", "SumUpper"]);
    }

    #[test]
    fn keywords_are_raw_where_they_can_be() {
        assert_eq!(ident("type").to_string(), "r#type");
        assert_eq!(ident("self").to_string(), "self_");
        assert_eq!(ident("Self").to_string(), "Self_");
    }
}
