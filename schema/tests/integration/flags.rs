//! Words of a command line to arguments and back, rule by rule.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;

use mcp_bindgen_schema::flags::{FileRef, FlagFault, FlagFaultKind, Flags, OwnOption};
use serde_json::{Map, Value, json};

fn own() -> [OwnOption; 6] {
    [
        OwnOption::new("format").takes_value(),
        OwnOption::new("timeout").takes_value(),
        OwnOption::new("dry-run"),
        OwnOption::new("help").short('h'),
        OwnOption::letter('o').takes_value(),
        OwnOption::new("color").takes_value(),
    ]
}

fn flags(schema: &Value) -> Flags {
    Flags::new(schema, own())
}

/// Of properties alone.
fn of(properties: Value) -> Flags {
    flags(&json!({"type": "object", "properties": properties, "additionalProperties": false}))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Files by what their names say: `none` is none.
fn read(file: FileRef<'_>) -> Result<String, String> {
    match file {
        FileRef::Stdin => Ok("from stdin\n".to_owned()),
        FileRef::Path("none") => Err("file not found".to_owned()),
        FileRef::Path("json") => Ok("{\"a\": [1, null]}".to_owned()),
        FileRef::Path(path) => Ok(format!("text of {path}\n")),
        _ => Err("what is this".to_owned()),
    }
}

fn parse(flags: &Flags, given: &[&str]) -> Result<Map<String, Value>, Vec<FlagFault>> {
    flags.parse(&words(given), &mut read)
}

/// Checks the value that the words parse to, and that printing and parsing it gives the same value.
#[track_caller]
fn gives(flags: &Flags, given: &[&str], expected: Value) {
    let read = parse(flags, given).unwrap_or_else(|faults| panic!("{given:?}: {faults:?}"));
    assert_eq!(Value::Object(read.clone()), expected, "{given:?}");
    let printed = flags.print(&read);
    let again = flags.parse(&printed, &mut |_| Err("nothing is read".to_owned()));
    assert_eq!(again.as_ref(), Ok(&read), "{printed:?}");
}

#[track_caller]
fn refuses(flags: &Flags, given: &[&str], kind: FlagFaultKind, text: &str) {
    let faults = parse(flags, given).expect_err("a fault");
    let is_it = |fault: &FlagFault| fault.kind == kind && fault.to_string() == text;
    assert!(faults.len() == 1 && faults.iter().all(is_it), "{given:?}: {faults:#?}");
}

#[test]
fn flag_values_are_parsed_by_their_schema_type() {
    let flags = of(json!({
        "text": {"type": "string"}, "date": {"type": "string", "format": "date-time"},
        "count": {"type": "integer"}, "ratio": {"type": "number"},
        "state": {"enum": ["open", "closed", "7"]}, "level": {"enum": [1, 2, "auto", true]},
        "id": {"type": ["string", "integer"]}, "limit": {"type": ["integer", "null"]},
        "name": {"type": ["string", "null"]}, "kind": {"enum": ["a", "b", null]},
        "many": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "free": {}, "config": {"type": "object"},
    }));
    for text in ["007", "true", "null", "", "1e3", "[1]", " x ", "--y", "-z", "2026-1-1", "a=b", "a:=b"] {
        gives(&flags, &[&format!("--text={text}")], json!({"text": text}));
        gives(&flags, &[&format!("--date={text}")], json!({"date": text}));
    }
    gives(&flags, &["--count", "-5", "--ratio", "-1.50"], json!({"count": -5, "ratio": -1.5}));
    gives(&flags, &["--count", "18446744073709551615"], json!({"count": 18_446_744_073_709_551_615_u64}));
    gives(&flags, &["--ratio", "1e3"], json!({"ratio": 1000.0}));
    gives(&flags, &["--state", "7"], json!({"state": "7"}));
    gives(&flags, &["--level", "2", "--kind", "null"], json!({"level": 2, "kind": null}));
    gives(&flags, &["--level", "auto"], json!({"level": "auto"}));
    gives(&flags, &["--level", "true"], json!({"level": true}));
    gives(
        &flags,
        &["--id", "42", "--limit", "null", "--name", "null"],
        json!({"id": 42, "limit": null, "name": "null"}),
    );
    for text in ["042", "4.0", "x", "\"42\"", " 42"] {
        gives(&flags, &["--id", text], json!({"id": text}));
    }
    gives(&flags, &["--many", "[\"a\"]"], json!({"many": ["a"]}));
    gives(&flags, &["--many", "[a]"], json!({"many": "[a]"}));
    gives(&flags, &["--free", "null", "--config", "{}"], json!({"free": "null", "config": {}}));
    gives(&flags, &["--name:=null", "--many:=[]"], json!({"name": null, "many": []}));
    gives(&flags, &["--text:=\"a\"", "--count:=1.0"], json!({"text": "a", "count": 1.0}));

    let wrong = FlagFaultKind::Value;
    refuses(&flags, &["--count", "four"], wrong, "invalid value `four` for `--count`: expected an integer");
    refuses(&flags, &["--count", "1.5"], wrong, "invalid value `1.5` for `--count`: expected an integer");
    refuses(
        &flags,
        &["--count", "123456789012345678901"],
        wrong,
        "invalid value `123456789012345678901` for `--count`: expected an integer\n  = help: the number at line 1 column 1 has more digits than can be sent: use a string if the tool accepts one",
    );
    let infinite = parse(&flags, &["--ratio", "1e400"]).unwrap_err();
    assert!(infinite[0].to_string().contains("number out of range"), "{infinite:?}");
    refuses(
        &flags,
        &["--state", "opne"],
        wrong,
        "invalid value `opne` for `--state`: expected one of `open`, `closed`, `7`\n  = help: did you mean `open`?",
    );
    refuses(
        &flags,
        &["--text:=hello"],
        FlagFaultKind::Json,
        "`hello` of `--text` is not JSON: expected value at line 1 column 1\n  = help: use `--text=hello` for text",
    );
}

#[test]
fn boolean_flags_take_no_value() {
    let flags = of(json!({
        "draft": {"type": "boolean"}, "force": {"type": ["boolean", "null"]}, "on": {"const": true},
        "mixed": {"type": ["boolean", "string"]}, "all": {"type": "array", "items": {"type": "boolean"}},
        "commit": {"type": "boolean"}, "no_commit": {"type": "boolean"},
        "keep": {"type": "boolean"}, "no-keep": {"type": "string"},
    }));
    gives(&flags, &["--draft", "--no-force", "--on"], json!({"draft": true, "force": false, "on": true}));
    gives(&flags, &["--draft=false", "--force=null"], json!({"draft": false, "force": null}));
    gives(
        &flags,
        &["--mixed", "true", "--all", "true", "--all", "false"],
        json!({"mixed": true, "all": [true, false]}),
    );
    gives(&flags, &["--no_commit", "--commit=false"], json!({"no_commit": true, "commit": false}));
    gives(&flags, &["--no-keep", "x", "--keep"], json!({"no-keep": "x", "keep": true}));
    refuses(
        &flags,
        &["--draft", "true"],
        FlagFaultKind::Stray,
        "unexpected argument `true`\n  = help: `--draft` takes no value; its opposite is `--draft=false`",
    );
    refuses(
        &flags,
        &["--no-commit"],
        FlagFaultKind::Ambiguous,
        "`--no-commit` could mean `--no_commit` or `--commit`\n  = help: use the exact name, and `--NAME=false` for `false`",
    );
    refuses(&flags, &["--no-on"], FlagFaultKind::Value, "invalid value `false` for `--no-on`: expected `true`");
    let help = "use `--draft=true` or `--draft=false`";
    refuses(
        &flags,
        &["--no-draft=true"],
        FlagFaultKind::Value,
        &format!("`--no-draft` takes no value\n  = help: {help}"),
    );
}

#[test]
fn array_flags_may_repeat_and_others_may_not() {
    let flags = of(json!({
        "labels": {"type": "array", "items": {"type": "string"}}, "ids": {"type": ["array", "null"], "items": {"type": "integer"}},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}}, "one": {"type": "string"},
    }));
    gives(&flags, &["--labels", "a,b", "--labels=[c]", "--labels="], json!({"labels": ["a,b", "[c]", ""]}));
    gives(&flags, &["--labels:=[]", "--ids:=null"], json!({"labels": [], "ids": null}));
    gives(
        &flags,
        &["--pair", "1", "--ids", "-1", "--pair", "2", "--ids", "2"],
        json!({"pair": ["1", 2], "ids": [-1, 2]}),
    );
    gives(&flags, &["--rows", "{\"a\":1}"], json!({"rows": [{"a": 1}]}));
    let twice = FlagFaultKind::Twice;
    refuses(&flags, &["--one", "a", "--one", "b"], twice, "duplicate `one`, here by `--one`");
    let help = "  = help: `--labels:=[..]` is the whole array";
    let said = format!("duplicate `labels`, here by `--labels`\n{help}");
    refuses(&flags, &["--labels:=[]", "--labels", "b"], twice, &said);
    refuses(&flags, &["--labels", "b", "--labels:=[]"], twice, &said);
}

#[test]
fn single_json_array_is_the_whole_array_if_every_element_fits() {
    let flags = of(json!({
        "edits": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
        "ids": {"type": ["array", "null"], "items": {"type": "integer"}},
        "labels": {"type": "array", "items": {"type": "string"}}, "kinds": {"type": "array", "items": {"enum": ["x", "y"]}},
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2},
        "free": {"type": "array"}, "either": {"type": "array", "items": {"type": ["string", "array"]}},
        "in": {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}},
        "args": {"type": "array", "items": {"type": "object"}},
    }));
    let row = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    gives(&flags, &["--edits", r#"[{"a":1},{"a":2}]"#], json!({"edits": [{"a": 1}, {"a": 2}]}));
    gives(&flags, &["--edits=[{\"a\":1}]", "--ids", "[1, 2]"], json!({"edits": [{"a": 1}], "ids": [1, 2]}));
    gives(&flags, &["--in.ids", "[3]", "--arg", "args=[{}]"], json!({"in": {"ids": [3]}, "args": [{}]}));
    gives(&flags, &["--labels", r#"["a","b"]"#, "--kinds", "[\"x\"]"], json!({"labels": ["a", "b"], "kinds": ["x"]}));
    gives(&flags, &["--pair", "[\"1\",2]", "--free", "[[1],2]"], json!({"pair": ["1", 2], "free": [[1], 2]}));
    gives(&flags, &["--edits", "[]", "--ids", "[]", "--labels", "[]"], json!({"edits": [], "ids": [], "labels": []}));
    // An array whose elements do not fit is a text, if a text is allowed.
    gives(&flags, &["--labels", "[1]"], json!({"labels": ["[1]"]}));
    gives(&flags, &["--labels", "[a]"], json!({"labels": ["[a]"]}));
    // Of several each is an element.
    gives(&flags, &["--labels", "[\"a\"]", "--labels", "b"], json!({"labels": ["[\"a\"]", "b"]}));
    gives(&flags, &["--labels:=[\"[\\\"a\\\"]\"]"], json!({"labels": ["[\"a\"]"]}));
    // The schema of elements decides if elements are arrays.
    gives(&flags, &["--rows", "[1,2]"], json!({"rows": [[1, 2]]}));
    gives(&flags, &["--rows", "[1,2]", "--rows", "[]"], json!({"rows": [[1, 2], []]}));
    gives(&flags, &["--rows", "[[1,2],[3]]"], json!({"rows": [[1, 2], [3]]}));
    gives(&flags, &["--rows", "[]"], json!({"rows": [[]]}));
    gives(&flags, &["--either", "[\"a\"]"], json!({"either": [["a"]]}));
    gives(&flags, &["--free:=[[1]]"], json!({"free": [row("[1]")]}));
    let rule = "a single JSON array is the whole array if each element fits";
    let said = format!("invalid value `[\"a\"]` for `--ids`: expected an integer\n  = help: {rule}");
    refuses(&flags, &["--ids", "[\"a\"]"], FlagFaultKind::Value, &said);
    let said = format!("invalid value `[{{}}]` for `--edits`: expected a JSON object\n  = help: {rule}");
    refuses(&flags, &["--edits", "[{}]", "--edits", "{}"], FlagFaultKind::Value, &said);
    let said = "invalid value `[{a}]` for `--edits`: expected a JSON object\n  = help: key must be a string at line 1 column 3";
    refuses(&flags, &["--edits", "[{a}]"], FlagFaultKind::Value, said);
    let said = "invalid value `@x` for `--ids`: expected an integer\n  = help: `--ids:=@x` reads JSON from a file";
    refuses(&flags, &["--ids", "@x"], FlagFaultKind::Value, said);
    for (word, is_whole) in [
        ("--ids=[1]", true),
        ("--ids=1", false),
        ("--labels:=[]", true),
        ("--rows=[1]", false),
        ("--arg=args=[{}]", true),
        ("--arg=args={}", false),
    ] {
        assert_eq!(flags.is_whole(word), is_whole, "{word}");
    }
}

#[test]
fn dotted_flags_set_nested_properties_after_exact_names() {
    let flags = of(json!({
        "a": {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": {"type": "integer"}}},
              "perPage": {"type": "integer"}, "on": {"type": "boolean"}}},
        "a.b.c": {"type": "string"},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "servers": {"type": "object", "additionalProperties": {"type": "object", "properties": {"port": {"type": "integer"}}}},
        "any": {"type": "object"},
        "no-a": {"type": "object", "additionalProperties": {"type": "string"}},
        "shape": {"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
            {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]},
        ]},
    }));
    gives(&flags, &["--a.b.c", "text", "--a.per-page", "2"], json!({"a.b.c": "text", "a": {"perPage": 2}}));
    gives(&flags, &["--no-a.on"], json!({"a": {"on": false}}));
    gives(&flags, &["--no-a.x", "z", "--arg", "no-a.on=z"], json!({"no-a": {"x": "z", "on": "z"}}));
    gives(&flags, &["--a:={\"b\":{\"c\":1}}"], json!({"a": {"b": {"c": 1}}}));
    gives(&flags, &["--env.A.B", "007", "--env.PATH="], json!({"env": {"A.B": "007", "PATH": ""}}));
    gives(&flags, &["--servers.x.port", "80"], json!({"servers": {"x": {"port": 80}}}));
    gives(&flags, &["--any.x", "5", "--any.y", "z"], json!({"any": {"x": 5, "y": "z"}}));
    gives(&flags, &["--shape.kind", "square", "--shape.side", "2"], json!({"shape": {"kind": "square", "side": 2}}));
    refuses(&flags, &["--shape.kind", "square"], FlagFaultKind::Missing, "`--shape.side <NUMBER>` is required");
    refuses(&flags, &["--a:={}", "--a.on"], FlagFaultKind::Twice, "duplicate `a.on`, here by `--a.on`");
    refuses(&flags, &["--a.on", "--a:={}"], FlagFaultKind::Twice, "duplicate `a`, here by `--a`");
    let listed: Vec<&str> = flags.list().iter().map(|flag| flag.name.as_str()).collect();
    assert_eq!(listed.iter().filter(|name| **name == "--a.b.c").count(), 1, "{listed:?}");
    let near = "the tool has no argument `a.perpage`\n  = help: did you mean `--a.perPage`?";
    refuses(&flags, &["--a.perpage", "1"], FlagFaultKind::Unknown, near);
}

#[test]
fn kebab_case_flags_require_a_unique_property() {
    let flags = of(json!({
        "perPage": {"type": "integer"}, "targetId": {"type": "string"}, "target_id": {"type": "string"},
        "dry_run": {"type": "boolean"}, "timeOut": {"type": "string"}, "time-out": {"type": "string"},
    }));
    gives(&flags, &["--per-page", "3", "--target_id", "x"], json!({"perPage": 3, "target_id": "x"}));
    gives(&flags, &["--time-out", "x", "--dry_run"], json!({"time-out": "x", "dry_run": true}));
    let said = "`--target-id` could mean `--targetId` or `--target_id`\n  = help: use the exact name, and `--NAME=false` for `false`";
    refuses(&flags, &["--target-id", "x"], FlagFaultKind::Ambiguous, said);
    let near = "the tool has no argument `perPag`\n  = help: did you mean `--per-page`?";
    refuses(&flags, &["--perPag=1"], FlagFaultKind::Unknown, near);
    let faults = parse(&flags, &["--perPag", "1", "--nothing-like-it", "stray", "--targetId"]).unwrap_err();
    let kinds: Vec<FlagFaultKind> = faults.iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, [FlagFaultKind::Unknown, FlagFaultKind::Unknown, FlagFaultKind::NoValue], "{faults:?}");
}

#[test]
fn own_options_win_and_arg_sets_any_property() {
    let flags = of(json!({
        "format": {"enum": ["json", "csv"]}, "timeout": {"type": "integer"}, "args": {"type": "array", "items": {"type": "string"}},
        "color": {"type": "string"}, "help": {"type": "boolean"}, "a b": {"type": "string"}, "": {"type": "integer"},
        "x=y": {"type": "string"}, "z:": {"type": "string"}, "-o": {"type": "string"}, "\"q": {"type": "string"}, "o": {"type": "string"},
    }));
    let given =
        words(&["--o", "-h", "--format", "json", "-h", "--timeout=5", "-o", "out", "--dry-run", "--color", "red"]);
    let split = flags.split(&given);
    assert_eq!(split.own, ["--format", "json", "-h", "--timeout=5", "-o", "out", "--dry-run", "--color", "red"]);
    assert_eq!(split.rest, ["--o", "-h"], "a letter is a value where one is due");
    refuses(
        &flags,
        &["--color", "red"],
        FlagFaultKind::Own,
        "`--color red` is an option of mcp-bindgen, not a property\n  = help: `--arg color=VALUE` sets the tool's property `color`",
    );
    refuses(
        &flags,
        &["--format:=\"csv\""],
        FlagFaultKind::Own,
        "`--format:=\"csv\"` is an option of mcp-bindgen, not a property\n  = help: `--arg format=VALUE` sets the tool's property `format`",
    );
    gives(&flags, &["--arg", "format=csv", "--arg", "timeout=5"], json!({"format": "csv", "timeout": 5}));
    gives(
        &flags,
        &["--arg", "args=a", "--arg", "args=b", "--arg=help=true"],
        json!({"args": ["a", "b"], "help": true}),
    );
    gives(&flags, &["--arg", "color:=\"red\"", "--a b", "c"], json!({"color": "red", "a b": "c"}));
    gives(&flags, &["--arg", "\"\"=5", "--arg", "\"x=y\"=a=b"], json!({"": 5, "x=y": "a=b"}));
    gives(
        &flags,
        &["--arg", "\"z:\":=\"a\"", "--arg", "-o=x", "--arg", "\"\\\"q\"=1"],
        json!({"z:": "a", "-o": "x", "\"q": "1"}),
    );
    for flag in flags.list() {
        let value = json!([null, 1]);
        let word = flag.with_json(&value.to_string());
        let read = parse(&flags, &[&word]).unwrap();
        assert_eq!((read.len(), &read[&flag.path[0]]), (1, &value), "{word}");
        assert_eq!(flags.given(&[word]), [flag.path.as_slice()]);
    }
    assert_eq!(flags.list().len(), 12);
    refuses(
        &flags,
        &["--arg", "format"],
        FlagFaultKind::NoValue,
        "missing value in `--arg format`\n  = help: use `--arg NAME=VALUE` or `--arg NAME:=JSON`",
    );
    let near = "the tool has no argument `formt`\n  = help: did you mean `--arg format`?";
    refuses(&flags, &["--arg", "formt=x"], FlagFaultKind::Unknown, near);
}

#[test]
fn missing_properties_are_named_in_a_form_that_is_read() {
    let inner = json!({"type": "object", "properties": {"c": {"type": "integer"}}, "required": ["c"]});
    let flags = of(json!({"a=b": inner}));
    let missing = r#"`--arg "a=b":={"c":JSON}` is required"#;
    refuses(&flags, &["--arg", r#""a=b":={}"#], FlagFaultKind::Missing, missing);
    gives(&flags, &["--arg", r#""a=b":={"c":1}"#], json!({"a=b": {"c": 1}}));
}

#[test]
fn string_flags_read_files_and_stdin() {
    let flags = of(json!({
        "body": {"type": "string"}, "parts": {"type": "array", "items": {"type": "string"}}, "either": {"type": ["string", "integer"]},
        "count": {"type": "integer"}, "tag": {"enum": ["@latest", "@next"]}, "data": {"type": "object"},
    }));
    gives(
        &flags,
        &["--body", "@notes.md", "--parts", "@a", "--parts", "@@a"],
        json!({"body": "text of notes.md\n", "parts": ["text of a\n", "@a"]}),
    );
    gives(&flags, &["--body=@-", "--either", "@@x@y"], json!({"body": "from stdin\n", "either": "@x@y"}));
    gives(&flags, &["--tag", "@latest", "--data:=@json"], json!({"tag": "@latest", "data": {"a": [1, null]}}));
    refuses(
        &flags,
        &["--body", "@none"],
        FlagFaultKind::Unreadable,
        "`--body`: failed to read `none`: file not found\n  = help: use `@@none` for the text `@none`",
    );
    refuses(
        &flags,
        &["--body", "@-", "--parts", "@-"],
        FlagFaultKind::Unreadable,
        "`--parts` cannot read standard input, which was already read",
    );
    let is_text = "invalid value `@x` for `--count`: expected an integer";
    refuses(&flags, &["--count", "@x"], FlagFaultKind::Value, is_text);
    let help = "invalid value `@x` for `--data`: expected a JSON object\n  = help: `--data:=@x` reads JSON from a file";
    refuses(&flags, &["--data", "@x"], FlagFaultKind::Value, help);
}

#[test]
fn flags_override_single_values_of_args() {
    let flags = flags(&json!({
        "type": "object",
        "properties": {
            "owner": {"type": "string"}, "repo": {"type": "string"}, "limit": {"type": "integer", "default": 30},
            "labels": {"type": "array", "items": {"type": "string"}},
            "filter": {"type": "object", "properties": {"state": {"type": "string"}, "by": {"type": "string"}}, "required": ["by"]},
        },
        "required": ["owner", "repo"],
    }));
    let base = r#"{"owner":"a","repo":"b","labels":["x"],"filter":{"by":"me","state":"open"},"more":1}"#;
    gives(
        &flags,
        &["--filter.state", "closed", "--labels", "y", "--args", base, "--owner", "c"],
        json!({"owner": "c", "repo": "b", "labels": ["y"], "filter": {"by": "me", "state": "closed"}, "more": 1}),
    );
    gives(&flags, &["--owner=a", "--repo", "b"], json!({"owner": "a", "repo": "b"}));
    gives(&flags, &["--owner=a", "--repo=b", "--arg", "more=x"], json!({"owner": "a", "repo": "b", "more": "x"}));
    let faults = parse(&flags, &["--filter.state", "x"]).unwrap_err();
    let missing: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    assert_eq!(
        missing,
        ["`--owner <STRING>` is required", "`--repo <STRING>` is required", "`--filter.by <STRING>` is required"]
    );
    let unknown = "the tool has no argument `undeclared`\n  = help: use `--arg NAME=VALUE` for an undeclared argument";
    let faults = parse(&flags, &["--args", base, "--undeclared", "x"]).unwrap_err();
    assert_eq!(faults[0].to_string(), unknown);
    for (given, said) in [
        (&["--args", "[1]"][..], "expected a JSON object for the arguments"),
        (&["--args", "{\"token\": sk-12345}"], "`--args` is not JSON: expected value at line 1 column 11"),
        (
            &["--args", "{\"token\":\n 123456789012345678901}"],
            "`--args` is not JSON: the number at line 2 column 2 has",
        ),
        (&["--args", "hunter2"], "`--args` is not JSON: expected value at line 1 column 1"),
        (&["--args"], "`--args` requires a JSON object"),
        (&["--args", "{}", "--args", "{}"], "duplicate `--args`"),
        (&["--args", "-"], "`@-` of `--args` is not JSON"),
        (&["--args", "@none"], "`--args`: failed to read `none`: file not found"),
    ] {
        let faults = parse(&flags, given).unwrap_err();
        let shown = faults[0].to_string();
        assert!(shown.starts_with(said) && !["12345", "hunter2"].iter().any(|it| shown.contains(it)), "{shown}");
    }
}

#[test]
fn help_lists_every_flag_in_its_usable_form() {
    let flags = flags(&json!({
        "type": "object",
        "properties": {
            "owner": {"type": "string", "description": "Whose."}, "perPage": {"type": "integer", "default": 30},
            "labels": {"type": "array", "items": {"enum": ["bug", "ui"]}}, "draft": {"type": "boolean"},
            "format": {"type": "string"}, "env": {"type": "object", "additionalProperties": {"type": "integer"}},
            "page": {"type": "object", "properties": {"size": {"type": ["integer", "string"]}}, "required": ["size"]},
            "anything": {}, "help": {"type": "boolean"},
        },
        "required": ["owner", "page"],
    }));
    let listed: Vec<String> = flags
        .list()
        .iter()
        .map(|flag| {
            let marks = [(flag.is_required, " required"), (flag.repeats, " repeats")];
            let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
            [vec![flag.usage()], flag.also.clone()].concat().join(", ") + &marks
        })
        .collect();
    assert_eq!(
        listed,
        [
            "--owner <STRING> required",
            "--perPage <INTEGER>, --per-page",
            "--labels <STRING> repeats",
            "--draft, --no-draft",
            "--arg format=<STRING>",
            "--env <JSON>",
            "--env.KEY <INTEGER>",
            "--page <JSON> required",
            "--page.size <STRING|INTEGER> required",
            "--anything <VALUE>",
            "--arg help=true",
        ]
    );
    let first = &flags.list()[0];
    assert_eq!((first.description.as_deref(), &flags.list()[1].default), (Some("Whose."), &Some(json!(30))));
    assert_eq!(flags.list()[2].values, ["bug", "ui"]);
}

#[test]
fn union_arguments_have_the_flags_of_every_branch() {
    let flags = flags(&json!({"type": "object", "oneOf": [
        {"properties": {"by": {"const": "id"}, "id": {"type": "integer"}}, "required": ["by", "id"]},
        {"properties": {"by": {"const": "name"}, "name": {"type": "string"}}, "required": ["by", "name"]},
    ]}));
    gives(&flags, &["--by", "id", "--id", "5"], json!({"by": "id", "id": 5}));
    gives(&flags, &["--by", "name", "--name", "5"], json!({"by": "name", "name": "5"}));
    refuses(&flags, &["--by", "id"], FlagFaultKind::Missing, "`--id <INTEGER>` is required");
    refuses(&flags, &[], FlagFaultKind::Missing, "`--by <STRING>` is required");
}

#[test]
fn flags_of_many_properties_are_parsed_in_bounded_time() {
    let properties: Map<String, Value> =
        (0..20_000).map(|index| (format!("theProperty_{index}"), json!({"type": "boolean"}))).collect();
    let flags = of(properties.into());
    assert_eq!(flags.list().len(), 1000, "no more are listed");
    gives(
        &flags,
        &["--the-property-19999", "--no-theProperty_7"],
        json!({"theProperty_19999": true, "theProperty_7": false}),
    );
    let near = "the tool has no argument `thePropert_19999`\n  = help: did you mean `--theProperty_19999`?";
    refuses(&flags, &["--thePropert_19999"], FlagFaultKind::Unknown, near);
}

#[test]
fn flag_errors_for_hostile_tools_are_escaped() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/hostile");
    let mut tools = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let snapshot = mcp_bindgen_model::Snapshot::load(entry.unwrap().path()).unwrap();
        for tool in &snapshot.tools {
            let flags = flags(tool.get("inputSchema").unwrap_or(&Value::Null));
            let faults = parse(&flags, &["--\u{1b}[31m", "\u{202e}", "--no-such", "x"]).unwrap_err();
            assert!(faults.iter().all(|fault| !fault.message.contains(['\u{1b}', '\u{202e}', '\n'])), "{faults:?}");
            tools += 1;
        }
    }
    assert!(tools > 10, "{tools}");
}

/// Names with dots can be split in very many ways.
#[test]
fn names_with_many_dots_are_looked_up_in_bounded_time() {
    let node = json!({"$ref": "#/$defs/node"});
    let of_letters = |count: usize| vec!["a"; count].join(".");
    let mut properties: Map<String, Value> = (1..6).map(|count| (of_letters(count), node.clone())).collect();
    properties.insert(format!("{}.z", of_letters(60)), json!({"type": "string"}));
    let node = json!({"type": "object", "properties": properties, "additionalProperties": false});
    let mut root = node.clone();
    root["$defs"] = json!({"node": node});
    let flags = flags(&root);
    assert!(flags.list().len() > 5);
    let name = of_letters(40);
    let faults = parse(&flags, &[&format!("--{name}.y"), "x"]).unwrap_err();
    assert_eq!(faults[0].kind, FlagFaultKind::Unknown);
}

/// The exact name of one property hides most names of others, which are looked up in vain.
#[test]
fn flags_of_names_with_many_dots_are_listed_in_bounded_time() {
    let names = (1..=75).map(|count| (vec!["a"; count].join("."), json!({"$ref": "#/$defs/node"})));
    let node = json!({"type": "object", "properties": names.collect::<Map<_, _>>(), "additionalProperties": false});
    let mut root = node.clone();
    root["$defs"] = json!({"node": node});
    let started = std::time::Instant::now();
    let listed = flags(&root).list().len();
    println!("{listed} flags in {:?}", started.elapsed());
    assert!(listed > 0 && started.elapsed().as_secs() < 5, "{listed} in {:?}", started.elapsed());
}

#[test]
fn name_that_could_be_split_in_too_many_ways_is_refused() {
    let map = json!({"anyOf": [
        {"type": "string"}, {"type": "object", "additionalProperties": {"$ref": "#/$defs/m"}},
    ]});
    let flags = flags(&json!({"type": "object", "properties": {"m": {"$ref": "#/$defs/m"}}, "$defs": {"m": map}}));
    gives(&flags, &["--m.k.k", "x"], json!({"m": {"k": {"k": "x"}}}));
    let name = format!("m{}", ".k".repeat(300));
    for given in [vec![format!("--{name}=x")], vec!["--arg".to_owned(), format!("{name}=x")]] {
        let faults = flags.parse(&given, &mut read).unwrap_err();
        assert_eq!(faults[0].kind, FlagFaultKind::Unknown, "{faults:?}");
        assert!(faults[0].message.ends_with("has too many dots to find its property"), "{faults:?}");
    }
}
