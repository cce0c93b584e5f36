//! Reading by way of `serde`: what only texts can hold, and where their errors are.

#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

use mcp_bindgen_runtime::__private::from_value;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

#[derive(Debug, PartialEq)]
struct Circle {
    radius: f64,
}
mcp_bindgen_runtime::__private::__object!(Circle { radius: required "radius", } tag "kind");

#[derive(Debug, PartialEq)]
struct Square {
    side: f64,
}
mcp_bindgen_runtime::__private::__object!(Square { side: required "side", } tag "kind");

#[derive(Debug, PartialEq)]
enum Shape {
    Circle(Circle),
    Square(Square),
}
mcp_bindgen_runtime::__private::__tagged_union!(Shape by "kind" { Circle = "circle", Square = "square", });

#[derive(Debug, PartialEq)]
struct Drawing {
    shapes: Vec<Shape>,
    counts: Option<Vec<i64>>,
    free: Option<Map<String, Value>>,
}
mcp_bindgen_runtime::__private::__object!(Drawing { shapes: required "shapes", counts: optional "counts", free: optional "free", });

#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    Small,
    One,
}
mcp_bindgen_runtime::__private::__literal_enum!(Size { Small = "\"small\"", One = "1", });

#[test]
fn duplicate_tag_is_refused() {
    for text in [
        r#"{"kind":"circle","radius":1,"kind":"square"}"#,
        r#"{"kind":"circle","kind":"circle","radius":1}"#,
        r#"{"kind":"circle","radius":1,"kind":5}"#,
    ] {
        let error = serde_json::from_str::<Shape>(text).unwrap_err();
        assert_eq!(error.to_string(), "duplicate property at `/kind`", "{text}");
    }
}

/// As they do of types with `serde`'s derives.
#[test]
fn errors_contain_line_and_column_once() {
    #[derive(Debug, Deserialize)]
    struct File {
        #[expect(dead_code)]
        drawing: Drawing,
    }
    let text = "{\n  \"shapes\": [],\n  \"counts\": [1, \"two\"]\n}";
    let error = serde_json::from_str::<Drawing>(text).unwrap_err();
    assert_eq!(
        (error.line(), error.column(), error.to_string().as_str()),
        (3, 21, "expected an integer, found a string at `/counts/1` at line 3 column 21")
    );
    let error = serde_json::from_str::<File>(&format!("{{\"drawing\":\n{text}}}")).unwrap_err();
    assert_eq!(
        (error.line(), error.column(), error.to_string().as_str()),
        (4, 21, "expected an integer, found a string at `/counts/1` at line 4 column 21")
    );
    assert!(error.is_data());
    let error = serde_json::from_value::<Drawing>(json!({"shapes": [], "counts": ["two"]})).unwrap_err();
    assert_eq!((error.line(), error.to_string().as_str()), (0, "expected an integer, found a string at `/counts/0`"));
}

/// JSON in a text, whose errors have their own line and column.
#[derive(Debug, Serialize)]
struct Inner(i64);

impl<'de> Deserialize<'de> for Inner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        serde_json::from_str(&text).map(Self).map_err(D::Error::custom)
    }
}
mcp_bindgen_runtime::__private::__wire_through_serde!(self::Inner);

#[derive(Debug)]
struct Outer(Inner);
mcp_bindgen_runtime::__private::__newtype!(Outer(Inner));

#[test]
fn position_in_the_message_of_a_type_is_shown_once() {
    let error = serde_json::from_str::<Outer>(r#""-""#).unwrap_err();
    assert_eq!(error.to_string(), serde_json::from_str::<i64>("-").unwrap_err().to_string());
}

#[test]
fn syntax_errors_are_unchanged() {
    for (text, line, column) in [
        ("{\n\"shapes\": [{\"kind\": \"circle\", \"radius\": 1,}]}", 2, 43),
        ("{\"shapes\": [],\n\"counts\": [1, tru]}", 2, 18),
        ("{\"shapes\": []} x", 1, 16),
    ] {
        let error = serde_json::from_str::<Drawing>(text).unwrap_err();
        assert!(error.is_syntax(), "{error}");
        assert_eq!((error.line(), error.column()), (line, column), "{error}");
    }
    for text in ["", "{\"shapes\": [", "{\"shapes\": [{\"kind\": \"cir"] {
        assert!(serde_json::from_str::<Drawing>(text).unwrap_err().is_eof(), "{text}");
    }
}

/// The private key of `serde_json` for numbers with `arbitrary_precision` is an ordinary key without that feature.
#[test]
fn private_number_key_of_serde_json_is_an_ordinary_key() {
    for digits in ["5", "secret"] {
        let value = json!({"$serde_json::private::Number": digits});
        let text = value.to_string();
        assert_eq!(from_value::<Map<String, Value>>(&value).unwrap(), *value.as_object().unwrap());
        let drawing: Drawing = serde_json::from_str(&format!(r#"{{"shapes":[],"free":{{"a":{text}}}}}"#)).unwrap();
        assert_eq!(drawing.free.unwrap()["a"], value);
        let error = serde_json::from_str::<Drawing>(&format!(r#"{{"shapes":[],"counts":[{text}]}}"#)).unwrap_err();
        assert!(error.to_string().starts_with("expected an integer, found an object at `/counts/0`"), "{error}");
    }
}

#[test]
fn allowed_numbers_are_compared_by_value() {
    assert_eq!(from_value::<Size>(&json!(1.0)).ok(), Some(Size::One));
    assert!(from_value::<Size>(&json!(1.5)).is_err());
}

#[test]
fn allowed_values_are_listed_as_json() {
    let error = from_value::<Size>(&json!("large")).unwrap_err();
    assert_eq!(error.to_string(), r#"expected one of `"small"`, `1`"#);
}

#[test]
fn misspelled_tag_error_suggests_the_name() {
    let said = |value: Value| from_value::<Shape>(&value).unwrap_err().to_string();
    assert_eq!(
        said(json!({"radius": 1, "knd": "circle"})),
        "missing property `kind`, found `knd`: did you mean `kind`?"
    );
    assert_eq!(said(json!({"radius": 1})), "missing property `kind`");
}

#[test]
fn mismatch_error_does_not_show_the_value() {
    for (value, found) in [
        (json!("hunter2"), "a string"),
        (json!(4_711), "an integer"),
        (json!(47.11), "a number"),
        (json!(true), "a boolean"),
        (json!(null), "null"),
        (json!(["hunter2"]), "an array"),
    ] {
        let expected = format!("expected an object, found {found}");
        for error in [
            serde_json::from_value::<Drawing>(value.clone()).unwrap_err(),
            serde_json::from_value::<Shape>(value.clone()).unwrap_err(),
            Drawing::deserialize(&value).unwrap_err(),
        ] {
            assert_eq!(error.to_string(), expected, "{value}");
        }
        let error = serde_json::from_str::<Drawing>(&value.to_string()).unwrap_err();
        assert!(error.to_string().starts_with(&expected) && error.line() == 1, "{error}");
        let error = serde_json::from_str::<Shape>(&value.to_string()).unwrap_err();
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}
