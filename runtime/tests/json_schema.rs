//! Types as `schemars` sees them.

use mcp_bindgen_runtime::__private::{Form, Input, Mismatch, Print, Wire};
use mcp_bindgen_runtime::{CallError, ServerSpec, Tool, ToolResult, ToolSpec};
use schemars::{JsonSchema, SchemaGenerator, schema_for};
use serde_json::{Value, json};

const INPUT: &str = r##"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Greet",
    "type": "object",
    "properties": {"who": {"$ref": "#/$defs/who"}, "times": {"type": "integer", "default": 1, "x-own": [null]}},
    "required": ["who"],
    "$defs": {"who": {"type": "string", "minLength": 1}}
}"##;
const OUTPUT: &str = r#"{"type": "object", "additionalProperties": {"type": "number"}}"#;

static SERVER: ServerSpec = ServerSpec::new("greeter");

struct GreetParams;
struct GreetOutput;

mcp_bindgen_runtime::__private::__json_schema!(GreetParams, input_schema of GreetParams);
mcp_bindgen_runtime::__private::__json_schema!(GreetOutput, output_schema of GreetParams);

impl Wire for GreetParams {
    fn read(_: Input<'_>) -> Result<Self, Mismatch> {
        Ok(Self)
    }
}

impl Print for GreetParams {
    fn form(&self) -> Form<'_> {
        Form::value(json!({}))
    }
}

impl Tool for GreetParams {
    const NAME: &'static str = "greet";
    const SERVER: &'static ServerSpec = &SERVER;
    const SPEC: &'static ToolSpec = &ToolSpec::new("greet", INPUT).output_schema(OUTPUT);
    type Output = ToolResult;

    fn output(result: ToolResult) -> Result<ToolResult, CallError> {
        Ok(result)
    }

    fn result(output: ToolResult) -> Result<ToolResult, CallError> {
        Ok(output)
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

#[test]
fn generated_schema_equals_that_of_the_server() {
    assert_eq!(schema_for!(GreetParams), parsed(INPUT));
    assert_eq!(GreetOutput::json_schema(&mut SchemaGenerator::default()), parsed(OUTPUT));
    let printed = serde_json::to_string(GreetParams::json_schema(&mut SchemaGenerator::default()).as_value());
    assert_eq!(printed.ok(), Some(parsed(INPUT).to_string()), "keys keep their order");
}

#[test]
fn schema_id_distinguishes_equal_names_in_different_modules() {
    assert_eq!(GreetParams::schema_name(), "GreetParams");
    assert_eq!(GreetParams::schema_id(), "json_schema::GreetParams");
}
