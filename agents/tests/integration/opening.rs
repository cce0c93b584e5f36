//! A model opens sections and reads them; what is closed is never started.

#![cfg(unix)]

use std::path::Path;

use crate::support::{self, *};
use mcp_bindgen_agents::{
    McpSection, Prompt, PromptParams, PromptState, PromptWarning, RenderedPrompt, Section, Toolset, Visibility,
};
use mcp_bindgen_model::ServerConfig;
use serde_json::{Map, Value, json};

/// A server of one tool, in a shell, that notes each start of it in a file.
const SCRIPT: &str = r#"
echo started >> "$1"
while IFS= read -r line; do
    id=${line#*'"id":'}
    id=${id%%[,\}]*}
    answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
    case "$line" in
        *'"method":"initialize"'*)
            answer '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}' ;;
        *'"method":"tools/list"'*)
            answer '"result":{"tools":[{"name":"ping","description":"Answers. Always.","inputSchema":{"type":"object"}}]}' ;;
        *'"method":"tools/call"'*) answer '"result":{"content":[{"type":"text","text":"pong"}]}' ;;
        *'"method":"notifications/'*) ;;
        *'"id":'*) answer '"error":{"code":-32601,"message":"no such method"}' ;;
    esac
done
"#;

fn counted(folder: &Path, name: &str) -> ServerConfig {
    let file = folder.join(name).to_string_lossy().into_owned();
    ServerConfig::stdio(name, "/bin/sh").args(["-c".to_owned(), SCRIPT.to_owned(), name.to_owned(), file])
}

/// How often it was started.
fn starts(folder: &Path, name: &str) -> usize {
    std::fs::read_to_string(folder.join(name)).map(|text| text.lines().count()).unwrap_or_default()
}

fn closed(key: &str, title: &str) -> Section {
    Section::new(key, title)
        .template(format!("All of {key}."))
        .summary(format!("Short of {key}."))
        .visibility(Visibility::Summary)
}

fn keys(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

/// Runs a function that is offered, as a model would have it run.
async fn run(toolset: &Toolset, name: &str, arguments: Value) -> Result<String, String> {
    let reply = toolset.dispatch(name, arguments).await;
    if reply.success { Ok(reply.message) } else { Err(reply.message) }
}

#[tokio::test]
async fn server_of_a_closed_section_is_never_started() {
    let folder = tempfile::tempdir().expect("there is a folder");
    let server = |name: &str| counted(folder.path(), name);
    let dynamic = server("dynamic");
    let prompt = Prompt::new()
        .section(Section::new("first", "First").server(server("first")))
        .section(
            closed("closed", "Closed")
                .server(server("closed"))
                .child(Section::new("child", "Child").server(server("child")))
                .child(closed("deeper", "Deeper").servers_from(move |()| [dynamic.clone()])),
        )
        .section(Section::new("off", "Off").enabled(|(), _| false).server(server("off")))
        .section(McpSection::new([server("inventory")]).section().summary("Servers.").visibility(Visibility::Summary))
        .build()
        .expect("the sections are right");
    let names = ["first", "closed", "child", "dynamic", "off", "inventory"];
    let counts = || names.map(|name| starts(folder.path(), name));

    let first = rendered(&prompt, &PromptState::new());
    assert_eq!(counts(), [0; 6], "rendering starts nothing");
    let known = offered(&first).await;
    assert_eq!(known, ["open_sections", "first/ping"]);
    assert_eq!(counts(), [1, 0, 0, 0, 0, 0], "what is open, and nothing else");
    first.read_section("closed");
    first.read_section("mcp");
    first.open_sections(&keys(&["closed"]), "");
    assert_eq!(counts(), [1, 0, 0, 0, 0, 0], "neither reading nor opening starts anything");

    let second = rendered(&prompt, &first.state());
    let (all, _) = tools_of(&second).await;
    assert_eq!(support::names(&all), ["open_sections", "first/ping", "closed/ping", "child/ping"]);
    assert_eq!(counts(), [1, 1, 1, 0, 0, 0]);
    assert_eq!(all.dispatch("closed_ping", "{}").await.message, "pong");

    second.open_sections(&keys(&["closed.deeper"]), "");
    let third = rendered(&prompt, &second.state());
    assert_eq!(offered(&third).await.len(), 5);
    assert_eq!(offered(&rendered(&prompt, &second.state())).await.len(), 5);
    println!("starts of {names:?}: {:?}", counts());
    assert_eq!(counts(), [1, 1, 1, 1, 0, 0], "rendered anew, it is the same server");

    prompt.close().await;
    for server in third.servers() {
        assert_eq!(call(&server.caller(), server.name(), "ping").await.expect("it answers"), "pong");
    }
    assert_eq!(counts(), [2, 2, 2, 2, 0, 0], "closed ones were gone, and are started anew by a call");
    prompt.close().await;
}

#[tokio::test]
async fn unreachable_server_does_not_affect_others() {
    let folder = tempfile::tempdir().expect("there is a folder");
    let prompt = Prompt::new()
        .section(
            Section::new("a", "A")
                .server(ServerConfig::stdio("gone", "/nonexistent/server"))
                .server(counted(folder.path(), "there")),
        )
        .build()
        .expect("the sections are right");
    let (all, failed) = tools_of(&rendered(&prompt, &PromptState::new())).await;
    assert_eq!((support::names(&all), failed), (vec!["there/ping".to_owned()], 1));
    prompt.close().await;
}

#[tokio::test]
async fn dead_server_is_not_restarted_on_every_turn() {
    let folder = tempfile::tempdir().expect("there is a folder");
    let file = folder.path().join("dead").to_string_lossy().into_owned();
    let script = r#"printf 'x\n' >> "$1"; exit 1"#.to_owned();
    let dead = ServerConfig::stdio("dead", "/bin/sh").args(["-c".to_owned(), script, "dead".to_owned(), file]);
    let prompt = Prompt::new().section(Section::new("a", "A").server(dead)).build().expect("the section is right");
    let first = rendered(&prompt, &PromptState::new());
    assert_eq!(tools_of(&first).await.1, 1);
    let tries = starts(folder.path(), "dead");
    assert!(tries > 0);
    assert_eq!(tools_of(&rendered(&prompt, &PromptState::new())).await.1, 1, "it is told of all the same");
    assert_eq!(starts(folder.path(), "dead"), tries);
    assert_eq!(first.refresh().await.len(), 1);
    assert!(starts(folder.path(), "dead") > tries, "where the program asks, it is tried");
}

#[tokio::test]
async fn equal_configurations_share_one_process() {
    let folder = tempfile::tempdir().expect("there is a folder");
    let config = || counted(folder.path(), "twice");
    let mcp = McpSection::new([config()]);
    let dynamic = config();
    let prompt = Prompt::new()
        .section(Section::new("a", "A").server(config()))
        .section(&mcp)
        .section(Section::new("b", "B").servers_from(move |()| [dynamic.clone()]))
        .build()
        .expect("the sections are right");
    assert!(mcp.connect().await.is_empty());
    let first = rendered(&prompt, &PromptState::new());
    assert_eq!((offered(&first).await, first.warnings().len()), (vec!["twice/ping".to_owned()], 0));
    assert!(first.text().contains("`twice_ping`"), "the inventory knows what was listed: {}", first.text());
    assert_eq!(call(&first.servers()[0].caller(), "twice", "ping").await.expect("it answers"), "pong");
    assert_eq!(starts(folder.path(), "twice"), 1);
    mcp.close().await;
    assert!(!mcp.is_connected());
    prompt.close().await;
}

fn nested() -> Prompt {
    Prompt::new()
        .section(
            closed("a", "A")
                .tool(tool("of_a"))
                .child(closed("b", "B").tool(tool("of_b")))
                .child(Section::new("c", "C").template("All of c.").tool(tool("of_c")))
                .child(Section::new("off", "Off").enabled(|(), _| false).tool(tool("of_off"))),
        )
        .section(closed("text", "Text").child(closed("more", "More")))
        .section(Section::new("d", "D").tool(tool("of_d")))
        .build()
        .expect("the sections are right")
}

fn functions(rendered: &RenderedPrompt) -> Vec<&str> {
    rendered.tools().iter().map(|tool| tool.tool().name()).collect()
}

#[test]
fn opening_tools_are_offered_only_if_needed() {
    let without =
        Prompt::new().section(Section::new("a", "A").tool(tool("t"))).build().expect("the sections are right");
    assert_eq!(functions(&rendered(&without, &PromptState::new())), ["t"]);
    let text = Prompt::new().section(closed("a", "A")).build().expect("the sections are right");
    assert_eq!(functions(&rendered(&text, &PromptState::new())), ["read_section"], "there is nothing but text");
    let tools = Prompt::new().section(closed("a", "A").child(Section::new("b", "B").tool(tool("t")))).build();
    let tools = tools.expect("the sections are right");
    assert_eq!(functions(&rendered(&tools, &PromptState::new())), ["open_sections"]);
    let off = closed("a", "A").child(Section::new("b", "B").enabled(|(), _| false).tool(tool("t")));
    let off = Prompt::new().section(off).build().expect("the sections are right");
    assert_eq!(functions(&rendered(&off, &PromptState::new())), ["read_section"], "what is disabled has no tools");
    let open = rendered(&tools, &PromptState::new().with_open(["a"]));
    assert_eq!(functions(&open), ["open_sections", "t"], "it stays, for whatever comes after it is cached");
}

#[test]
fn opened_sections_preserve_the_order_of_earlier_tools() {
    let prompt = nested();
    let mut state = PromptState::new();
    let mut known: Vec<String> = Vec::new();
    for opened in [&[][..], &["a"], &["text"], &["a.b", "text.more"]] {
        if !opened.is_empty() {
            let opened = rendered(&prompt, &state).open_sections(&keys(opened), "it is needed");
            assert!(opened.reply.success, "{:?}", opened.reply);
            state = opened.state;
        }
        let now: Vec<String> = functions(&rendered(&prompt, &state)).into_iter().map(str::to_owned).collect();
        assert_eq!(now[..known.len()], known[..], "after {opened:?}");
        known = now;
    }
    assert_eq!(known, ["open_sections", "read_section", "of_d", "of_a", "of_c", "of_b"]);
}

#[test]
fn summary_hides_its_content_and_explains_how_to_open_it() {
    let first = rendered(&nested(), &PromptState::new());
    let text = first.text();
    assert!(
        text.contains(
            "## 1. A (a)\n\nShort of a.\n\nTo open this section and get its tools, call `open_sections` with"
        )
    );
    assert!(text.contains(r#"`{"section_keys":["a"],"reason":"..."}`. It contains `a.b`, `a.c`."#), "{text}");
    assert!(text.contains(r#"call `read_section` with `{"section_key":"text"}`. It contains `text.more`."#), "{text}");
    for hidden in ["All of", "of_a", "a.off", "(a.b)"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}

#[test]
fn open_sections_responds_to_every_request() {
    let first = rendered(&nested(), &PromptState::new());
    let refused = |of: &[&str], wanted: &str| {
        let opened = first.open_sections(&keys(of), "why not");
        assert!(!opened.reply.success && opened.reply.message.contains(wanted), "{of:?}: {:?}", opened.reply);
        assert!(opened.opened.is_empty() && opened.state == PromptState::new(), "nothing is opened: {opened:?}");
        assert_eq!(first.state(), PromptState::new());
    };
    refused(&[], "`section_keys` is empty; available sections: `a`, `text`");
    refused(&["txt"], "unknown section `txt`; did you mean `text`?");
    refused(&["a", "zzzzzz"], "unknown section `zzzzzz`; available sections: `a`, `text`");
    refused(&["d"], "`d` is already open: the text is in the instructions, and the tools are available");
    refused(&["a.b"], "`a.b` is inside `a`, which is closed; open that section first");
    refused(&["a.off"], "unknown section `a.off`");
    refused(&["\u{202e}a\u{1b}[31m"], "unknown section `\\u{202e}a\\u{1b}[31m`");
    refused(&[&"x".repeat(10_000_000)], "unknown section `xxxx");

    let opened = first.open_sections(&keys(&["a", "d", "a"]), "it is needed");
    assert_eq!((opened.opened.as_slice(), opened.reason.as_str()), (&keys(&["a"])[..], "it is needed"));
    assert!(opened.reply.message.contains("`a` is open now") && opened.reply.message.contains("`d` is already open"));
    assert_eq!(first.state(), opened.state);
    let again = first.open_sections(&keys(&["a"]), "");
    assert!(again.reply.message.starts_with("`a` is already open") && again.opened.is_empty(), "{:?}", again.reply);
    assert!(again.reply.message.contains("All of a."), "a model that has forgotten it reads it again");
    let second = first.open_sections(&keys(&["text"]), "");
    assert_eq!(second.state.open.paths().collect::<Vec<_>>(), ["a", "text"], "two calls of a turn add up");

    let both = rendered(&nested(), &PromptState::new()).open_sections(&keys(&["a.b", "a"]), "");
    assert_eq!(both.opened, ["a", "a.b"], "a parent that is opened by the same call is open");
}

#[test]
fn open_sections_opens_one_level() {
    let opened = rendered(&nested(), &PromptState::new()).open_sections(&keys(&["a"]), "");
    let told = &opened.reply.message;
    assert!(told.contains("All of a.") && told.contains("All of c."), "{told}");
    assert!(told.contains("Short of b.") && !told.contains("All of b."), "{told}");
    let second = rendered(&nested(), &opened.state);
    let first = rendered(&nested(), &PromptState::new());
    assert_eq!(second.text(), first.text(), "what a provider has cached stays as it is");
    assert_eq!(functions(&second), ["open_sections", "read_section", "of_d", "of_a", "of_c"]);
}

#[test]
fn read_section_shows_text_without_opening() {
    let first = rendered(&nested(), &PromptState::new());
    let read = first.read_section("a");
    assert!(read.success, "{read:?}");
    assert!(
        read.message.starts_with("## 1. A (a)\n\nAll of a.\n\n### 1.1. B (a.b)\n\nShort of b."),
        "{}",
        read.message
    );
    assert!(
        read.message.contains("### 1.2. C (a.c)\n\nAll of c.") && !read.message.contains("(d)"),
        "{}",
        read.message
    );
    assert_eq!(first.state(), PromptState::new());
    let refused = |key: &str, wanted: &str| {
        let reply = first.read_section(key);
        assert!(!reply.success && reply.message.contains(wanted), "{key}: {reply:?}");
    };
    refused("d", "`d` is open: its text is in the instructions");
    refused("a.b", "is inside `a`, which is closed");
    refused("txt", "did you mean `text`?");
    refused("", "unknown section ``");
}

#[tokio::test]
async fn tools_of_a_rendered_prompt_open_and_read_sections() {
    let first = rendered(&nested(), &PromptState::new());
    let (all, _) = tools_of(&first).await;
    let wrong = run(&all, "open_sections", json!({ "section_keys": "a", "reason": "" })).await.expect_err("no list");
    assert!(wrong.contains("`/section_keys`"), "{wrong}");
    run(&all, "open_sections", json!({ "section_keys": [1], "reason": "" })).await.expect_err("no texts");
    run(&all, "read_section", Value::Object(Map::new())).await.expect_err("no key");
    run(&all, "open_sections", json!({ "section_keys": ["nope"], "reason": "" })).await.expect_err("no such section");
    assert_eq!(first.state(), PromptState::new());
    let read = run(&all, "read_section", json!({ "section_key": "text" })).await.expect("it is there");
    assert!(read.contains("All of text."), "{read}");
    let arguments = json!({ "section_keys": ["a"], "reason": "it is needed" });
    let opened = run(&all, "open_sections", arguments).await.expect("it opens");
    assert!(opened.contains("All of a."), "{opened}");
    assert!(functions(&rendered(&nested(), &first.state())).contains(&"of_a"));
}

#[test]
fn prompt_state_round_trips_through_json() {
    let opened = rendered(&nested(), &PromptState::new().with_fact("n", 1)).open_sections(&keys(&["a"]), "");
    let kept = serde_json::to_string(&opened.state).expect("it prints");
    assert_eq!(kept, r#"{"open":[["a"]],"shown":{},"facts":{"n":1}}"#);
    let read: PromptState = serde_json::from_str(&kept).expect("it reads");
    assert_eq!(read, opened.state);
    assert_eq!(rendered(&nested(), &read).text(), rendered(&nested(), &opened.state).text());
    let old: PromptState = serde_json::from_str(r#"{"open":[["gone"],["a"]]}"#).expect("it reads");
    let prompt = rendered(&nested(), &old);
    assert_eq!(prompt.warnings(), [PromptWarning::UnknownSection { section: "gone".to_owned() }]);
    assert!(functions(&prompt).contains(&"of_a"));
}

#[test]
fn model_cannot_open_a_section_closed_by_the_program() {
    let state = PromptState::new().with_visibility("a", Visibility::Summary);
    let first = rendered(&nested(), &state);
    assert!(!first.text().contains("open_sections"), "{}", first.text());
    assert!(!functions(&first).contains(&"open_sections"), "{:?}", functions(&first));
    let opened = first.open_sections(&keys(&["a"]), "");
    assert!(!opened.reply.success && opened.opened.is_empty(), "{opened:?}");
    assert!(!first.read_section("a").success);
    let full = rendered(&nested(), &PromptState::new().with_visibility("a", Visibility::Full));
    assert_eq!(
        functions(&full)[..3],
        ["open_sections", "read_section", "of_a"],
        "what the program opens was there from the beginning"
    );
}

#[tokio::test]
async fn one_prompt_serves_many_conversations() {
    let prompt = nested();
    let open = |key: &str| rendered(&prompt, &PromptState::new()).open_sections(&keys(&[key]), "").state;
    let (one, other) = (open("a"), open("text"));
    let rendering = [one, other].map(|state| {
        let prompt = prompt.clone();
        tokio::spawn(async move {
            let rendered = prompt.render(&PromptParams::new(), &state).expect("it renders");
            functions(&rendered).into_iter().map(str::to_owned).collect::<Vec<_>>()
        })
    });
    let [one, other] = rendering;
    let (one, other) = (one.await.expect("it ends"), other.await.expect("it ends"));
    assert!(one.contains(&"of_a".to_owned()) && !other.contains(&"of_a".to_owned()), "{one:?} {other:?}");
}
