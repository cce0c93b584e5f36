//! Which version of JSON Schema a schema is written in.

use jsonschema::Draft;
use serde_json::{Map, Value};

/// Returns the version in `$schema`, or the newest if it is missing or unknown.
pub(super) fn of(schema: &Value) -> Draft {
    schema.as_object().and_then(named).unwrap_or(Draft::Draft202012)
}

/// Returns the version that a schema names.
pub(super) fn named(schema: &Map<String, Value>) -> Option<Draft> {
    let uri = schema.get("$schema")?.as_str()?;
    let versions = [
        ("draft-03", Draft::Draft4),
        ("draft-04", Draft::Draft4),
        ("draft-06", Draft::Draft6),
        ("draft-07", Draft::Draft7),
        ("2019-09", Draft::Draft201909),
        ("2020-12", Draft::Draft202012),
    ];
    versions.into_iter().find(|(version, _)| uri.contains(version)).map(|(_, draft)| draft)
}

/// Returns the usual `$schema` of a version.
pub(super) fn uri(draft: Draft) -> &'static str {
    match draft {
        Draft::Draft4 => "http://json-schema.org/draft-04/schema#",
        Draft::Draft6 => "http://json-schema.org/draft-06/schema#",
        Draft::Draft7 => "http://json-schema.org/draft-07/schema#",
        Draft::Draft201909 => "https://json-schema.org/draft/2019-09/schema",
        _ => "https://json-schema.org/draft/2020-12/schema",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_draft_is_selected_by_its_uri() {
        for (uri, draft) in [
            ("http://json-schema.org/draft-07/schema", Draft::Draft7),
            ("https://json-schema.org/draft-07/schema#", Draft::Draft7),
            ("http://json-schema.org/draft-04/schema#", Draft::Draft4),
            ("https://json-schema.org/draft/2019-09/schema", Draft::Draft201909),
            ("https://example.com/own", Draft::Draft202012),
        ] {
            assert_eq!(of(&json!({"$schema": uri})), draft, "{uri}");
        }
        assert_eq!(of(&json!({"$schema": 7})), Draft::Draft202012);
        assert_eq!(of(&json!(true)), Draft::Draft202012);
    }
}
