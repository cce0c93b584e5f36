//! Short descriptions of keywords.

use serde_json::Value;

use super::notes::Constraint;

const LONGEST: usize = 160;

/// Describes a keyword in words, or returns `None` if the words would not help a model.
pub(super) fn of(constraint: &Constraint) -> Option<String> {
    let value = &constraint.value;
    let words = match constraint.keyword {
        "minimum" => format!("at least {value}"),
        "maximum" => format!("at most {value}"),
        "exclusiveMinimum" => format!("more than {value}"),
        "exclusiveMaximum" => format!("less than {value}"),
        "multipleOf" => format!("a multiple of {value}"),
        "minLength" if value.as_u64() == Some(1) => "not empty".to_owned(),
        "minLength" => format!("at least {value} characters"),
        "maxLength" => format!("at most {value} characters"),
        "pattern" => format!("matches {}", value.as_str()?),
        "format" => format!("format {}", value.as_str()?),
        "minItems" => format!("at least {}", counted(value, "item")),
        "maxItems" => format!("at most {}", counted(value, "item")),
        "uniqueItems" => "no item twice".to_owned(),
        "minProperties" => format!("at least {}", counted(value, "key")),
        "maxProperties" => format!("at most {}", counted(value, "key")),
        "dependentRequired" => dependent(value)?,
        "prefixItems" => places(value)?,
        "anyOf" => format!("with at least one of: {}", sets(value)?),
        "default" => format!("default {value}"),
        "examples" => format!("for example {}", list(value)?),
        "contentEncoding" => format!("encoded as {}", value.as_str()?),
        "enum" => format!("one of {}", list(value)?),
        "deprecated" => "deprecated".to_owned(),
        "not" if value.is_object() => format!("not {value}"),
        _ => return None,
    };
    // Untrusted text must not contain line breaks, which would structure the description.
    (words.len() <= LONGEST && !words.chars().any(char::is_control)).then_some(words)
}

fn list(value: &Value) -> Option<String> {
    Some(value.as_array()?.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))
}

fn counted(value: &Value, what: &str) -> String {
    if value.as_u64() == Some(1) { format!("1 {what}") } else { format!("{value} {what}s") }
}

/// Describes the number of items and of their kinds, or the number of first items if others may be missing or follow.
fn places(value: &Value) -> Option<String> {
    match value.as_array()?.as_slice() {
        [count, kinds] => {
            let own = if kinds.as_u64() > Some(1) { ", each of its own kind" } else { "" };
            Some(format!("exactly {}{own}", counted(count, "item")))
        }
        [count] => Some(format!("first {}, each of its own kind", counted(count, "item"))),
        _ => None,
    }
}

fn dependent(value: &Value) -> Option<String> {
    let [key, needs] = value.as_array()?.as_slice() else { return None };
    Some(format!("with {} also {}", key.as_str()?, names(needs)?))
}

fn names(value: &Value) -> Option<String> {
    Some(value.as_array()?.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
}

fn sets(value: &Value) -> Option<String> {
    let sets = value.as_array()?.iter().filter_map(|set| Some(names(set)?.replace(", ", " and ")));
    Some(sets.collect::<Vec<_>>().join("; "))
}

/// Returns a description with words behind it.
pub(super) fn described(description: Option<&str>, words: &[String]) -> Option<String> {
    let said = words.join("; ");
    match description {
        None if said.is_empty() => None,
        None => {
            let mut chars = said.chars();
            chars.next().map(|first| first.to_uppercase().chain(chars).collect())
        }
        Some(description) if said.is_empty() => Some(description.to_owned()),
        Some(description) => Some(format!("{} ({said})", description.trim_end())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_are_appended_to_the_description() {
        let words = ["at least 1".to_owned(), "format uri".to_owned()];
        assert_eq!(described(None, &[]), None);
        assert_eq!(described(None, &words).as_deref(), Some("At least 1; format uri"));
        assert_eq!(described(Some("A place.\n"), &words).as_deref(), Some("A place. (at least 1; format uri)"));
    }
}
