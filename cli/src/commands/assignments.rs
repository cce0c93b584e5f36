//! Values on the command line: `NAME=TEXT` and `NAME:=JSON`.

use mcp_bindgen_model::printable;
use serde_json::{Map, Value};

use crate::exit::Failure;

/// Returns the values of an option that may be given several times.
///
/// # Errors
/// Fails if a value is not an assignment, or if a name is repeated.
pub(super) fn values(option: &str, assignments: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut values = Map::new();
    for assignment in assignments {
        let (name, value) = parsed(option, assignment)?;
        if values.insert(name.to_owned(), value).is_some() {
            return Err(Failure::usage(format!("duplicate `{name}` in `{option}`")));
        }
    }
    Ok(values)
}

fn parsed<'a>(option: &str, assignment: &'a str) -> Result<(&'a str, Value), Failure> {
    let Some((left, right)) = assignment.split_once('=') else {
        let message = format!("missing value in `{option} {}`", printable(assignment));
        return Err(Failure::usage(format!("{message}\n  = help: use `{option} NAME=TEXT` or `{option} NAME:=JSON`")));
    };
    let (name, is_json) = left.strip_suffix(':').map_or((left, false), |name| (name, true));
    if !is_name(name) {
        let message = format!("invalid variable name `{}` in `{option}`", printable(name));
        return Err(Failure::usage(format!("{message}\n  = help: use letters, digits and `_`")));
    }
    if !is_json {
        return Ok((name, Value::from(right)));
    }
    let value = serde_json::from_str(right).map_err(|error| {
        let message = format!("the value of `{name}` in `{option}` is not JSON: {error}");
        Failure::usage(format!("{message}\n  = help: use `{option} {name}=TEXT` for text"))
    })?;
    Ok((name, value))
}

fn is_name(name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    name.chars().all(is_word) && name.starts_with(|c: char| !c.is_numeric())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(assignments: &[&str]) -> Result<Map<String, Value>, String> {
        let assignments: Vec<String> = assignments.iter().map(|text| (*text).to_owned()).collect();
        values("--set", &assignments).map_err(|failure| failure.message)
    }

    #[test]
    fn assignments_parse_as_text_or_json() {
        let values = read(&["a=5", "b:=5", "c==", "d:={\"x\": \"y=z\"}", "e="]);
        assert_eq!(values.map(Value::Object), Ok(json!({"a": "5", "b": 5, "c": "=", "d": {"x": "y=z"}, "e": ""})));
    }

    #[test]
    fn malformed_assignment_is_an_error() {
        for (assignments, said) in [
            (&["a"][..], "missing value"),
            (&["=a"], "invalid variable name"),
            (&["1a=b"], "invalid variable name"),
            (&["a b=c"], "invalid variable name"),
            (&["a:=b"], "not JSON"),
            (&["a=1", "a:=1"], "duplicate"),
        ] {
            let error = read(assignments).err().unwrap_or_default();
            assert!(error.contains(said), "{assignments:?}: {error}");
        }
    }
}
