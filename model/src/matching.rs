//! Matches names against patterns, and suggests similar names.

use std::str::Chars;

const SUGGESTIONS: usize = 5;

/// Returns `true` if a name matches a glob: `*` matches any characters, `?` one.
///
/// ```
/// assert!(mcp_bindgen_model::matches_glob("list_*", "list_issues"));
/// assert!(!mcp_bindgen_model::matches_glob("list_*", "create_issue"));
/// ```
pub fn matches_glob(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // The state after the last `*`, with the characters from which it continues.
    let mut star: Option<(Chars<'_>, Chars<'_>)> = None;
    loop {
        let mut rest = pattern.clone();
        match (rest.next(), name.clone().next()) {
            (Some('*'), _) => {
                star = Some((rest.clone(), name.clone()));
                pattern = rest;
            }
            (Some(one), Some(other)) if one == '?' || one == other => {
                pattern = rest;
                name.next();
            }
            (None, None) => return true,
            _ => {
                let Some((after, from)) = &mut star else { return false };
                if from.next().is_none() {
                    return false;
                }
                (pattern, name) = (after.clone(), from.clone());
            }
        }
    }
}

/// Returns `true` if a list of globs selects a name. Globs with `!` deselect, and the last match applies. A list that
/// begins with `!` starts from all names.
///
/// ```
/// use mcp_bindgen_model::matches_globs;
///
/// assert!(matches_globs(&["get_*", "list_*"], "list_issues"));
/// let but_reading = ["*", "!get_*", "get_secret"];
/// assert!(matches_globs(&but_reading, "delete") && matches_globs(&but_reading, "get_secret"));
/// assert!(!matches_globs(&but_reading, "get_issue"));
/// assert!(matches_globs(&["!get_*"], "delete"));
/// ```
pub fn matches_globs(globs: &[impl AsRef<str>], name: &str) -> bool {
    for glob in globs.iter().rev().map(AsRef::as_ref) {
        match glob.strip_prefix('!') {
            Some(without) if matches_glob(without, name) => return false,
            None if matches_glob(glob, name) => return true,
            _ => {}
        }
    }
    globs.first().is_some_and(|first| first.as_ref().starts_with('!'))
}

/// Returns the candidates most similar to `name`, the best first: at most five, often none.
///
/// ```
/// assert_eq!(mcp_bindgen_model::nearest("comand", ["command", "args", "cwd"]), ["command"]);
/// assert!(mcp_bindgen_model::nearest("zebra", ["command", "args"]).is_empty());
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    nearest_of(name, &mut candidates.into_iter())
}

fn nearest_of<'a>(name: &str, candidates: &mut dyn Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = folded(name);
    let mut ranked: Vec<(usize, &str)> = Vec::new();
    for candidate in candidates {
        let Some(rank) = implausibility(&wanted, &folded(candidate)) else { continue };
        if let Err(at) = ranked.binary_search(&(rank, candidate)) {
            ranked.insert(at, (rank, candidate));
            ranked.truncate(SUGGESTIONS);
        }
    }
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Ranks a candidate: 0 for another spelling, then edits, then containment; `None` for unrelated names.
fn implausibility(wanted: &str, candidate: &str) -> Option<usize> {
    let edits = strsim::damerau_levenshtein(wanted, candidate);
    let length = wanted.chars().count().min(candidate.chars().count());
    if edits <= length.div_ceil(3) && edits < length.max(1) {
        return Some(edits);
    }
    let contained = length >= 3 && (candidate.contains(wanted) || wanted.contains(candidate));
    contained.then_some(100 + edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_stars_match_in_linear_time() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("**", "abc", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcd", false),
            ("*ab*ab*", "aabab", true),
            ("*ab", "abab", true),
            ("?", "\u{e9}", true),
            ("?", "", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a]", "a", false),
            ("a", "A", false),
        ] {
            assert_eq!(matches_glob(pattern, name), expected, "{pattern} {name}");
        }
        // Not in a time that multiplies with each star.
        assert!(!matches_glob(&("a*".repeat(30) + "b"), &"a".repeat(20_000)));
    }
}
