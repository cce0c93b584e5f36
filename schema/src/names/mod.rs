//! All identifiers: the names of tools, fields and variants in bindings, as text. The generator converts them to
//! tokens, and drift compares them for another list or schema.
//!
//! Collisions are resolved by the names themselves, never by their order. The name whose wire form equals the
//! identifier keeps it; each other name gets a suffix made of its own wire name.

mod members;
mod prefixed;
#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod prefixed_tests;
mod scope;
mod tools;
mod words;

pub use members::{Enumeration, branch_labels, branches, extra, fields, fields_or, setters, variants};
pub use prefixed::{Given, PROGRAM, PrefixedNames, SECTIONS, SET_CALLS, is_accepted, told_apart};
pub use scope::{Identity, Wanted, first_free, given_or_made, identifiers, renamed_types};
pub use tools::{METHODS, ToolNames, offers, tools};

/// The case of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `create_issue`
    Snake,
    /// `CreateIssue`
    Pascal,
}

/// Identifiers longer than this are cut.
const LONGEST: usize = 96;

impl Style {
    /// Converts a name to an identifier, before collisions are resolved.
    #[must_use]
    pub fn apply(self, wire: &str) -> String {
        let words = words::words(wire);
        let mut written = match self {
            Self::Snake => words.join("_"),
            Self::Pascal => words.iter().map(|word| capitalized(word)).collect(),
        };
        if written.starts_with(|first: char| first.is_ascii_digit()) {
            written.insert(0, if self == Self::Snake { 'n' } else { 'N' });
        }
        self.within_limit(written, wire)
    }

    /// Shortens an identifier for `whole` to a readable length.
    #[must_use]
    pub fn within_limit(self, name: String, whole: &str) -> String {
        if name.len() <= LONGEST {
            return name;
        }
        let cut = name.char_indices().nth(LONGEST - 12).map_or(name.len(), |(place, _)| place);
        let kept = name.get(..cut).unwrap_or_default().trim_end_matches('_');
        self.with_suffix(kept, &format!("x{}", fingerprint(whole)))
    }

    fn with_suffix(self, base: &str, suffix: &str) -> String {
        match self {
            Self::Snake => format!("{base}_{suffix}"),
            Self::Pascal => format!("{base}{}", suffix.split('_').map(capitalized).collect::<String>()),
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + chars.as_str())
}

/// Returns the FNV-1a hash: the same in every build, and short.
#[must_use]
pub fn fingerprint(text: &str) -> String {
    let hash = fnv1a(text);
    format!("{:08x}", (hash ^ (hash >> 32)) & 0xffff_ffff)
}

/// Returns the FNV-1a hash of 64 bits.
pub(crate) fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_names_become_readable_identifiers() {
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
    fn fallback_name_is_extended_if_it_is_taken() {
        let names = |wires: &[&str]| identifiers(Style::Snake, wires, &[], "tool");
        let wires = ["a-b-c", "a--b-c", "a_b_c_x8d997b24"];
        let all = names(&wires);
        assert_eq!(all[2], "a_b_c_x8d997b24");
        assert!(all.contains(&"a_b_c_x8d997b24x".to_owned()), "{all:?}");
        let mut reversed = names(&["a_b_c_x8d997b24", "a--b-c", "a-b-c"]);
        reversed.reverse();
        assert_eq!(all, reversed);
        // Two wire names with one fingerprint, and one reading.
        let long = "x".repeat(LONGEST);
        let all = names(&[&format!("{long}--"), &format!("{long}-")]);
        assert_ne!(all[0], all[1]);
    }

    #[test]
    fn types_with_equal_names_are_distinguished_by_their_content() {
        let wanted =
            [("OrderItem", false), ("OrderItem", false), ("OrderItem", true), ("Free", false), ("Taken", true)];
        let wanted: Vec<Wanted<'_>> = wanted.iter().map(|(name, is_root)| Wanted { name, is_root: *is_root }).collect();
        let identity = |place: usize| (place, format!("type {place}"));
        let renamed = renamed_types(&wanted, &["Taken"], &identity);
        let mut places: Vec<usize> = renamed.iter().map(|(place, _)| *place).collect();
        places.sort_unstable();
        assert_eq!(places, [0, 1, 4]);
        // A name that was made for one of them, and that another type has.
        let squatted = &renamed[0].1;
        let more = [wanted.clone(), vec![Wanted { name: squatted, is_root: false }]].concat();
        let names: Vec<String> =
            renamed_types(&more, &["Taken"], &identity).into_iter().map(|(_, name)| name).collect();
        assert!(!names.contains(squatted) && names.contains(&format!("{squatted}x")), "{names:?}");
        let names: Vec<String> =
            renamed_types(&wanted, &["Taken", squatted], &identity).into_iter().map(|(_, name)| name).collect();
        assert!(!names.contains(squatted), "{names:?}");
    }
}
