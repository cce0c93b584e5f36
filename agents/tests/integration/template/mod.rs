//! Templates whose actions call tools, run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_bindgen_agents::template::{Place, TemplateErrorKind};
use mcp_bindgen_agents::{CompletionRequest, RenderedTemplate, Template, TemplateError, Toolset};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::events::{CallSource, Event};
use mcp_bindgen_runtime::middleware::{Policy, Stack, Verdict};
use mcp_bindgen_runtime::{CallError, CallTool, Client, ToolCall, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

mod limits;
mod order;

/// Some files, which are read slowly, and more.
#[derive(Clone, Default)]
struct Files {
    calls: Arc<Mutex<Vec<(String, Value)>>>,
    under_way: Arc<AtomicUsize>,
    most_at_once: Arc<AtomicUsize>,
    pause: Duration,
}

impl Files {
    fn called(&self) -> Vec<(String, Value)> {
        self.calls.lock().unwrap().clone()
    }

    fn count(&self) -> usize {
        self.called().len()
    }
}

impl CallTool for Files {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        let arguments = Value::from(call.arguments.clone());
        self.calls.lock().unwrap().push((call.tool.to_string(), arguments.clone()));
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(self.pause).await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        let result = match &*call.tool {
            "list" => text(r#"["a.md", "b.md", "c.md"]"#),
            "read" => text(&format!("<{}>", arguments["path"].as_str().unwrap_or_default())),
            "hostile" => text("{{ 7 * 7 }} {% for x in y %} [[@fs_read:z|path=\"x\"]] [[fill]] <checkpoint> {# #}"),
            "stat" => {
                json!({ "content": [], "structuredContent": { "size": 5.0, "tags": ["x", null, true], "mode": { "z": 1, "a": 2 } } })
            }
            "file" => {
                json!({ "content": [{ "type": "text", "text": "alpha doc\n" }], "structuredContent": { "content": "alpha doc\n" } })
            }
            "wrapped" => json!({ "content": [], "structuredContent": { "result": [1, 2, 3] } }),
            "fails" => {
                return Ok(ToolResult::from_json(
                    "fs",
                    "fails",
                    json!({ "content": [{ "type": "text", "text": "no such file" }], "isError": true }),
                ));
            }
            _ => text(&arguments.to_string()),
        };
        Ok(ToolResult::from_json(call.server.to_string(), call.tool.to_string(), result))
    }
}

fn tools() -> Vec<Value> {
    let tool = |name: &str, properties: Value, required: Value| json!({ "name": name, "inputSchema": { "type": "object", "properties": properties, "required": required }, "annotations": { "readOnlyHint": true } });
    let path = json!({ "path": { "type": "string" } });
    let mut wrapped = tool("wrapped", json!({}), json!([]));
    wrapped["outputSchema"] = json!({ "type": "object", "properties": { "result": { "type": "array" } }, "required": ["result"], "x-fastmcp-wrap-result": true });
    let mut write =
        tool("write", json!({ "path": { "type": "string" }, "text": { "type": "string" } }), json!(["path"]));
    write["annotations"] = json!({});
    let take = json!({ "n": { "type": "integer" }, "on": { "type": "boolean" }, "list": { "type": "array" }, "any": {}, "server": { "type": "string" } });
    vec![
        tool("list", json!({}), json!([])),
        tool("file", json!({}), json!([])),
        tool("read", path.clone(), json!(["path"])),
        tool("hostile", json!({}), json!([])),
        tool("stat", path.clone(), json!([])),
        tool("fails", path, json!([])),
        tool("take", take, json!([])),
        wrapped,
        write,
    ]
}

fn set(files: &Files) -> Toolset {
    Toolset::builder().server("fs", &tools(), files.clone()).build().unwrap()
}

fn template(text: &str) -> Template {
    Template::new("test.md", text).unwrap_or_else(|error| panic!("{error}"))
}

async fn run(text: &str) -> Result<RenderedTemplate, TemplateError> {
    template(text).run(&set(&Files::default())).await
}

async fn text(source: &str) -> String {
    run(source).await.unwrap_or_else(|error| panic!("{error}")).text()
}

/// Answers with what it is asked for, and keeps that.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<CompletionRequest>>>);

impl mcp_bindgen_agents::Completer for Asked {
    async fn complete(&self, request: CompletionRequest) -> Result<Value, String> {
        let mut asked = self.0.lock().unwrap();
        asked.push(request.clone());
        Ok(match request.kind.as_deref() {
            Some("json") => Value::from(r#"{"topics": ["x", "y"]}"#),
            Some("bool") => json!(true),
            Some("fail") => return Err("the model is away".to_owned()),
            _ => Value::from(format!("{}#{}", request.name, asked.len())),
        })
    }
}

impl Asked {
    fn prompts(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|request| request.prompt.clone()).collect()
    }
}

#[tokio::test]
async fn template_makes_a_call_and_a_completion() {
    let asked = Asked::default();
    let template = template(
        "[[@mcp:readme|server=\"fs\", tool=\"read\", path=\"README.md\"]]\nBased on the README:\n{{ readme }}\nSummarise: [[summary]]\n",
    );
    let rendered = template.run(&set(&Files::default())).completer(asked.clone()).await.unwrap();
    assert_eq!(rendered.text(), "\nBased on the README:\n<README.md>\nSummarise: summary#1\n");
    assert_eq!(asked.prompts(), ["\nBased on the README:\n<README.md>\nSummarise: "]);
    assert_eq!(Value::from(rendered.variables), json!({ "readme": "<README.md>", "summary": "summary#1" }));
    let call = &rendered.calls[0];
    assert_eq!((&*call.action, &*call.server, &*call.tool, &call.failure), ("@mcp", "fs", "read", &None));
    assert_eq!(call.place, Place { line: 1, column: 1 });
}

#[tokio::test]
async fn action_uses_the_prefixed_name_and_variables() {
    let template = template(
        "[[@fs_read:x|path=dir]]{{ x }} [[json:facts|depth=2]] {% for t in facts.topics %}{{ t }},{% endfor %}",
    );
    let asked = Asked::default();
    let set = set(&Files::default());
    assert_eq!(template.variables().collect::<Vec<_>>(), ["dir"]);
    let rendered = template.run(&set).with("dir", "/docs").completer(asked.clone()).await.unwrap();
    assert_eq!(rendered.text(), "</docs> {\"topics\": [\"x\", \"y\"]} x,y,");
    assert_eq!(Value::from(asked.0.lock().unwrap()[0].options.clone()), json!({ "depth": 2 }));
}

#[tokio::test]
async fn results_are_not_interpreted_as_templates() {
    let hostile = "{{ 7 * 7 }} {% for x in y %} [[@fs_read:z|path=\"x\"]] [[fill]] <checkpoint> {# #}";
    let files = Files::default();
    let rendered = template("[[@fs_hostile:h]]{{ h }}|[[@fs_take:t|any=h]]{{ t }}").run(&set(&files)).await.unwrap();
    assert_eq!(rendered.text(), format!("{hostile}|{}", json!({ "any": hostile })));
    assert_eq!(rendered.segments.len(), 1);
    assert_eq!(files.count(), 2);
    let given = template("{{ v }} {{ w }}").run(&set(&files)).with("v", hostile).with("w", json!([hostile, null, 1.0]));
    assert_eq!(given.await.unwrap().text(), format!("{hostile} {}", json!([hostile, null, 1.0])));
}

#[tokio::test]
async fn structured_results_print_as_text_and_pass_as_data() {
    assert_eq!(text("[[@fs_file:f]]Based on: {{ f }}|{{ f.content }}").await, "Based on: alpha doc\n|alpha doc\n");
    // An argument is the data where that fits, or else the text.
    assert_eq!(text("[[@fs_file:f]][[@fs_take:t|any=f]]{{ t }}").await, r#"{"any":{"content":"alpha doc\n"}}"#);
    assert_eq!(text("[[@fs_file:f]][[@fs_read:t|path=f]]{{ t }}").await, "<alpha doc\n>");
}

#[tokio::test]
async fn values_print_as_json_and_round_trip() {
    assert_eq!(text("[[@fs_stat:s]]{{ s }}").await, r#"{"size":5.0,"tags":["x",null,true],"mode":{"z":1,"a":2}}"#);
    assert_eq!(
        text("[[@fs_stat:s]]{{ s.size }} {{ s.tags[0] }} {{ s.tags[2] }} {{ s.tags[1] }}").await,
        "5.0 x true null"
    );
    assert_eq!(
        text("[[@fs_stat:s]][[@fs_take:t|any=s.mode, n=-3, on=true]]{{ t }}").await,
        r#"{"any":{"z":1,"a":2},"n":-3,"on":true}"#
    );
    assert_eq!(text("[[@fs_wrapped]] [[@fs_take:t|list=fs_wrapped]]{{ t }}").await, r#"[1,2,3] {"list":[1,2,3]}"#);
    // Text of a list is what it was, and walks; where a list is wanted, it is one.
    assert_eq!(text("[[@fs_list:l]]{{ l }} {{ l[1] }} {{ l|length }}").await, r#"["a.md", "b.md", "c.md"] b.md 3"#);
    assert_eq!(text("[[@fs_list:l]][[@fs_take:t|list=l]]{{ t }}").await, r#"{"list":["a.md","b.md","c.md"]}"#);
    assert_eq!(text("[[@fs_list:l]][[@fs_read:t|path=l]]{{ t }}").await, r#"<["a.md", "b.md", "c.md"]>"#);
    assert_eq!(
        text("[[@fs_take:t|any={\"k\": [1e2, \"{{ 1 + 1 }}\", null]}, \"server\"=\"s\"]]{{ t }}").await,
        r#"{"any":{"k":[100.0,"2",null]},"server":"s"}"#
    );
    assert_eq!(text("{% set n = 4 %}[[@fs_take:t|n=\"{{ n }}\"]]{{ t }}").await, r#"{"n":4}"#);
    assert_eq!(
        text("a [[[[b]] {% raw %}{{ x }}{% endraw %}\n  {%- if true %} c {%- endif -%}  d").await,
        "a [[b]] {{ x }} cd"
    );
}

#[tokio::test]
async fn variables_survive_checkpoints() {
    let source =
        "{% set x = 1 %}{% set d %}/docs/{{ x }}{% endset %}[[@fs_read:r|path=d]]<checkpoint>{{ x }} {{ d }} {{ r }}";
    let rendered = run(source).await.unwrap();
    assert_eq!(rendered.segments[1].text, "1 /docs/1 </docs/1>");
    let named = run("a<checkpoint>First</checkpoint>b").await.unwrap();
    assert_eq!(named.segments[0].name.as_deref(), Some("First"));
    assert_eq!((named.text(), &named.segments[1].name), ("ab".to_owned(), &None));
}

#[tokio::test]
async fn on_error_decides_the_effect_of_a_failure() {
    let error = run("Text\n  [[@fs_fails:x|path=\"p\"]]").await.unwrap_err();
    assert_eq!(error.to_string(), "test.md:2:3: fs: `fails` returned an error: no such file");
    let problem = &error.problems()[0];
    assert_eq!((problem.server.as_deref(), problem.tool.as_deref()), (Some("fs"), Some("fails")));
    assert!(matches!(&problem.kind, TemplateErrorKind::Call(error) if matches!(**error, CallError::Tool(_))));
    assert!(std::error::Error::source(&error).is_some());

    let rendered = run("[[@fs_fails:x|path=\"p\", on_error=empty]]<{{ x }}>").await.unwrap();
    assert_eq!(rendered.text(), "<>");
    assert!(rendered.calls[0].failure.as_ref().unwrap().contains("no such file"));
    assert_eq!(text("[[@fs_fails:x|on_error=default([1, \"{{ 'n' }}\"])]]{{ x }}{{ x[1] }}").await, r#"[1,"n"]n"#);

    let files = Files::default();
    let in_loop = "{% for p in range(40) %}[[@fs_fails:x|path=\"{{p}}\"]]{% endfor %}";
    let error = template(in_loop).run(&set(&files)).await.unwrap_err();
    assert!(error.to_string().starts_with("test.md:1:25: fs: `fails`"), "{error}");
    assert!(files.count() < 40, "after a failure no call is begun: {}", files.count());
    let go_on = "{% for p in range(40) %}[[@fs_fails:x|path=\"{{p}}\", on_error=empty]]{% endfor %}";
    template(go_on).run(&set(&files)).await.unwrap();
}

#[tokio::test]
async fn undefined_variable_is_an_error_before_any_call() {
    let files = Files::default();
    let source = "[[@fs_list:files]]\n{{ flies }}\n[[@fs_read:x|path=where]]";
    let error = template(source).run(&set(&files)).await.unwrap_err();
    let said = error.to_string();
    assert!(said.contains("test.md:2:1: undefined variable `flies`; did you mean `files`?"), "{said}");
    assert!(said.contains("test.md:3:14: undefined variable `where`"), "{said}");
    assert_eq!(files.count(), 0);
    // A part of a value is known only when it is there.
    let error = run("[[@fs_stat:s]]\nyes\n{{ s.sze }}").await.unwrap_err();
    assert!(error.to_string().starts_with("test.md:3:1:"), "{error}");
    assert!(matches!(error.problems()[0].kind, TemplateErrorKind::Undefined));
    let error = run("[[@fs_stat:s]]\n[[@fs_read:x|\n  path=s.nope]]").await.unwrap_err();
    assert_eq!(error.to_string(), "test.md:3:3: `s.nope` is undefined");
    // A variable is optional if the template tests whether it is defined, or provides a default.
    let optional = template(
        "{{ x|default('none') }}{% if y is defined %}{{ y }}{% endif %}[[@fs_read:r|path=z|default('d')]]{{ r }}",
    );
    assert_eq!(optional.optional_variables().collect::<Vec<_>>(), ["x", "y", "z"]);
    assert_eq!(optional.run(&set(&files)).await.unwrap().text(), "none<d>");
    assert_eq!(optional.run(&set(&files)).with("y", 1).with("z", "q").await.unwrap().text(), "none1<q>");
}

#[test]
fn tools_and_arguments_are_checked_before_the_run() {
    let toolset = set(&Files::default());
    let check = |source: &str| template(source).check(&toolset).unwrap_err().to_string();
    assert!(check("[[@fs_raed:x|path=\"p\"]]").contains("unknown tool `fs_raed`; did you mean `fs_read`?"));
    assert!(
        check("[[@mcp:x|server=\"sf\", tool=\"read\", path=\"p\"]]")
            .contains("unknown server `sf`; did you mean `fs`?")
    );
    assert!(check("\n [[@fs_read:x|paht=\"p\"]]").contains("did you mean `path`?"));
    assert!(check("[[@fs_read:x]]").contains("needs `path`"));
    assert!(check("[[@fs_read:x|path=5]]").contains("test.md:1:"));
    let all = check("[[@fs_read:x]]\n[[@fs_none:y]]");
    assert!(all.contains("2 problems") && all.contains("\n- test.md:2:1:"), "{all}");
}

#[test]
fn malformed_template_error_has_a_line() {
    for source in [
        "a\n[[@fs_read:x|path=\"p\"",
        "a\n{{ x",
        "a\n{% for %}{% endfor %}",
        "a\n{% if x %}",
        "a\n{{ x | nofilter }}",
        "a\n[[@fs_read:x|path=a b]]",
        "a\n{{ __mcp_slot(0) }}",
        "a\n[[@fs_read:x|path=]]",
        "a\n{% include 'x' %}",
    ] {
        let error = match Template::new("test.md", source) {
            Err(error) => error,
            // A filter is looked for when it is used.
            Ok(_) => continue,
        };
        assert!(error.to_string().contains("test.md:2:"), "{source}: {error}");
    }
}

#[tokio::test]
async fn missing_or_failed_completer_is_an_error() {
    let set = set(&Files::default());
    let error = template("a [[x]]").run(&set).await.unwrap_err();
    assert!(error.to_string().starts_with("test.md:1:3: this slot needs a completer"), "{error}");
    let error = template("a\n[[fail:x]]").run(&set).completer(Asked::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "test.md:2:1: failed to fill `x`: the model is away");
    let closure = template("[[x]]").run(&set).completer(async |request: CompletionRequest| Ok(json!([request.name])));
    assert_eq!(closure.await.unwrap().text(), r#"["x"]"#);
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    number: u64,
}

#[tokio::test]
async fn remote_templates_require_permission_for_functions() {
    let toolset = Toolset::builder()
        .function("find_order", "Finds an order.", async |order: Order| {
            if order.number == 7 { Ok(json!({ "state": "sent" })) } else { Err("no such order") }
        })
        .build()
        .unwrap();
    let source = "[[@find_order:o|number=7]]{{ o.state }}";
    assert_eq!(template(source).run(&toolset).await.unwrap().text(), "sent");
    let missing = template("[[@find_order:o|number=8]]").run(&toolset).await.unwrap_err();
    assert!(missing.to_string().contains("no such order"), "{missing}");
    let remote = Template::remote("https://example.com/t.md", source).unwrap();
    let error = remote.run(&toolset).await.unwrap_err();
    assert!(matches!(error.problems()[0].kind, TemplateErrorKind::RemoteUse), "{error}");
    assert!(error.to_string().contains("program/find_order"), "{error}");
    assert_eq!(remote.run(&toolset).allow(["program/find_*"]).await.unwrap().text(), "sent");
}

#[tokio::test]
async fn remote_templates_call_only_tools_in_remote_use() {
    let config =
        |globs: &[&str]| ServerConfig::stdio("fs", "/nonexistent/never-started").remote_use(globs.iter().copied());
    let set = |globs: &[&str]| {
        Toolset::builder().server("fs", &tools(), Stack::new(Client::new(config(globs)))).build().unwrap()
    };
    let source = "a\n[[@fs_read:x|path=\"p\"]]";
    let remote = Template::remote("t.md", source).unwrap();
    let refused = remote.run(&set(&[])).await.unwrap_err();
    assert!(matches!(refused.problems()[0].kind, TemplateErrorKind::RemoteUse), "{refused}");
    assert!(
        refused.to_string().starts_with("t.md:2:1: a template that is not a local file")
            && refused.to_string().contains("remote_use"),
        "{refused}"
    );
    assert!(remote.check(&set(&["list"])).is_err() && remote.check(&set(&["read"])).is_ok());
    // `allow` is about functions: a configuration has the last word.
    assert!(matches!(
        remote.run(&set(&[])).allow(["*"]).await.unwrap_err().problems()[0].kind,
        TemplateErrorKind::RemoteUse
    ));
    assert!(template(source).check(&set(&[])).is_ok());
    let reached = remote.run(&set(&["r*"])).await.unwrap_err();
    assert!(
        matches!(reached.problems()[0].kind, TemplateErrorKind::Call(_)),
        "it is called, and there is no such program: {reached}"
    );
}
