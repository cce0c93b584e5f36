//! Servers and functions of several sections: which are one, what governs them, and what they are called.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::support::*;
use mcp_bindgen_agents::{
    McpSection, Prompt, PromptParams, PromptState, PromptWarning, RenderError, RenderedPrompt, Section, SectionServer,
    SectionTool, Visibility,
};
use mcp_bindgen_model::{ServerConfig, Snapshot};
use mcp_bindgen_runtime::middleware::{Approval, ApprovalAnswer, Policy, Transaction, Verdict};
use mcp_bindgen_runtime::{Client, DynCallTool, ServerSpec, ToolSpec};
use serde_json::{Value, json};

static TOOLS: [ToolSpec; 1] = [ToolSpec::new("index", r#"{"type":"object"}"#).prefixed("f_index")];
static FILES: ServerSpec = ServerSpec::new("files").tools(&TOOLS);

fn never_started(name: &str) -> Client {
    Client::new(ServerConfig::stdio(name, "/nonexistent/server"))
}

fn closed(key: &str) -> Section {
    Section::new(key, "S").summary("Short.").visibility(Visibility::Summary)
}

fn two(first: Section, second: Section) -> Prompt {
    Prompt::new().section(first).section(second).build().expect("the sections are right")
}

fn names_of(rendered: &RenderedPrompt) -> Vec<&str> {
    rendered.servers().iter().map(|server| server.name()).collect()
}

#[tokio::test]
async fn cloned_server_is_governed_by_every_section() {
    let client = never_started("files");
    let shared: Arc<dyn DynCallTool> = Arc::new(Echo::default());
    let known = || offers(&[("delete_all", ""), ("read", "")]);
    let pairs: [[SectionServer; 2]; 4] = [
        [client.clone().into(), client.clone().into()],
        [0, 1].map(|_| SectionServer::bound(&FILES, client.clone())),
        [0, 1].map(|_| SectionServer::caller("files", shared.clone()).snapshot(known())),
        [0, 1].map(|_| SectionServer::from(ServerConfig::stdio("files", "/nonexistent/server"))),
    ];
    let count = pairs.len();
    for (case, [one, other]) in pairs.into_iter().enumerate() {
        let prompt = two(
            Section::new("a", "A").server(one),
            Section::new("b", "B").server(other).policy(Policy::deny(["delete_*"])),
        );
        let rendered = rendered(&prompt, &PromptState::new());
        assert_eq!((names_of(&rendered), rendered.warnings()), (vec!["files"], &[][..]), "{case}");
        let denied = call(&rendered.servers()[0].caller(), "files", "delete_all").await.expect_err("it is denied");
        assert!(denied.to_string().contains("delete_*"), "{case}: {denied}");
    }
    println!("{count} ways to declare one server twice");
    // Another client of the same configuration, and the same client with other bindings, are not the same.
    let other = two(
        Section::new("a", "A").server(client.clone()),
        Section::new("b", "B").server(SectionServer::bound(&FILES, client)),
    );
    let warnings = rendered(&other, &PromptState::new()).warnings().to_vec();
    assert!(warnings[0].to_string().contains("with other bindings"), "{warnings:?}");
}

#[tokio::test]
async fn ineffective_policy_is_an_error() {
    let opaque = || SectionServer::caller("files", Echo::default()).snapshot(offers(&[("delete_all", "")]));
    let render = |second: Section| {
        two(Section::new("a", "A").server(opaque()), second).render(&PromptParams::new(), &PromptState::new())
    };
    let told = render(Section::new("b", "B").server(opaque())).expect("nothing is lost but a declaration");
    assert!(matches!(told.warnings(), [PromptWarning::DuplicateServer { .. }]), "{:?}", told.warnings());
    for second in [Section::new("b", "B"), closed("b")] {
        let error = render(second.server(opaque()).policy(Policy::deny(["*"]))).expect_err("it would not hold");
        assert!(matches!(&error, RenderError::Server { section, .. } if section == "b"), "{error}");
        assert!(error.to_string().contains("would not apply; use clones of one `SectionServer`"), "{error}");
    }
}

#[tokio::test]
async fn servers_from_equal_parameters_are_shared() {
    let client = never_started("files");
    let prompt = Prompt::new()
        .section(Section::new("a", "A").servers_from(move |()| [client.clone()]).policy(Policy::deny(["delete_*"])))
        .build()
        .expect("the sections are right");
    let caller = || rendered(&prompt, &PromptState::new()).servers()[0].caller();
    assert!(Arc::ptr_eq(&caller(), &caller()), "with what its layers remember");

    let declare = |database: &Database| [ServerConfig::uvx("sqlite", "mcp-server-sqlite").args([&database.path])];
    let prompt = Prompt::new()
        .section(Section::with_params::<Database>("db", "DB").servers_from(declare))
        .build()
        .expect("the sections are right");
    let caller = |path: &str| {
        let params = PromptParams::new().with(Database { path: path.to_owned(), writable: false });
        let caller = prompt.render(&params, &PromptState::new()).expect("it renders").servers()[0].caller();
        Arc::downgrade(&caller)
    };
    let (one, other) = (caller("/a.db"), caller("/b.db"));
    for _ in 0..3 {
        assert!(one.ptr_eq(&caller("/a.db")) && other.ptr_eq(&caller("/b.db")), "conversations take turns");
    }
    (0..8).for_each(|n| drop(caller(&format!("/{n}.db"))));
    assert!(one.upgrade().is_none() && other.upgrade().is_none(), "not all are kept for good");
}

#[tokio::test]
async fn closed_section_does_not_compute_its_servers() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let section = closed("a").servers_from(move |()| {
        counter.fetch_add(1, Ordering::Relaxed);
        [ServerConfig::stdio("wink", "x")]
    });
    let prompt = Prompt::new().section(section).build().expect("its servers are not known yet");
    let first = rendered(&prompt, &PromptState::new());
    assert_eq!((offered(&first).await, asked.load(Ordering::Relaxed)), (vec!["open_sections".to_owned()], 0));
    let opened = first.open_sections(&["a".to_owned()], "");
    assert!(!opened.reply.success && opened.reply.message.contains("wink"), "the name is reserved: {:?}", opened.reply);
    assert_eq!(opened.state, PromptState::new());
    prompt.render(&PromptParams::new(), &PromptState::new().with_open(["a"])).expect_err("so it is for the program");
}

#[tokio::test]
async fn opening_a_section_renames_no_tools() {
    let same = "a_b_c";
    let prompt = Prompt::new()
        .section(Section::new("first", "First").server(server("a", &[("b.c", ""), ("d", "")])))
        .section(closed("second").server(server("a_b", &[("c", ""), ("a", "")])))
        .section(closed("third").tool(tool(same)))
        .build()
        .expect("the sections are right");
    let (mut state, mut known) = (PromptState::new(), Vec::new());
    for opened in [None, Some("third"), Some("second")] {
        if let Some(opened) = opened {
            state = rendered(&prompt, &state).open_sections(&[opened.to_owned()], "").state;
        }
        let (toolset, failed) = rendered(&prompt, &state).toolset().await.expect("they are told apart");
        let names: Vec<String> = toolset.names().map(str::to_owned).collect();
        assert!(failed.is_empty() && names.starts_with(&known), "{known:?} became {names:?}");
        // Two servers of the prompt have a tool that would be called so: neither is, also while one is closed.
        let owner = (opened == Some("third")).then_some(("program", same));
        assert!(toolset.tool_of(same).is_none() || toolset.tool_of(same) == owner || opened == Some("second"));
        known = names;
    }
    assert_eq!(known.len(), 6, "{known:?}");
    println!("{known:?}");
}

#[tokio::test]
async fn listed_tools_are_sorted_nameless_ones_skipped_and_duplicates_reported() {
    let listed = json!({ "tools": [
        { "name": "z", "inputSchema": { "type": "object" } },
        { "name": "", "inputSchema": { "type": "object" } },
        { "name": "a", "inputSchema": { "type": "object" } },
        { "name": "z", "inputSchema": { "type": "object" }, "description": "again" },
    ] });
    let server = |globs: &[&str]| {
        let known = Snapshot::parse(&listed.to_string()).expect("it is a list");
        SectionServer::from(ServerConfig::stdio("s", "x")).snapshot(known).only(globs.iter().copied())
    };
    let prompt = two(Section::new("a", "A").server(server(&["*"])), Section::new("b", "B").server(server(&["z"])));
    let rendered = rendered(&prompt, &PromptState::new());
    assert_eq!(offered(&rendered).await, ["s/a", "s/z"]);
    let (toolset, _) = rendered.toolset().await.expect("it is a set");
    assert_eq!(toolset.names().collect::<Vec<_>>(), ["s_a", "s_z"]);
    assert_eq!(toolset.left_out().len(), 1, "{:?}", toolset.left_out());
}

#[tokio::test]
async fn bindings_and_a_snapshot_are_combined() {
    let server = SectionServer::bound(&FILES, Echo::default()).snapshot(offers(&[("index", ""), ("new", "")]));
    let prompt = Prompt::new().section(McpSection::new([server])).build().expect("the section is right");
    let rendered = rendered(&prompt, &PromptState::new());
    let (toolset, _) = rendered.toolset().await.expect("it is a set");
    assert_eq!(toolset.names().collect::<Vec<_>>(), ["f_index", "files_new"]);
    assert!(rendered.text().contains("- `f_index`\n- `files_new`"), "{}", rendered.text());
}

#[tokio::test]
async fn equal_servers_share_their_snapshot() {
    let config = || ServerConfig::stdio("s", "/nonexistent/server");
    let known = SectionServer::from(config()).snapshot(offers(&[("a", ""), ("b", "")]));
    let prompt = two(Section::new("a", "A").server(config()), Section::new("b", "B").server(known.clone()));
    assert_eq!(offered(&rendered(&prompt, &PromptState::new())).await, ["s/a", "s/b"], "nobody is asked");
    let dynamic = two(
        Section::new("a", "A").server(known),
        Section::new("b", "B").servers_from(move |()| [config()]).policy(Policy::deny(["b"])),
    );
    let rendered = rendered(&dynamic, &PromptState::new());
    assert_eq!((offered(&rendered).await, rendered.warnings().len()), (vec!["s/a".to_owned()], 0));
}

#[tokio::test]
async fn section_layers_govern_its_functions() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = |name: &str| {
        let runs = runs.clone();
        SectionTool::function(name, "Counts.", move |_: Nothing| {
            let runs = runs.clone();
            async move {
                runs.fetch_add(1, Ordering::Relaxed);
                Ok::<_, String>(json!({ "n": 1 }))
            }
        })
    };
    let by_arguments = Policy::new(|facts| match facts.tool {
        "judged" => Verdict::deny("not today"),
        _ => Verdict::Allow,
    });
    let governed = Section::new("a", "A")
        .tool(counted("delete_all"))
        .tool(counted("judged"))
        .tool(counted("asked"))
        .tool(counted("free"))
        .policy(Policy::deny(["delete_*"]))
        .policy(by_arguments)
        .layers(|stack| {
            let decline = async |_| ApprovalAnswer::Decline("nobody is there".to_owned());
            stack.approval(Approval::of(["asked"], decline))
        });
    let prompt = two(governed, Section::new("b", "B").tool(counted("elsewhere")));
    let (toolset, _) = tools_of(&rendered(&prompt, &PromptState::new())).await;
    assert_eq!(names(&toolset), ["judged", "asked", "free", "elsewhere"], "a tool that is denied by name is missing");
    let run = async |name: &str| toolset.dispatch(name, json!({})).await;
    let denied = run("judged").await;
    assert!(!denied.success && denied.message.contains("not today"), "{denied:?}");
    let declined = run("asked").await;
    assert!(!declined.success && declined.message.contains("nobody is there"), "{declined:?}");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    for name in ["free", "elsewhere"] {
        assert_eq!(run(name).await.value["structuredContent"], json!({ "n": 1 }), "the value is the function's");
    }
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn transaction_reverts_the_effect_of_a_failed_function() {
    let basket = Arc::new(Mutex::new(Vec::<String>::new()));
    let (filled, kept) = (basket.clone(), basket.clone());
    let fill = SectionTool::function("fill", "Fills.", move |arguments: std::collections::BTreeMap<String, Value>| {
        filled.lock().unwrap().push("a book".to_owned());
        let outcome = if arguments.contains_key("fail") { Err("sold out") } else { Ok(Value::Null) };
        async move { outcome }
    });
    let section = Section::new("a", "A").tool(fill).layers(move |stack| stack.transaction(Transaction::over(&kept)));
    let prompt = Prompt::new().section(section).build().expect("functions alone may be governed");
    let (toolset, _) = tools_of(&rendered(&prompt, &PromptState::new())).await;
    let failed = toolset.dispatch("fill", json!({ "fail": true })).await;
    assert_eq!((failed.success, failed.message.as_str()), (false, "sold out"));
    assert!(basket.lock().unwrap().is_empty(), "it is as it was");
    assert!(toolset.dispatch("fill", json!({})).await.success);
    assert_eq!(basket.lock().unwrap().len(), 1);
}

#[test]
fn read_section_hides_denied_tools() {
    let servers = McpSection::new([server("s", &[("delete_all", ""), ("read", "")])]);
    let section = servers.section().summary("S.").visibility(Visibility::Summary).policy(Policy::deny(["delete_*"]));
    let prompt = Prompt::new().section(section).build().expect("the section is right");
    let read = rendered(&prompt, &PromptState::new()).read_section("mcp");
    assert!(read.success && read.message.ends_with("### s\n\n- `s_read`"), "{}", read.message);
}

#[test]
fn internal_server_names_are_reserved() {
    for name in ["program", "sections"] {
        let section = Section::new("a", "A").tool(tool("run")).server(server(name, &[("run", "")]));
        let built = Prompt::new().reserved([""; 0]).section(section).build();
        let error = built.expect_err("the name is taken").to_string();
        assert!(error.contains("reserved"), "{error}");
    }
}
