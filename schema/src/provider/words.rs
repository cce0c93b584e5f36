//! Short descriptions of keywords.

use serde_json::{Map, Value};

const LONGEST: usize = 160;

/// Describes a keyword in words, or returns `None` if the words would not help a model.
pub(super) fn of(keyword: &str, value: &Value) -> Option<String> {
    let words = match keyword {
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
        "dependentRequired" => {
            let [key, needs] = value.as_array()?.as_slice() else { return None };
            format!("with {} also {}", key.as_str()?, joined(needs, ", ", text)?)
        }
        "prefixItems" => match value.as_array()?.as_slice() {
            [count, kinds] if kinds.as_u64() > Some(1) => {
                format!("exactly {}, each of its own kind", counted(count, "item"))
            }
            [count, _] => format!("exactly {}", counted(count, "item")),
            // Others may be missing or follow.
            [count] => format!("first {}, each of its own kind", counted(count, "item")),
            _ => return None,
        },
        "anyOf" => format!("with at least one of: {}", joined(value, "; ", |set| joined(set, " and ", text))?),
        "default" => format!("default {value}"),
        "examples" => format!("for example {}", joined(value, ", ", json)?),
        "contentEncoding" => format!("encoded as {}", value.as_str()?),
        "enum" => format!("one of {}", joined(value, ", ", json)?),
        "not" if value.is_object() => format!("not {value}"),
        _ => return None,
    };
    // Untrusted text must not contain line breaks, which would structure the description.
    (words.len() <= LONGEST && !words.chars().any(char::is_control)).then_some(words)
}

fn counted(value: &Value, what: &str) -> String {
    if value.as_u64() == Some(1) { format!("1 {what}") } else { format!("{value} {what}s") }
}

fn joined(list: &Value, separator: &str, words: impl Fn(&Value) -> Option<String>) -> Option<String> {
    Some(list.as_array()?.iter().filter_map(words).collect::<Vec<_>>().join(separator))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn json(value: &Value) -> Option<String> {
    Some(value.to_string())
}

/// Sets the description of a schema, with words behind it.
pub(super) fn describe(schema: &mut Map<String, Value>, description: Option<&str>, words: &[String]) {
    let said = words.join("; ");
    let text = match description {
        None if said.is_empty() => return,
        None => {
            let mut chars = said.chars();
            chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
        }
        Some(description) if said.is_empty() => description.to_owned(),
        Some(description) => format!("{} ({said})", description.trim_end()),
    };
    schema.insert("description".to_owned(), Value::String(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_are_appended_to_the_description() {
        let described = |description, words: &[String]| {
            let mut schema = Map::new();
            describe(&mut schema, description, words);
            schema.get("description").and_then(Value::as_str).map(str::to_owned)
        };
        let words = ["at least 1".to_owned(), "format uri".to_owned()];
        assert_eq!(described(None, &[]), None);
        assert_eq!(described(None, &words).as_deref(), Some("At least 1; format uri"));
        assert_eq!(described(Some("A place.\n"), &words).as_deref(), Some("A place. (at least 1; format uri)"));
    }
}
