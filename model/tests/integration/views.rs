//! `[servers.x.view.TOOL]`: what is read, what is refused, and what is embedded in bindings.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_bindgen_model::{Config, Hint, ServerConfig, View};
use serde_json::{Map, Value, json};

fn parse(view: &str) -> Result<ServerConfig, String> {
    let toml = format!("[servers.hub]\ncommand = \"x\"\n{view}\n");
    let config = Config::parse_toml(&toml, "mcp.toml".as_ref()).map_err(|error| error.to_string())?;
    Ok(config.server("hub").unwrap().clone())
}

#[test]
fn view_is_parsed_completely_and_round_trips() {
    let server = parse(
        r#"
        [servers.hub.view.create_issue]
        name = "open_issue"
        title = "Open"
        description = "Opens an issue."
        hints = { destructive = true, read_only = false }
        fixed = { owner = "rust-lang", count = 3, ratio = 0.5, on = true, labels = ["a", 1], of = { x = -1 } }
        default = { state = "open" }
        hide = ["milestone"]
        "#,
    )
    .unwrap();
    let view = server.views.get("create_issue").unwrap();
    assert_eq!(view.name.as_deref(), Some("open_issue"));
    assert_eq!(view.hints, [Hint::ReadOnly, Hint::Destructive]);
    let fixed =
        json!({ "owner": "rust-lang", "count": 3, "ratio": 0.5, "on": true, "labels": ["a", 1], "of": { "x": -1 } });
    assert_eq!(Value::Object(view.fixed.clone()), fixed);
    let again = ServerConfig::from_json("hub", &server.to_json()).unwrap();
    assert_eq!(again.views, server.views);
    assert_eq!(View::from_json(&view.to_json()).unwrap(), *view);
    assert_eq!(server.renamed_tools().collect::<Vec<_>>(), [("create_issue".to_owned(), "open_issue")]);
    let shown = format!("{server:?}");
    assert!(shown.contains("open_issue") && !shown.contains("rust-lang"), "values are arguments of calls: {shown}");
    assert!(shown.contains(r#"default: ["state"], hide: ["milestone"]"#), "{shown}");
}

#[test]
fn invalid_view_is_refused_at_its_line() {
    for (view, place, why) in [
        ("view.t.name = \"Open-issue\"", "3:15", "is not a name in snake case"),
        ("view.t.hints.read_only = true", "3:26", "cannot be `true`: retries and caches rely on it"),
        ("view.t.hints.idempotent = true", "3:27", "cannot be `true`"),
        ("view.t.hints.danger = true", "3:14", "unknown key `danger`"),
        ("view.t.fixed.a = 1\nview.t.default.a = 2", "4:16", "has `a` in both `fixed` and `default`"),
        ("view.t.fixed.a = 1\nview.t.hide = [\"b\", \"a\"]", "4:21", "has `a` in both `fixed` and `hide`"),
        ("view.t.fixed.a = \"${TOKEN}\"", "3:18", "has a placeholder, which is not replaced in arguments"),
        ("view.t.fixed.api_key = \"8d0f2a4c6e80\"", "3:24", "looks like a secret, which generated code would contain"),
        ("view.t.fixed.a = { token = \"8d0f2a4c6e80\" }", "3:28", "looks like a secret"),
        ("view.t.fixed.a = 2026-01-01", "3:18", "is a date, which JSON does not have"),
        ("view.t.fixed.a = nan", "3:18", "is not a number that JSON has"),
        ("view.t.fixd.a = 1", "3:8", "unknown key `fixd`"),
        ("view = 1", "3:8", "`view` of server `hub` must be a table"),
        ("view.t = 1", "3:10", "the view of tool `t` must be a table"),
        ("rust.rename.t = \"u\"\nview.t.name = \"v\"", "4:8", "tool `t` is already renamed to `u` in `rust`"),
    ] {
        let said = parse(view).unwrap_err();
        assert!(said.contains(why) && said.contains(&format!("mcp.toml:{place}")), "{view}: {said}");
        assert!(!said.contains("8d0f2a4c6e80"), "{said}");
    }
}

#[test]
fn null_is_a_value_of_arguments_but_not_of_hints() {
    let said = |view: &str| {
        let json =
            format!("{{ \"mcpServers\": {{ \"hub\": {{ \"command\": \"x\",\n\"view\": {{ \"t\": {view} }} }} }} }}");
        let config = Config::parse_mcp_json(&json, ".mcp.json".as_ref()).unwrap();
        config.server("hub").map(|server| server.views.get("t").unwrap().clone()).map_err(|error| error.to_string())
    };
    let refused = said(r#"{ "hints": { "read_only": null } }"#).unwrap_err();
    assert!(refused.contains("must be `true` or `false`, not null\n --> .mcp.json:2:42"), "{refused}");
    assert_eq!(said(r#"{ "fixed": { "page": null } }"#).unwrap().fixed["page"], Value::Null);
    let twice = said(r#"{ "fixed": { "page": 1 }, "default": { "page": null } }"#).unwrap_err();
    assert!(twice.contains("in both `fixed` and `default`\n --> .mcp.json:2:55"), "{twice}");
}

#[test]
fn completing_arguments_is_idempotent() {
    let server = parse("view.t = { fixed = { a = 1 }, default = { b = 2, c = 3 }, hide = [\"c\", \"d\"] }").unwrap();
    let complete = |arguments: Value| {
        let mut arguments: Map<String, Value> = arguments.as_object().unwrap().clone();
        server
            .views
            .get("t")
            .unwrap()
            .complete(&mut arguments)
            .map(|()| Value::Object(arguments))
            .map_err(|refusal| refusal.argument)
    };
    let all = json!({ "x": 0, "a": 1, "b": 2, "c": 3 });
    assert_eq!(complete(json!({ "x": 0 })), Ok(all.clone()));
    assert_eq!(complete(all.clone()), Ok(all), "a second time changes nothing");
    assert_eq!(complete(json!({ "b": 9 })), Ok(json!({ "b": 9, "a": 1, "c": 3 })));
    for (refused, argument) in [(json!({ "a": 2 }), "a"), (json!({ "c": 2 }), "c"), (json!({ "d": 3 }), "d")] {
        assert_eq!(complete(refused), Err(argument.to_owned()));
    }
}

#[test]
fn views_are_preserved_when_a_server_moves() {
    let reviewed = parse("view.t.fixed.a = 1").unwrap();
    let moved = ServerConfig::http("hub", "https://hub.example.com/mcp").with_demands_of(&reviewed);
    assert_eq!(moved.views, reviewed.views);
}
