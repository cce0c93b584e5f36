//! Templates whose actions call tools, run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_agents::template::{Place, TemplateErrorKind};
use mcp_agents::{CompletionRequest, RenderedTemplate, Template, TemplateError, Toolset};
use mcp_model::ServerConfig;
use mcp_runtime::events::{CallSource, Event};
use mcp_runtime::middleware::{Policy, Stack, Verdict};
use mcp_runtime::{CallError, CallTool, Client, ToolCall, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

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
    let tool = |name: &str, properties: Value, required: Value| json!({ "name": name, "inputSchema": { "type": "object", "properties": properties, "required": required } });
    let path = json!({ "path": { "type": "string" } });
    let mut wrapped = tool("wrapped", json!({}), json!([]));
    wrapped["outputSchema"] = json!({ "type": "object", "properties": { "result": { "type": "array" } }, "required": ["result"], "x-fastmcp-wrap-result": true });
    let mut write =
        tool("write", json!({ "path": { "type": "string" }, "text": { "type": "string" } }), json!(["path"]));
    write["annotations"] = json!({ "readOnlyHint": false });
    let take = json!({ "n": { "type": "integer" }, "on": { "type": "boolean" }, "list": { "type": "array" }, "any": {}, "server": { "type": "string" } });
    vec![
        tool("list", json!({}), json!([])),
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

impl mcp_agents::Completer for Asked {
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
async fn a_call_a_variable_and_a_completion() {
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
async fn by_the_name_of_the_set_and_with_variables() {
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
async fn calls_in_a_loop_over_a_result_go_side_by_side() {
    let source = "[[@mcp:files|server=\"fs\", tool=\"list\"]]\n<checkpoint>\n{% for file in files %}\
        [[@mcp:content_{{loop.index}}|server=\"fs\", tool=\"read\", path=\"{{file}}\"]]{% endfor %}\n<checkpoint>\n\
        {{ content_1 }}{{ content_3 }} Summarise all: [[summary]]";
    let files = Files { pause: Duration::from_millis(100), ..Files::default() };
    let (asked, begun) = (Asked::default(), Instant::now());
    let rendered = template(source).run(&set(&files)).completer(asked.clone()).await.unwrap();
    let took = begun.elapsed();
    assert_eq!(rendered.segments[2].text, "\n<a.md><c.md> Summarise all: summary#1");
    assert_eq!(asked.prompts(), ["\n<a.md><c.md> Summarise all: "], "what is before a checkpoint is forgotten");
    println!(
        "1 call and 3 side by side of 100 ms each: {took:?}, {} at once",
        files.most_at_once.load(Ordering::SeqCst)
    );
    assert_eq!(files.most_at_once.load(Ordering::SeqCst), 3);
    assert!(took < Duration::from_millis(390), "{took:?}");
    assert_eq!(files.count(), 4);
}

#[tokio::test]
async fn independent_calls_wherever_they_stand() {
    let files = Files { pause: Duration::from_millis(50), ..Files::default() };
    let source =
        "{{ b }}[[@fs_take:c|any=b]][[@fs_read:b|path=\"1\"]]{% if true %}[[@fs_read:a|path=\"2\"]]{% endif %}{{ c }}";
    let rendered = template(source).run(&set(&files)).await.unwrap();
    assert_eq!(rendered.text(), "<1>{\"any\":\"<1>\"}");
    assert_eq!(files.most_at_once.load(Ordering::SeqCst), 2);
    assert_eq!(files.count(), 3);
}

#[tokio::test]
async fn what_changes_something_goes_in_the_order_of_the_text() {
    let files = Files { pause: Duration::from_millis(20), ..Files::default() };
    let source = "[[@fs_write:a|path=\"1\"]][[@fs_write:b|path=\"2\"]][[@fs_write:c|path=\"3\"]]";
    template(source).run(&set(&files)).await.unwrap();
    assert_eq!(files.most_at_once.load(Ordering::SeqCst), 1);
    let paths: Vec<_> = files.called().iter().map(|(_, arguments)| arguments["path"].clone()).collect();
    assert_eq!(paths, ["1", "2", "3"]);
}

#[tokio::test]
async fn each_turn_of_a_loop_has_its_own_result() {
    let files = Files::default();
    let source = "{% for p in [\"a\", \"b\", \"a\"] %}[[@fs_read:x|path=p]][[@fs_take:y|any=x]]{{ x }}{{ y }};{% endfor %}{{ x }}";
    let rendered = template(source).run(&set(&files)).await.unwrap();
    assert_eq!(rendered.text(), "<a>{\"any\":\"<a>\"};<b>{\"any\":\"<b>\"};<a>{\"any\":\"<a>\"};<a>");
    assert_eq!(files.count(), 6, "the same arguments in another turn are another call");
}

#[tokio::test]
async fn completions_in_loops_and_conditions() {
    let asked = Asked::default();
    let source = "{% for p in [1, 2] %}{{ p }}: [[word]] then [[@fs_take:echo|any=word]]{{ echo }}; {% endfor %}\
        [[bool:more]]{% if more %} [[@fs_read:x|path=\"late\"]]{{ x }} [[last]]{% else %}never [[other]]{% endif %}";
    let rendered = template(source).run(&set(&Files::default())).completer(asked.clone()).await.unwrap();
    assert_eq!(
        rendered.text(),
        "1: word#1 then {\"any\":\"word#1\"}; 2: word#2 then {\"any\":\"word#2\"}; true <late> last#4"
    );
    assert_eq!(asked.prompts()[1], "1: word#1 then {\"any\":\"word#1\"}; 2: ");
    assert_eq!(asked.prompts().len(), 4, "each slot is filled once: {:?}", asked.prompts());
}

#[tokio::test]
async fn results_are_data() {
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
async fn values_print_as_json_and_come_back_as_they_were() {
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
async fn what_is_set_stays_over_checkpoints() {
    let source =
        "{% set x = 1 %}{% set d %}/docs/{{ x }}{% endset %}[[@fs_read:r|path=d]]<checkpoint>{{ x }} {{ d }} {{ r }}";
    let rendered = run(source).await.unwrap();
    assert_eq!(rendered.segments[1].text, "1 /docs/1 </docs/1>");
    let named = run("a<checkpoint>First</checkpoint>b").await.unwrap();
    assert_eq!(named.segments[0].name.as_deref(), Some("First"));
    assert_eq!((named.text(), &named.segments[1].name), ("ab".to_owned(), &None));
}

#[tokio::test]
async fn failures_do_what_the_action_says() {
    let error = run("Text\n  [[@fs_fails:x|path=\"p\"]]").await.unwrap_err();
    assert_eq!(error.to_string(), "test.md:2:3: fs: `fails` answered with an error: no such file");
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
async fn what_is_not_there_is_an_error_before_anything_is_called() {
    let files = Files::default();
    let source = "[[@fs_list:files]]\n{{ flies }}\n[[@fs_read:x|path=where]]";
    let error = template(source).run(&set(&files)).await.unwrap_err();
    let said = error.to_string();
    assert!(said.contains("test.md:2:1: nothing is called `flies`; did you mean `files`?"), "{said}");
    assert!(said.contains("test.md:3:14: nothing is called `where`"), "{said}");
    assert_eq!(files.count(), 0);
    // A part of a value is known only when it is there.
    let error = run("[[@fs_stat:s]]\nyes\n{{ s.sze }}").await.unwrap_err();
    assert!(error.to_string().starts_with("test.md:3:1:"), "{error}");
    assert!(matches!(error.problems()[0].kind, TemplateErrorKind::Undefined));
    let error = run("[[@fs_stat:s]]\n[[@fs_read:x|\n  path=s.nope]]").await.unwrap_err();
    assert_eq!(error.to_string(), "test.md:3:3: `s.nope` is not there");
    // What is asked for, or has something in its place, may be missing.
    let optional = template(
        "{{ x|default('none') }}{% if y is defined %}{{ y }}{% endif %}[[@fs_read:r|path=z|default('d')]]{{ r }}",
    );
    assert_eq!(optional.optional_variables().collect::<Vec<_>>(), ["x", "y", "z"]);
    assert_eq!(optional.run(&set(&files)).await.unwrap().text(), "none<d>");
    assert_eq!(optional.run(&set(&files)).with("y", 1).with("z", "q").await.unwrap().text(), "none1<q>");
}

#[test]
fn tools_and_arguments_are_checked_before() {
    let toolset = set(&Files::default());
    let check = |source: &str| template(source).check(&toolset).unwrap_err().to_string();
    assert!(check("[[@fs_raed:x|path=\"p\"]]").contains("there is no tool `fs_raed`; did you mean `fs_read`?"));
    assert!(
        check("[[@mcp:x|server=\"sf\", tool=\"read\", path=\"p\"]]")
            .contains("there is no server `sf`; did you mean `fs`?")
    );
    assert!(check("\n [[@fs_read:x|paht=\"p\"]]").contains("did you mean `path`?"));
    assert!(check("[[@fs_read:x]]").contains("needs `path`"));
    assert!(check("[[@fs_read:x|path=5]]").contains("test.md:1:"));
    let all = check("[[@fs_read:x]]\n[[@fs_none:y]]");
    assert!(all.contains("2 things are wrong") && all.contains("\n- test.md:2:1:"), "{all}");
}

#[test]
fn malformed_templates_have_a_line() {
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
async fn loops_without_end_and_much_text_are_limited() {
    let begun = Instant::now();
    let endless = "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}[[@fs_list:x]]";
    let files = Files::default();
    let error = template(endless).run(&set(&files)).await.unwrap_err();
    assert!(matches!(error.problems()[0].kind, TemplateErrorKind::Limit), "{error}");
    println!("a loop without end: {error} ({:?})", begun.elapsed());
    assert_eq!(files.count(), 0);
    let calls = "{% for a in range(50) %}[[@fs_list:x]]{% endfor %}";
    let error = template(calls).run(&set(&files)).most_calls(49).await.unwrap_err();
    assert!(matches!(error.problems()[0].kind, TemplateErrorKind::Limit) && files.count() == 0, "{error}");
    let grows = "{% for a in range(9999) %}{{ big }}{% endfor %}";
    let error = template(grows).run(&set(&files)).with("big", "x".repeat(100_000)).await.unwrap_err();
    assert!(error.to_string().contains("too much text"), "{error}");
    let hidden = "{% set all %}{% for a in range(9999) %}{{ big }}{% endfor %}{% endset %}";
    let error = template(hidden).run(&set(&files)).with("big", "x".repeat(100_000)).await.unwrap_err();
    assert!(error.to_string().contains("too much text"), "{error}");
    let slow = Files { pause: Duration::from_secs(60), ..Files::default() };
    let error = template("[[@fs_list:x]]").run(&set(&slow)).timeout(Duration::from_millis(50)).await.unwrap_err();
    assert!(error.to_string().contains("within 50ms"), "{error}");
}

#[tokio::test]
async fn ten_megabytes_of_text() {
    let begun = Instant::now();
    let filler = "No slot [here], {nor} here: it is text. ".repeat(5 * 1024 * 1024 / 40);
    let source = format!("{filler}[[@fs_read:x|path=\"p\"]]{{{{ x }}}}{filler}[[end]]");
    let rendered = template(&source).run(&set(&Files::default())).completer(Asked::default()).await.unwrap();
    assert_eq!(rendered.text(), format!("{filler}<p>{filler}end#1"));
    println!("{} MB of text: {:?}", source.len() / 1_000_000, begun.elapsed());
}

#[tokio::test]
async fn completers_may_fail_and_must_be_there() {
    let set = set(&Files::default());
    let error = template("a [[x]]").run(&set).await.unwrap_err();
    assert!(error.to_string().starts_with("test.md:1:3: nobody fills this slot"), "{error}");
    let error = template("a\n[[fail:x]]").run(&set).completer(Asked::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "test.md:2:1: `x` could not be filled: the model is away");
    let closure = template("[[x]]").run(&set).completer(async |request: CompletionRequest| Ok(json!([request.name])));
    assert_eq!(closure.await.unwrap().text(), r#"["x"]"#);
}

#[tokio::test]
async fn policies_and_events_hold_for_actions() {
    let files = Files::default();
    let policy = Policy::new(|call| match (call.tool, call.arguments.contains_key("path")) {
        ("read", true) => Verdict::deny("not read"),
        _ => Verdict::Allow,
    });
    let stack = Stack::new(files.clone()).policy(policy);
    let mut events = stack.events();
    let set = Toolset::builder().server("fs", &tools(), stack).build().unwrap();
    let error = template("[[@fs_read:x|path=\"p\"]]").run(&set).await.unwrap_err();
    assert!(error.to_string().contains("denied"), "{error}");
    assert_eq!(files.count(), 0);
    template("[[@fs_list:x]]").run(&set).await.unwrap();
    let mut sources = Vec::new();
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(200), events.next()).await {
        if let Event::ToolInvoked(invoked) = event {
            sources.push((invoked.tool.to_string(), invoked.source.clone()));
        }
    }
    assert!(
        sources.iter().any(|(tool, source)| tool == "list" && *source == CallSource::Named("template".into())),
        "{sources:?}"
    );
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    number: u64,
}

#[tokio::test]
async fn functions_of_the_program_are_tools_but_not_for_strangers() {
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
async fn templates_from_elsewhere_call_what_the_configuration_names() {
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
        refused.to_string().starts_with("t.md:2:1: a template that is no local file")
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

#[tokio::test]
async fn the_same_gives_the_same() {
    let source = "{% for p in range(30) %}[[@fs_read:x|path=\"{{p}}\"]]{{ x }}{% endfor %}[[@fs_stat:s]]{{ s }}";
    let first = run(source).await.unwrap();
    for _ in 0..5 {
        assert_eq!(run(source).await.unwrap(), first);
    }
}

#[tokio::test]
async fn values_are_in_no_error_and_no_debug() {
    let secret = "s3cr3t-value";
    let toolset = set(&Files::default());
    let given = |source: &str| template(source).run(&toolset).with("key", secret).completer(Asked::default());
    let mut texts = vec![format!("{:?}", given("{{ key }}"))];
    for source in [
        "{{ key.x.y }}",
        "{{ key + 1 }}",
        "{% for x in key %}{{ x.y.z }}{% endfor %}",
        "[[@fs_take:x|n=key]]",
        "{{ key|int }}",
        "{{ key(1) }}",
        "{{ key.foo() }}",
        "[[fail:x|k=key]]",
    ] {
        let error = given(source).await.unwrap_err();
        texts.extend([error.to_string(), format!("{error:?}")]);
    }
    let rendered = given("{{ key }}[[@fs_take:x|any=key]][[y|k=key]]").await.unwrap();
    texts.push(format!("{rendered:?}"));
    let asked = Asked::default();
    given("{{ key }}[[y|k=key]]").completer(asked.clone()).await.unwrap();
    texts.push(format!("{:?}", asked.0.lock().unwrap()));
    for text in &texts {
        assert!(!text.contains(secret), "{text}");
    }
    println!("{} texts hold no value", texts.len());
}

#[tokio::test]
async fn dropping_a_run_ends_it() {
    let files = Files { pause: Duration::from_millis(100), ..Files::default() };
    let source = "[[@fs_list:a]][[@fs_take:b|any=a]]{{ b }}";
    let dropped =
        tokio::time::timeout(Duration::from_millis(20), template(source).run(&set(&files)).into_future()).await;
    assert!(dropped.is_err());
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!((files.count(), files.under_way.load(Ordering::SeqCst)), (1, 1), "the call never came to its end");
}
