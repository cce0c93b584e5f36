//! Rules of `[servers.x.rust]` that cannot hold are refused at their line, whatever they say.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_bindgen_codegen::{Bindings, Options};
use mcp_bindgen_model::{Config, ServerConfig, Snapshot, Types, UnknownKeys};

fn tracker() -> Snapshot {
    Snapshot::parse(include_str!("../../../fixtures/lists/tracker.json")).unwrap()
}

fn server(lines: &str) -> ServerConfig {
    let text = format!("[servers.tracker]\nnpm = \"x\"\n{lines}\n");
    Config::parse_toml(&text, "mcp.toml".as_ref()).unwrap().server("tracker").unwrap().clone()
}

#[track_caller]
fn refused(lines: &str) -> String {
    let faults = Bindings::faults(&tracker(), &Options::for_server(&server(lines)));
    faults.iter().map(|fault| fault.error.to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn invalid_renames_are_reported_at_their_line() {
    for (rule, expected) in [
        (
            "creat_issue = \"x\"",
            "`creat_issue` not found: unknown tool `creat_issue`\n --> mcp.toml:3:17\n  = help: did you mean `create_issue`?",
        ),
        (
            "\"create_issue/lables\" = \"x\"",
            "`create_issue/lables` not found: no `lables` in `create_issue`\n --> mcp.toml:3:17\n  = help: did you mean `labels`?",
        ),
        (
            "\"create_issue/watchers/login\" = \"x\"",
            "`create_issue/watchers/login` not found: no `login` in `create_issue/watchers`\n --> mcp.toml:3:17\n  = help: there is `*`",
        ),
        (
            "\"create_issue/title/x\" = \"x\"",
            "`create_issue/title/x` not found: no `x` in `create_issue/title`\n --> mcp.toml:3:17\n  = help: it has no named parts",
        ),
        (
            "\"move_card/$output/x\" = \"x\"",
            "`move_card/$output/x` not found: tool `move_card` declares no `outputSchema`\n --> mcp.toml:3:17\n  = help: its result has no types of its own",
        ),
        (
            "\"create_issue/~2\" = \"x\"",
            "invalid place `create_issue/~2`: expected `0` for `~`, `1` for `/`, `*` or `$` after `~`\n --> mcp.toml:3:17\n  = help: expected `TOOL`, `TOOL/PROPERTY/*/PROPERTY` or `TOOL/$output/PROPERTY`",
        ),
        (
            "\"create_issue/watchers/*\" = \"x\"",
            "no field at `create_issue/watchers/*`\n --> mcp.toml:3:17\n  = help: use a tool, or a property: `TOOL/PROPERTY`, `TOOL/$output/PROPERTY`",
        ),
        (
            "create_issue = \"search\"",
            "`search` is already the name of tool `search`\n --> mcp.toml:3:17\n  = help: choose another name",
        ),
        (
            "create_issue = \"one\", search = \"one\"",
            "`one` is already the name of tool `search`\n --> mcp.toml:3:17\n  = help: choose another name",
        ),
        (
            "create_issue = \"connect\"",
            "`connect` is a method that every client has\n --> mcp.toml:3:17\n  = help: choose another name",
        ),
        (
            "create_issue = \"open issue\"",
            "invalid identifier `open issue`\n --> mcp.toml:3:17\n  = help: write `open_issue`",
        ),
        (
            "create_issue = \"self\"",
            "invalid identifier `self`\n --> mcp.toml:3:17\n  = help: use a name in snake case: letters, digits and `_`",
        ),
        ("create_issue = \"fn x() {}\"", "invalid identifier `fn x() {}`\n --> mcp.toml:3:17\n  = help: write `fn_x`"),
        (
            "create_issue = \"openIssue\"",
            "`openIssue` is not in snake case\n --> mcp.toml:3:17\n  = help: write `open_issue`",
        ),
        (
            "\"create_issue/labels\" = \"title\"",
            "`title` is already the field of property `title`\n --> mcp.toml:3:17\n  = help: choose another name",
        ),
        (
            "\"create_issue/labels\" = \"\"",
            "invalid identifier ``\n --> mcp.toml:3:17\n  = help: use a name in snake case: letters, digits and `_`",
        ),
        (
            "\"create_issue/assignee/login\" = \"a\", \"create_issue/watchers/*/login\" = \"b\"",
            "`create_issue/watchers/*/login` is the same field as another place, which renames it to `a`\n --> mcp.toml:3:54\n  = help: both places have one type: use one name",
        ),
        (
            "\"list_events/$output/result/*/event\" = \"x\"",
            "`list_events/$output/result/*/event` not found: no `event` in `list_events/$output/result/*`\n --> mcp.toml:3:17\n  = help: there is `*`, `by`, `steps`",
        ),
    ] {
        assert_eq!(refused(&format!("rust.rename = {{ {rule} }}")), format!("in `rename`: {expected}"), "{rule}");
    }
}

#[test]
fn invalid_derives_are_reported_at_their_line() {
    for (derive, expected) in [
        (
            "Eq + Hash",
            "invalid path `Eq + Hash`\n --> mcp.toml:3:16\n  = help: write a name or a path: `Eq`, `crate::Traced`, `::strum::EnumIs`",
        ),
        (
            "Eq)]pub",
            "invalid path `Eq)]pub`\n --> mcp.toml:3:16\n  = help: write a name or a path: `Eq`, `crate::Traced`, `::strum::EnumIs`",
        ),
        ("serde::Serialize", "every generated type already has `Serialize`\n --> mcp.toml:3:16\n  = help: remove it"),
        ("Debug", "every generated type already has `Debug`\n --> mcp.toml:3:16\n  = help: remove it"),
    ] {
        assert_eq!(refused(&format!("rust.derive = [{derive:?}]")), format!("in `derive`: {expected}"), "{derive}");
    }
    let only = |tool: &str, derive: &str| {
        let server = server(&format!("tools = [{tool:?}]\nrust.derive = [{derive:?}]"));
        let faults = Bindings::faults(&tracker(), &Options::for_server(&server));
        faults.first().map(|fault| fault.error.to_string())
    };
    assert_eq!(
        only("search", "Copy").as_deref(),
        Some(
            "in `derive`: no type of this server can have `Copy`\n --> mcp.toml:4:16\n  = help: remove it: types with strings, lists, maps or untyped values cannot have it"
        )
    );
    assert_eq!(only("move_card", "Copy"), None);
    assert_eq!(only("search", "crate::Anything"), None);
}

#[test]
fn rule_for_an_unbound_tool_states_the_reason() {
    assert_eq!(
        refused("exclude = [\"search\"]\nrust.rename = { search = \"find\" }"),
        "in `rename`: `search` not found: tool `search` is not bound\n --> mcp.toml:4:17\n  = help: it is excluded by `tools` or `exclude`"
    );
    let slashed = Snapshot::parse(r#"{"tools": [{"name": "a/b", "inputSchema": {"type": "object"}}]}"#).unwrap();
    let options = |place: &str| Options::new("x").rename(place, "c");
    let faults = Bindings::faults(&slashed, &options("a/b"));
    assert!(faults[0].error.to_string().ends_with("help: the tool `a/b` is written `a~1b` here"), "{faults:?}");
    assert!(Bindings::faults(&slashed, &options("a~1b")).is_empty());
}

#[test]
fn rust_rules_are_refused_with_typify() {
    for lines in [
        "rust.derive = [\"Eq\"]",
        "rust.rename = { \"create_issue/labels\" = \"tags\" }",
        "rust.shared = { Person = \"create_issue/assignee\" }",
        "rust.setters = true",
        "rust.named = true",
        "rust.checked = true",
        "unknown = \"keep\"",
    ] {
        let said = refused(&format!("types = \"typify\"\n{lines}"));
        assert!(said.contains("has no effect with `types = \"typify\"`"), "{lines}: {said}");
    }
    assert_eq!(refused("types = \"typify\"\nrust.rename = { create_issue = \"open_issue\" }"), "");
}

#[test]
fn options_in_code_equal_the_configuration() {
    let config = server("unknown = \"keep\"\nrust.derive = [\"Ord\"]\nrust.rename = { create_issue = \"open_issue\" }");
    let configured = Bindings::generate(
        &tracker(),
        &Options::new("tracker").unknown(UnknownKeys::Keep).derive(["Ord"]).rename("create_issue", "open_issue"),
    )
    .0;
    let mut options = Options::for_server(&config);
    assert!(Bindings::faults(&tracker(), &options).is_empty());
    let carried = config.to_json().to_string();
    let said = Bindings::generate(&tracker(), &options).0.to_string();
    let config_call = format!(" . config ({carried:?})");
    assert!(said.contains(&config_call) && !carried.contains("rust") && !carried.contains("keep"), "{carried}");
    let bound = " where for < 'call > :: mcp_bindgen :: Client : :: mcp_bindgen :: __private :: OverStdio < 'call >";
    assert_eq!(said.replace(&config_call, "").replace(bound, ""), configured.to_string());
    // Later options win.
    options = options.rename("create_issue", "file_issue").types(Types::Native);
    let (tools, _) = Bindings::describe(&tracker(), &options);
    assert_eq!(
        tools.iter().map(|tool| tool.method.as_str()).collect::<Vec<_>>(),
        ["file_issue", "list_events", "move_card", "search"]
    );
}

#[test]
fn rename_affects_no_other_name() {
    let list = r#"{"tools": [
        {"name": "read-file", "inputSchema": {"type": "object", "properties": {"a-b": {}, "a.b": {}, "c": {}}}},
        {"name": "read.file", "inputSchema": {"type": "object"}},
        {"name": "other", "inputSchema": {"type": "object"}}
    ]}"#;
    let snapshot = Snapshot::parse(list).unwrap();
    let methods = |options: &Options| -> Vec<String> {
        assert!(Bindings::faults(&snapshot, options).is_empty());
        Bindings::describe(&snapshot, options).0.into_iter().map(|tool| tool.method).collect()
    };
    let plain = Options::new("x");
    assert_eq!(methods(&plain), ["read_file_dash", "read_file_dot", "other"]);
    let renamed = plain.clone().rename("read-file", "load");
    assert_eq!(methods(&renamed), ["load", "read_file_dot", "other"]);
    // A refused rename still gives code that compiles.
    let refused = plain.clone().rename("other", "read_file_dot");
    assert!(!Bindings::faults(&snapshot, &refused).is_empty());
    let names: Vec<String> = Bindings::describe(&snapshot, &refused).0.into_iter().map(|tool| tool.method).collect();
    assert_eq!(names, ["read_file_dash", "read_file_dot", "other"]);
    // Two names may be exchanged, of fields too.
    let fields = plain.clone().rename("read-file/c", "a_b_dash").rename("read-file/a-b", "c");
    assert!(Bindings::faults(&snapshot, &fields).is_empty());
    let code = Bindings::generate(&snapshot, &fields).0.to_string();
    assert!(code.contains(r#"c : present "a-b" , a_b_dot : present "a.b" , a_b_dash : present "c""#), "{code}");
    let exchanged = plain.clone().rename("other", "read_file_dash").rename("read-file", "other");
    assert_eq!(methods(&exchanged), ["other", "read_file_dot", "read_file_dash"]);
}

#[test]
fn content_of_shared_types_is_not_checked() {
    let person = r#"{"type": "object", "properties": {"id": {"type": "string", "minLength": 1}}, "required": ["id"]}"#;
    let list = format!(
        r#"{{"tools": [{{"name": "put", "inputSchema": {{"type": "object", "properties": {{
            "who": {person}, "key": {{"type": "string", "minLength": 2}}, "tag": {{"type": "string", "pattern": "(?=a)"}}
        }}}}, "outputSchema": {person}}}]}}"#
    );
    let snapshot = Snapshot::parse(&list).unwrap();
    let options = Options::new("s").checked(true).shared("Person", "put/who");
    assert!(Bindings::faults(&snapshot, &options).is_empty());
    let (code, said) = Bindings::generate(&snapshot, &options);
    let code = code.to_string();
    assert!(code.contains("pub who : Option < SPerson >") && code.contains("pub id : String"), "{code}");
    assert!(
        code.contains("pub key : Option < SPutParamsKey >") && code.contains("pub tag : Option < String >"),
        "{code}"
    );
    let codes: Vec<String> = said.iter().map(|said| format!("{} {}", said.code.id, said.pointer)).collect();
    assert_eq!(codes, ["MCP0018 /inputSchema/properties/tag/pattern"]);
}

#[test]
fn names_of_checked_types_do_not_depend_on_order() {
    let names = |properties: &str| -> Vec<String> {
        let list = format!(
            r#"{{"tools": [{{"name": "t", "inputSchema": {{"type": "object", "properties": {{{properties}}},
                "$defs": {{"Id": {{"type": "string", "minLength": 1}}}}}}}}]}}"#
        );
        let options = Options::new("x").checked(true);
        let (tools, _) = Bindings::describe(&Snapshot::parse(&list).unwrap(), &options);
        let mut names = tools[0].params_inner_types.clone();
        names.sort();
        names
    };
    let (a, b) = (
        r##""a": {"$ref": "#/$defs/Id"}, "c": {"type": "integer", "minimum": 3}"##,
        r##""b": {"$ref": "#/$defs/Id"}"##,
    );
    let expected = ["XTParamsC", "XTParamsId"];
    assert_eq!(names(&format!("{a}, {b}")), expected);
    assert_eq!(names(&format!("{b}, {a}")), expected);
}

#[test]
fn policy_without_effect_is_reported_at_its_glob_or_argument() {
    let text = "[servers.tracker]\nnpm = \"x\"\n[[policy]]\nthen = \"deny\"\ntools = [\n  \"tracker/create_issue\",\n  \
                \"tracker/creat_*\",\n]\nwhen = { ttle = { present = true } }\n";
    let config = Config::parse_toml(text, "mcp.toml".as_ref()).unwrap();
    let idle = Options::for_server(&config.servers["tracker"]).idle_patterns(&tracker());
    let places: Vec<_> = idle.iter().map(|idle| (idle.pattern.as_str(), idle.place.position)).collect();
    assert_eq!(places, [("creat_*", Some((7, 3))), ("ttle", Some((9, 10)))]);
}
