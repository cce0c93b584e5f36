//! The names that minijinja knows, and the reserved ones.

use crate::ast::{Piece, PieceKind};
use crate::fault::{Fault, Place, meant};
use crate::words::{Role, Word, is_word, words};

/// The filters that templates have, wherever they run: minijinja's own, and `tojson`.
const FILTERS: &str = "\
    abs|attr|batch|bool|capitalize|chain|count|d|default|dictsort|e|escape|first|float|format|groupby|indent|int|\
    items|join|last|length|lines|list|lower|map|max|min|pprint|reject|rejectattr|replace|reverse|round|safe|select|\
    selectattr|slice|sort|split|string|sum|title|tojson|trim|unique|upper|zip";
/// The tests that templates have: minijinja's own, but for those that no word names.
const TESTS: &str = "\
    boolean|defined|divisibleby|endingwith|eq|equalto|escaped|even|false|filter|float|ge|greaterthan|gt|in|int|\
    integer|iterable|le|lessthan|lower|lt|mapping|ne|none|number|odd|safe|sameas|sequence|startingwith|string|test|\
    true|undefined|upper";
/// Words of the language, which name no variable.
const KEYWORDS: &str = "\
    and|elif|else|endfor|endif|endset|false|False|for|if|in|is|loop|none|None|not|or|recursive|self|set|true|True";
/// The prefix of internal names: no name of a template may begin with it.
pub const RESERVED: &str = "__mcp_";

/// Returns `true` if one of these lists has a word.
fn has(list: &str, word: &str) -> bool {
    list.split('|').any(|known| known == word)
}

/// Returns `true` if a word of the language, or what begins so, cannot be the name of a variable.
pub(crate) fn is_keyword(name: &str) -> bool {
    has(KEYWORDS, name)
}

/// Returns `true` if minijinja parses the word as a variable.
///
/// ```
/// use mcp_bindgen_template::is_variable;
///
/// assert!(is_variable("issue_1") && !is_variable("for") && !is_variable("1st"));
/// ```
#[must_use]
pub fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_word) && !is_keyword(name)
}

/// Finds filters and tests that do not exist, and names that a piece may not use. None of this is known to
/// minijinja before the code runs, and by then calls have been made.
pub(crate) fn unknown(piece: &Piece) -> impl Iterator<Item = Fault> {
    let is_exact = matches!(piece.kind, PieceKind::Expression(_) | PieceKind::Statement(_));
    piece.codes().into_iter().flat_map(move |(place, code)| {
        words(code).filter_map(move |Word { role, text, at, .. }| {
            let message = match role {
                Role::Filter if !has(FILTERS, text) => {
                    format!("unknown filter `{text}`{}", meant(text, FILTERS.split('|')))
                }
                Role::Test if !has(TESTS, text) => format!("unknown test `{text}`{}", meant(text, TESTS.split('|'))),
                Role::Name if text.starts_with(RESERVED) => taken(),
                _ => return None,
            };
            Some(Fault::new(if is_exact { within(place, code, at) } else { place }, message))
        })
    })
}

/// Describes the reserved names.
pub(crate) fn taken() -> String {
    format!("names that begin with `{RESERVED}` are reserved: choose another")
}

/// Returns the place of a byte of code that begins at a place.
fn within(place: Place, code: &str, at: usize) -> Place {
    let before = code.get(..at).unwrap_or_default();
    let columns = before.rsplit('\n').next().unwrap_or_default().chars().count();
    match before.matches('\n').count() {
        0 => Place { line: place.line, column: place.column + columns },
        lines => Place { line: place.line + lines, column: 1 + columns },
    }
}

#[cfg(test)]
mod tests {
    use minijinja::Environment;

    use super::*;
    use crate::Template;

    /// Returns the names that an environment lists: `filters: ["abs", ..]`.
    fn names(debug: &str, what: &str) -> Vec<String> {
        let (_, list) =
            debug.split_once(&format!("{what}: [")).or_else(|| debug.split_once(&format!("{what}: {{"))).unwrap();
        let (list, _) = list.split_once([']', '}']).unwrap();
        list.split(", ").map(|name| name.trim_matches('"').to_owned()).collect()
    }

    #[test]
    fn filters_and_tests_match_those_of_minijinja() {
        let debug = format!("{:?}", Environment::new());
        let is_word = |name: &&String| name.starts_with(|c: char| c.is_ascii_alphabetic());
        // The list excludes names that features of other crates would add.
        let (filters, tests) = (names(&debug, "filters"), names(&debug, "tests"));
        let theirs: Vec<&str> =
            filters.iter().map(String::as_str).filter(|name| !["tojson", "urlencode"].contains(name)).collect();
        let ours: Vec<&str> = FILTERS.split('|').filter(|name| *name != "tojson").collect();
        assert_eq!(ours, theirs);
        assert_eq!(
            TESTS.split('|').collect::<Vec<_>>(),
            tests.iter().filter(is_word).map(String::as_str).collect::<Vec<_>>()
        );
    }

    #[test]
    fn unknown_filters_and_tests_are_parse_errors() {
        let said = |text: &str| {
            let faults = Template::parse(text).unwrap_err();
            faults.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(said("a {{ x\n ~ y|uper }}"), ["2:6: unknown filter `uper`; did you mean `upper`?"]);
        assert_eq!(
            said("{% if x is not definde %}{% endif %}"),
            ["1:16: unknown test `definde`; did you mean `defined` or `undefined`?"]
        );
        assert_eq!(said("{% filter a.b %}{% endfilter %}"), ["1:11: unknown filter `a.b`; did you mean `abs`?"]);
        assert_eq!(said("[[@x|a=1, b=y|frist]]"), ["1:11: unknown filter `frist`; did you mean `first` or `list`?"]);
        assert_eq!(said("{{ __mcp_x }}"), ["1:4: names that begin with `__mcp_` are reserved: choose another"]);
        assert_eq!(said("[[@x:__mcp_y{{ n }}]]"), ["1:6: names that begin with `__mcp_` are reserved: choose another"]);
        assert!(said("[[@__mcp_slot]]")[0].contains("needs a name of its own"));
        for fine in
            ["{{ '__mcp_x'|tojson }}", "{{ x.__mcp_y }}", "{{ x is eq 3 and y is not none }}", "[[@x|a=\"__mcp_\"]]"]
        {
            assert!(Template::parse(fine).is_ok(), "{fine}");
        }
        assert_eq!(said(&"{{ x|y }}".repeat(1_000)).len(), 20);
    }
}
