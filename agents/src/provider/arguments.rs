//! A model's arguments for a tool, before they are checked.

use std::fmt;

use mcp_bindgen_model::printable;
use mcp_bindgen_schema::type_in_words;
use serde_json::{Map, Value};

use crate::json::bytes_up_to;

/// More than any model can say in one reply.
const LARGEST: usize = 4 * 1024 * 1024;
/// The depth limit of `serde_json` for text.
const DEEPEST: usize = 128;
/// How much of broken text is shown.
const SHOWN: usize = 40;

/// The arguments of a call as a model sent them: an object, or its JSON text.
///
/// They are checked on use, so that the model receives errors. Empty text means `{}`: some models send it for tools
/// without parameters. Text that is not JSON, and JSON that is not an object, are errors of the model. At most 4 MiB of
/// JSON and 128 levels of nesting are accepted.
///
/// ```
/// use mcp_bindgen_agents::Arguments;
/// use serde_json::json;
///
/// let text = Arguments::from(r#"{"path": "/tmp"}"#);
/// let object = Arguments::from(json!({"path": "/tmp"}));
/// assert_eq!(text.object(), object.object());
/// assert_eq!(Arguments::from("").object().map(|none| none.len()), Ok(0));
/// assert!(Arguments::from(r#"{"path": "/t"#).object().is_err());
/// ```
#[derive(Clone, PartialEq)]
pub struct Arguments(Value);

/// The reason why arguments cannot be used, for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnreadableArguments(String);

impl Arguments {
    /// Returns the arguments as an object.
    ///
    /// # Errors
    /// Fails if they are too large, no JSON, or no object: in words for the model.
    pub fn object(self) -> Result<Map<String, Value>, UnreadableArguments> {
        let value = match self.0 {
            Value::String(text) if text.len() > LARGEST => return Err(too_large(text.len())),
            Value::String(text) if text.trim().is_empty() => return Ok(Map::new()),
            Value::String(text) => serde_json::from_str(&text).map_err(|error| broken(&text, &error))?,
            value if is_deeper(&value, DEEPEST) => {
                let message = format!("the arguments are nested more than {DEEPEST} levels deep");
                return Err(UnreadableArguments(message));
            }
            value if bytes_up_to(&value, LARGEST) > LARGEST => return Err(too_large(LARGEST + 1)),
            value => value,
        };
        match value {
            Value::Object(arguments) => Ok(arguments),
            other => Err(UnreadableArguments(format!(
                "expected a JSON object for the arguments, found {}",
                type_in_words(&other)
            ))),
        }
    }

    /// Returns `true` if the text is a complete object, which cannot be a truncated one.
    pub(super) fn is_whole_text(&self) -> bool {
        matches!(&self.0, Value::String(text) if text.len() <= LARGEST
            && serde_json::from_str::<Map<String, Value>>(text).is_ok())
    }
}

impl From<Value> for Arguments {
    /// Treats a string as JSON text, which OpenAI's replies contain.
    fn from(value: Value) -> Self {
        Self(value)
    }
}

impl From<Map<String, Value>> for Arguments {
    fn from(arguments: Map<String, Value>) -> Self {
        Self(arguments.into())
    }
}

impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Arguments {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

/// Omits the values, because a user may have entrusted them to the model.
impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::String(text) => write!(f, "Arguments({} bytes of text)", text.len()),
            Value::Object(fields) => {
                write!(f, "Arguments(")?;
                f.debug_set().entries(fields.keys()).finish()?;
                write!(f, ")")
            }
            other => write!(f, "Arguments({})", type_in_words(other)),
        }
    }
}

fn too_large(bytes: usize) -> UnreadableArguments {
    UnreadableArguments(format!(
        "the arguments have at least {bytes} bytes, and the limit is {LARGEST}; send less, or split the call"
    ))
}

/// Describes the fault in the text, and the text before it.
fn broken(text: &str, error: &serde_json::Error) -> UnreadableArguments {
    let line: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    // Columns are bytes, counted from 1.
    let end = (0..=line + error.column()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    let before = text.get(..end).unwrap_or_default();
    let start = before.char_indices().rev().nth(SHOWN - 1).map_or(0, |(start, _)| start);
    let near = match before.get(start..).unwrap_or_default() {
        "" => String::new(),
        near => format!(", after `{}`", printable(near)),
    };
    UnreadableArguments(format!("the arguments are not JSON: {error}{near}"))
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let mut inner: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        _ => return false,
    };
    levels.checked_sub(1).is_none_or(|below| inner.any(|value| is_deeper(value, below)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(arguments: impl Into<Arguments>) -> String {
        arguments.into().object().expect_err("it is refused").to_string()
    }

    #[test]
    fn every_form_of_an_object_is_parsed() {
        let expected = json!({"n": 1, "deep": {"x": [null]}});
        let Value::Object(map) = expected.clone() else { panic!("an object") };
        for arguments in [
            Arguments::from(expected.clone()),
            Arguments::from(map.clone()),
            Arguments::from(expected.to_string()),
            Arguments::from(Value::String(expected.to_string())),
        ] {
            assert_eq!(arguments.object(), Ok(map.clone()));
        }
        for nothing in ["", " \n"] {
            assert_eq!(Arguments::from(nothing).object(), Ok(Map::new()));
        }
    }

    #[test]
    fn malformed_arguments_error_has_a_position() {
        let said = refused("{\"title\": \"créer\",\n \"body\": tru}");
        assert!(said.contains("line 2 column 1") && said.contains("after `"), "{said}");
        assert!(said.contains(r#""body": tru"#), "{said}");
        assert!(refused(r#"{"a": "b"#).contains("EOF"));
        assert!(refused(r#"{"a": 1} and more"#).contains("trailing"));
        for (other, name) in [("[1]", "an array"), ("\"{}\"", "a string"), ("null", "null"), ("7", "a number")] {
            assert!(refused(other).ends_with(name), "{other}");
        }
        assert!(refused(json!([])).ends_with("an array"));
        assert!(refused(Value::Null).ends_with("null"));
    }

    #[test]
    fn error_escapes_hostile_characters() {
        let said = refused("{\"a\": \u{1b}[31m\u{202e}");
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{said}");
    }

    #[test]
    fn arguments_are_bounded_in_bytes_in_every_form() {
        let large = "x".repeat(10 * 1024 * 1024);
        for arguments in [
            Arguments::from(json!({"body": large}).to_string()),
            Arguments::from(json!({"body": large})),
            Arguments::from(large.as_str()),
        ] {
            let said = refused(arguments);
            assert!(said.contains("4194304") && said.len() < 200, "{said}");
        }
        let fits = json!({"body": "x".repeat(LARGEST - 11)});
        assert_eq!(fits.to_string().len(), LARGEST);
        assert!(Arguments::from(fits.clone()).object().is_ok());
        assert!(Arguments::from(fits.to_string()).object().is_ok());
    }

    #[test]
    fn depth_is_bounded_in_every_form() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({"a": inner}));
        assert!(Arguments::from(nested(100)).object().is_ok());
        assert!(refused(nested(300)).contains("128 levels"));
        assert!(refused(format!("{}1{}", "{\"a\":".repeat(5000), "}".repeat(5000))).contains("recursion"));
    }

    #[test]
    fn debug_output_shows_no_values() {
        let shown = format!("{:?} {:?}", Arguments::from(json!({"password": "hunter22"})), Arguments::from("hunter22"));
        assert!(shown.contains("password") && !shown.contains("hunter22"), "{shown}");
    }
}
