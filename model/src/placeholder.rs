//! `${VAR}`, `${VAR:-default}` and `${env:VAR}` in the values of a configuration.

use std::ops::Range;

/// A placeholder, and where in the value it stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placeholder<'a> {
    pub(crate) range: Range<usize>,
    pub(crate) name: &'a str,
    pub(crate) default: Option<&'a str>,
}

/// A variable that a value needs and that is not set.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) variable: String,
}

/// Puts values in the places of the placeholders. An empty value counts as none where there is a default, as in a shell.
pub(crate) fn expand(value: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, Missing> {
    let mut expanded = String::with_capacity(value.len());
    let mut text_from = 0;
    for Placeholder { range, name, default } in find(value) {
        expanded.push_str(value.get(text_from..range.start).unwrap_or_default());
        text_from = range.end;
        match (lookup(name), default) {
            (Some(found), None) => expanded.push_str(&found),
            (Some(found), Some(_)) if !found.is_empty() => expanded.push_str(&found),
            (_, Some(default)) => expanded.push_str(default),
            (None, None) => {
                return Err(Missing { variable: name.to_owned() });
            }
        }
    }
    expanded.push_str(value.get(text_from..).unwrap_or_default());
    Ok(expanded)
}

/// The placeholders of a value, in order. What does not read as one is text.
pub(crate) fn find(value: &str) -> Vec<Placeholder<'_>> {
    let mut found = Vec::new();
    let mut search_from = 0;
    while let Some(start) = value.get(search_from..).and_then(|rest| rest.find("${")) {
        let start = search_from + start;
        let inside = start + 2;
        let Some(length) = value.get(inside..).and_then(|rest| rest.find('}')) else {
            break;
        };
        let end = inside + length + 1;
        match value.get(inside..end - 1).and_then(variable) {
            Some((name, default)) => {
                found.push(Placeholder { range: start..end, name, default });
                search_from = end;
            }
            None => search_from = inside,
        }
    }
    found
}

fn variable(inside: &str) -> Option<(&str, Option<&str>)> {
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let goes_on_well = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (starts_well && goes_on_well).then_some((name, default))
}

/// A name as environment variables are written.
pub(crate) fn variable_name(name: &str) -> String {
    let start = if name.starts_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
    let rest = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
    start.chars().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        match name {
            "SET" => Some("value".to_owned()),
            "EMPTY" => Some(String::new()),
            "HOSTILE" => Some("${SET}".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn the_three_forms_are_replaced_and_all_else_is_text() {
        for (written, expanded) in [
            ("${SET}", "value"),
            ("${env:SET}", "value"),
            ("${UNSET:-fallback}", "fallback"),
            ("${env:UNSET:-fallback}", "fallback"),
            ("${EMPTY:-fallback}", "fallback"),
            ("${EMPTY}", ""),
            ("${UNSET:-}", ""),
            ("a ${SET} b ${SET}c", "a value b valuec"),
            ("$SET {SET} ${} ${a b} ${1} $", "$SET {SET} ${} ${a b} ${1} $"),
            ("${unclosed", "${unclosed"),
            ("${x.${SET}}", "${x.value}"),
            ("é${SET}é", "évalueé"),
            ("", ""),
        ] {
            assert_eq!(expand(written, &lookup).unwrap(), expanded, "{written}");
        }
    }

    #[test]
    fn a_value_is_never_expanded_again() {
        assert_eq!(expand("${HOSTILE}", &lookup).unwrap(), "${SET}");
    }

    #[test]
    fn a_missing_variable_is_named() {
        assert_eq!(expand("x${UNSET}", &lookup), Err(Missing { variable: "UNSET".to_owned() }));
    }
}
