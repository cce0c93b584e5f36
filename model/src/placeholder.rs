//! `${VAR}`, `${VAR:-default}` and `${env:VAR}` in the values of a configuration.

/// A piece of a value.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    Variable { name: &'a str, default: Option<&'a str> },
}

/// A variable that a value needs and that is not set.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) variable: String,
}

/// Whether the value holds a placeholder.
pub(crate) fn is_in(value: &str) -> bool {
    parts(value).iter().any(|part| matches!(part, Part::Variable { .. }))
}

/// Puts values in the places of the placeholders. An empty value counts as none where there is a default, as in a shell.
pub(crate) fn expand(value: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, Missing> {
    let mut expanded = String::with_capacity(value.len());
    for part in parts(value) {
        match part {
            Part::Text(text) => expanded.push_str(text),
            Part::Variable { name, default } => match (lookup(name), default) {
                (Some(found), None) => expanded.push_str(&found),
                (Some(found), Some(_)) if !found.is_empty() => expanded.push_str(&found),
                (_, Some(default)) => expanded.push_str(default),
                (None, None) => {
                    return Err(Missing { variable: name.to_owned() });
                }
            },
        }
    }
    Ok(expanded)
}

/// What does not read as a placeholder is text.
fn parts(value: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut text_from = 0;
    let mut search_from = 0;
    while let Some(start) = value.get(search_from..).and_then(|rest| rest.find("${")) {
        let start = search_from + start;
        let inside = start + 2;
        let Some(length) = value.get(inside..).and_then(|rest| rest.find('}')) else {
            break;
        };
        let end = inside + length + 1;
        match value.get(inside..end - 1).and_then(variable) {
            Some(variable) => {
                parts.extend(value.get(text_from..start).filter(|text| !text.is_empty()).map(Part::Text));
                parts.push(variable);
                text_from = end;
                search_from = end;
            }
            None => search_from = inside,
        }
    }
    parts.extend(value.get(text_from..).filter(|text| !text.is_empty()).map(Part::Text));
    parts
}

fn variable(inside: &str) -> Option<Part<'_>> {
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let goes_on_well = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (starts_well && goes_on_well).then_some(Part::Variable { name, default })
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
