//! One tool in place of similar tools of several servers.

use mcp_bindgen_model::canonical_json;
use serde_json::{Map, Value, json};

use crate::texts::without_wording;

const ARGUMENT: &str = "server";

/// One tool in place of similar tools of several servers.
///
/// ```
/// use mcp_bindgen_schema::JoinedTools;
/// use serde_json::json;
///
/// let search = |title: &str| json!({ "name": "search", "inputSchema": {
///     "type": "object", "title": title, "properties": { "query": { "type": "string" } }, "required": ["query"] } });
/// let joined = JoinedTools::of("search", &[("wiki_eu", &search("EU")), ("wiki_us", &search("US"))]).unwrap();
/// assert_eq!(joined.argument, "server");
/// assert_eq!(joined.tool["inputSchema"]["properties"]["server"], json!({ "type": "string", "enum": ["wiki_eu", "wiki_us"] }));
/// assert_eq!(joined.tool["inputSchema"]["required"], json!(["server", "query"]));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JoinedTools {
    /// The argument that says which server is meant.
    pub argument: String,
    /// The tool, in the form of a server's list: as that of the first server, with the argument.
    pub tool: Value,
}

impl JoinedTools {
    /// Joins the tools of several servers.
    ///
    /// # Errors
    /// Fails with the reason if the arguments of two of them are not alike.
    #[inline]
    pub fn of(name: &str, tools: &[(&str, &Value)]) -> Result<Self, String> {
        let Some((first_server, first)) = tools.first() else {
            return Err("none of its servers has the tool".to_owned());
        };
        let schema = |tool: &Value, key: &str| without_wording(tool.get(key).unwrap_or(&Value::Null));
        for (server, tool) in tools {
            if canonical_json(&schema(tool, "inputSchema")) != canonical_json(&schema(first, "inputSchema")) {
                return Err(format!("its arguments differ between `{first_server}` and `{server}`"));
            }
        }
        let mut joined = Map::from_iter([("name".to_owned(), Value::from(name))]);
        for key in ["title", "description"] {
            joined.extend(first.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        let input = first.get("inputSchema").and_then(Value::as_object).cloned();
        let mut input = input.unwrap_or_else(|| Map::from_iter([("type".to_owned(), "object".into())]));
        let properties = input.shift_remove("properties");
        let mut argument = ARGUMENT.to_owned();
        while properties.as_ref().is_some_and(|properties| properties.get(&argument).is_some()) {
            argument.push('_');
        }
        let servers: Vec<&str> = tools.iter().map(|(server, _)| *server).collect();
        let mut all = Map::from_iter([(argument.clone(), json!({ "type": "string", "enum": servers }))]);
        if let Some(Value::Object(properties)) = properties {
            all.extend(properties);
        }
        input.insert("properties".to_owned(), all.into());
        let required = input.shift_remove("required");
        let mut needed = vec![Value::from(argument.as_str())];
        needed.extend(required.iter().filter_map(Value::as_array).flatten().cloned());
        input.insert("required".to_owned(), needed.into());
        for count in ["minProperties", "maxProperties"] {
            if let Some(known) = input.get(count).and_then(Value::as_u64) {
                input.insert(count.to_owned(), known.saturating_add(1).into());
            }
        }
        joined.insert("inputSchema".to_owned(), input.into());
        let have_all = |key: &str| tools.iter().all(|(_, tool)| schema(tool, key) == schema(first, key));
        for key in ["outputSchema", "annotations"] {
            joined.extend(first.get(key).filter(|_| have_all(key)).map(|value| (key.to_owned(), value.clone())));
        }
        Ok(Self { argument, tool: joined.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(schema: &Value) -> Value {
        json!({ "name": "t", "inputSchema": schema })
    }

    #[test]
    fn tools_are_joined_only_if_their_arguments_are_equal() {
        let one = tool(&json!({ "type": "object", "properties": { "title": { "type": "string", "title": "A" } } }));
        let other = tool(&json!({ "properties": { "title": { "title": "B", "type": "string" } }, "type": "object" }));
        assert!(JoinedTools::of("t", &[("a", &one), ("b", &other)]).is_ok());
        let differs = tool(&json!({ "type": "object", "properties": { "title": { "type": "number" } } }));
        let said = JoinedTools::of("t", &[("a", &one), ("b", &other), ("c", &differs)]).unwrap_err();
        assert_eq!(said, "its arguments differ between `a` and `c`");
    }

    #[test]
    fn server_argument_is_renamed_on_a_name_conflict() {
        let tool =
            tool(&json!({ "type": "object", "properties": { "server": { "type": "string" } }, "maxProperties": 1 }));
        let joined = JoinedTools::of("t", &[("a", &tool), ("b", &tool)]).unwrap();
        assert_eq!(joined.argument, "server_");
        let schema = &joined.tool["inputSchema"];
        assert_eq!(schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["server_", "server"]);
        assert_eq!(schema["maxProperties"], 2);
    }

    #[test]
    fn only_hints_shared_by_all_servers_are_included() {
        let with = |hint: bool| json!({ "name": "t", "inputSchema": {}, "annotations": { "readOnlyHint": hint } });
        let joined = JoinedTools::of("t", &[("a", &with(true)), ("b", &with(true))]).unwrap();
        assert_eq!(joined.tool["annotations"], json!({ "readOnlyHint": true }));
        let joined = JoinedTools::of("t", &[("a", &with(true)), ("b", &with(false))]).unwrap();
        assert_eq!(joined.tool.get("annotations"), None);
    }
}
