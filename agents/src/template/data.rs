//! JSON in templates: walked as data, printed as JSON, and never read as a template.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr, Serde, Value, ValueKind};
use serde_json::Value as Json;

/// The depth limit of `serde_json` for text.
pub(super) const DEEPEST: usize = 128;

/// A list or an object. minijinja's own would lose the order of keys, and print as Python does.
#[derive(Debug)]
struct Data {
    form: Form,
    text: Option<Text>,
}

/// The text that a list or an object prints as.
#[derive(Clone, Debug)]
struct Text {
    text: Arc<str>,
    /// The form in which an argument is the text: the first one if the data was read from it, the other one if a result
    /// had it beside the data.
    form: Wanted,
}

/// The wanted form of a value that is both data and text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The form in which it came.
    First,
    /// The other one.
    Other,
    Data,
}

#[derive(Debug)]
enum Form {
    List(Vec<Value>),
    Object { members: Vec<(Arc<str>, Value)>, places: BTreeMap<Arc<str>, usize> },
}

/// The reason why a template value has no JSON form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoJson {
    Undefined,
    /// Functions, namespaces, bytes, numbers that JSON does not have.
    Other(&'static str),
    /// The value is too large.
    TooMuch,
}

impl Data {
    fn of(form: Form, text: Option<Text>) -> Value {
        Value::from_object(Self { form, text })
    }
}

/// Returns a value from JSON, or `None` if it is nested too deeply.
pub(super) fn of_json(json: Json) -> Option<Value> {
    within(json, DEEPEST)
}

fn within(json: Json, depth: usize) -> Option<Value> {
    match json {
        Json::Array(_) | Json::Object(_) => Some(Data::of(form(json, depth)?, None)),
        scalar => Some(Value::from(Serde(&scalar))),
    }
}

/// Returns the form of a list or an object.
fn form(json: Json, depth: usize) -> Option<Form> {
    let depth = depth.checked_sub(1)?;
    match json {
        Json::Array(items) => items.into_iter().map(|item| within(item, depth)).collect::<Option<_>>().map(Form::List),
        Json::Object(members) => {
            let members = members.into_iter().map(|(key, value)| Some((Arc::from(key), within(value, depth)?)));
            let members: Vec<(Arc<str>, Value)> = members.collect::<Option<_>>()?;
            let places = members.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)).collect();
            Some(Form::Object { members, places })
        }
        _ => None,
    }
}

/// Returns a text. That of a JSON object or list can be walked as such, and prints as it came.
pub(super) fn of_text(text: String) -> Value {
    let may_be_walked = text.trim_start().starts_with(['{', '[']);
    let json = may_be_walked.then(|| serde_json::from_str(&text).ok()).flatten();
    match json.and_then(|json| form(json, DEEPEST)) {
        Some(form) => Data::of(form, Some(Text { text: text.into(), form: Wanted::First })),
        None => Value::from(text),
    }
}

/// Returns the structured content of a result, which prints as the result's text. That is its only member if that is a
/// string, and JSON if the text is the same JSON or empty. Returns `None` if it is nested too deeply.
pub(super) fn of_result(json: Json, text: String) -> Option<Value> {
    let only =
        json.as_object().filter(|members| members.len() == 1).and_then(|members| members.values().next()?.as_str());
    let text = match only {
        Some(only) => only.to_owned(),
        None if text.is_empty() || serde_json::from_str(&text).is_ok_and(|said: Json| said == json) => {
            return of_json(json);
        }
        None => text,
    };
    match json {
        Json::Array(_) | Json::Object(_) => {
            Some(Data::of(form(json, DEEPEST)?, Some(Text { text: text.into(), form: Wanted::Other })))
        }
        other => of_json(other),
    }
}

/// Returns the value as JSON.
pub(super) fn to_json(value: &Value, wanted: Wanted) -> Result<Json, NoJson> {
    json_within(value, wanted, DEEPEST)
}

fn json_within(value: &Value, wanted: Wanted, depth: usize) -> Result<Json, NoJson> {
    let within = |value: &Value| {
        let depth = depth.checked_sub(1).ok_or(NoJson::Other("a value that is nested too deeply"))?;
        json_within(value, wanted, depth)
    };
    if let Some(data) = value.downcast_object_ref::<Data>() {
        return match (&data.text, &data.form) {
            (Some(Text { text, form }), _) if wanted == *form => Ok(Json::String(text.to_string())),
            (_, Form::List(items)) => items.iter().map(within).collect(),
            (_, Form::Object { members, .. }) => {
                members.iter().map(|(key, value)| Ok((key.to_string(), within(value)?))).collect()
            }
        };
    }
    match value.kind() {
        ValueKind::Undefined => Err(NoJson::Undefined),
        ValueKind::Number => match serde_json::to_value(value) {
            Ok(number @ Json::Number(_)) => Ok(number),
            _ => Err(NoJson::Other("a number that JSON cannot represent")),
        },
        // JSON has each of these.
        ValueKind::None | ValueKind::Bool | ValueKind::String => Ok(serde_json::to_value(value).unwrap_or_default()),
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter().map_err(|_| NoJson::Other("a value that is not iterable"))?;
            items.map(|item| within(&item)).collect()
        }
        ValueKind::Map => {
            let keys = value.try_iter().map_err(|_| NoJson::Other("a value that is not iterable"))?;
            let member = |key: Value| {
                let member = value.get_item(&key).map_err(|_| NoJson::Undefined)?;
                Ok((key.to_string(), within(&member)?))
            };
            keys.map(member).collect()
        }
        ValueKind::Bytes => Err(NoJson::Other("bytes")),
        _ => Err(NoJson::Other("a function or a similar value")),
    }
}

/// Returns `true` if something in it may be both data and a text.
pub(super) fn has_two_forms(value: &Value) -> bool {
    match value.downcast_object_ref::<Data>() {
        Some(Data { text: Some(_), .. }) => true,
        Some(Data { form: Form::List(items), .. }) => items.iter().any(has_two_forms),
        Some(Data { form: Form::Object { members, .. }, .. }) => {
            members.iter().any(|(_, member)| has_two_forms(member))
        }
        None => matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map),
    }
}

/// Prints a value: strings unquoted, all others as JSON.
///
/// # Errors
/// Fails if the value is undefined or too large.
pub(super) fn printed(value: &Value) -> Result<String, NoJson> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    if let Some(text) = value.downcast_object_ref::<Data>().and_then(|data| data.text.as_ref()) {
        return Ok(text.text.to_string());
    }
    match to_json(value, Wanted::First) {
        Ok(Json::String(text)) => Ok(text),
        Ok(json) => Ok(json.to_string()),
        Err(why @ (NoJson::Undefined | NoJson::TooMuch)) => Err(why),
        // Functions, namespaces and infinity print like in minijinja.
        Err(NoJson::Other(_)) => Ok(value.to_string()),
    }
}

impl Object for Data {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        match self.form {
            Form::List(_) => ObjectRepr::Seq,
            Form::Object { .. } => ObjectRepr::Map,
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match &self.form {
            Form::List(items) => items.get(key.as_usize()?).cloned(),
            Form::Object { members, places } => {
                members.get(*places.get(key.as_str()?)?).map(|(_, value)| value.clone())
            }
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match &self.form {
            Form::List(items) => Enumerator::Seq(items.len()),
            Form::Object { members, .. } => {
                let keys: Vec<Value> = members.iter().map(|(key, _)| Value::from(key)).collect();
                Enumerator::Values(keys)
            }
        }
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.text, to_json(&Value::from_dyn_object(self.clone()), Wanted::First)) {
            (Some(text), _) => f.write_str(&text.text),
            (None, Ok(json)) => write!(f, "{json}"),
            (None, Err(_)) => Err(fmt::Error),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_round_trips_unchanged() {
        let text = r#"{"z":1,"a":[5.0,-3,18446744073709551615,1e+300,true,null,"x",{}],"m":{"":[[]]}}"#;
        let json: Json = serde_json::from_str(text).unwrap();
        let value = of_json(json.clone()).unwrap();
        assert_eq!(to_json(&value, Wanted::First), Ok(json));
        assert_eq!(printed(&value).unwrap(), text);
        assert_eq!(value.to_string(), text);
        assert_eq!(to_json(&value, Wanted::Other), to_json(&value, Wanted::First));
    }

    #[test]
    fn text_of_json_can_be_traversed_and_prints_unchanged() {
        let text = "[ {\"n\": 1} ]\n";
        let value = of_text(text.to_owned());
        assert_eq!(printed(&value).unwrap(), text);
        assert_eq!(value.get_item_by_index(0).unwrap().get_attr("n").unwrap(), Value::from(1));
        assert_eq!(to_json(&value, Wanted::First), Ok(json!(text)));
        assert_eq!(to_json(&value, Wanted::Data), Ok(json!([{"n": 1}])));
        for plain in ["{not", "5", "\"x\"", "", "[1,"] {
            assert_eq!(of_text(plain.to_owned()), Value::from(plain));
        }
    }

    #[test]
    fn structured_results_print_as_their_text() {
        let read = of_result(json!({"content": "alpha\n"}), "ignored".to_owned()).unwrap();
        assert_eq!(printed(&read).unwrap(), "alpha\n");
        assert_eq!(read.to_string(), "alpha\n");
        assert_eq!(read.get_attr("content").unwrap(), Value::from("alpha\n"));
        assert_eq!(to_json(&read, Wanted::First), Ok(json!({"content": "alpha\n"})));
        assert_eq!(to_json(&read, Wanted::Other), Ok(json!("alpha\n")));
        assert_eq!(to_json(&read, Wanted::Data), Ok(json!({"content": "alpha\n"})));
        let sum = of_result(json!({"a": 1, "b": 2}), "The sum is 3.".to_owned()).unwrap();
        assert_eq!(printed(&sum).unwrap(), "The sum is 3.");
        for text in ["", "{ \"b\": [2], \"a\": 1 }"] {
            let same = of_result(json!({"a": 1, "b": [2]}), text.to_owned()).unwrap();
            assert_eq!(printed(&same).unwrap(), r#"{"a":1,"b":[2]}"#);
        }
        assert_eq!(of_result(json!(5), "five".to_owned()).unwrap(), Value::from(5));
    }

    #[test]
    fn deeply_nested_values_are_refused() {
        let deep = (0..1000).fold(json!(1), |inner, _| Json::Array(vec![inner]));
        assert!(of_json(deep).is_none());
    }
}
