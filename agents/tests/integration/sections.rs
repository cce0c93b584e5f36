//! Tests the rules for sections, case by case, and how a prompt renders them.
//!
//! `SNAPSHOTS=overwrite cargo test -p mcp-bindgen-agents --test integration` writes the golden texts anew.

use std::collections::BTreeMap;

use crate::support::{self, *};
use mcp_bindgen_agents::{
    McpSection, Prompt, PromptError, PromptParams, PromptState, PromptWarning, RenderError, Section, SectionServer,
    Toolset, Visibility,
};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::middleware::{Policy, SequentialDependency};

fn golden(name: &str, text: &str) {
    support::assert_golden(name, &format!("{text}\n"));
}

fn triage() -> Prompt {
    let issues = [("list_issues", "Lists issues. With filters."), ("merge", "Merges a pull request.")];
    Prompt::new()
        .section(
            Section::with_params::<Repo>("task", "Task")
                .template("\nTriage the issues of {{ owner }}/{{ name }}.\n")
                .tool(tool("take_note")),
        )
        .section(
            Section::new("integrations", "Integrations")
                .template("What follows is at hand.")
                .child(
                    Section::new("github", "GitHub")
                        .template("Read before you write.")
                        .server(server("github", &issues)),
                )
                .child(
                    Section::new("old", "Old").template("Gone.").enabled(|_, _| false).server(server("old", &issues)),
                )
                .child(
                    Section::with_params::<Database>("database", "Database")
                        .template("At {{ path }}.{% if writable %} You may write.{% endif %}")
                        .default_params(Database { path: "/data/app.db".to_owned(), writable: false })
                        .enabled(|database, _| !database.path.is_empty()),
                ),
        )
        .section(
            Section::new("advanced", "Advanced Tools")
                .template("For complex operations.")
                .summary("Files and queries.")
                .visibility(Visibility::Summary)
                .child(
                    Section::new("fs", "Files")
                        .template("All below /data.")
                        .server(server("fs", &[("read", "Reads.")])),
                )
                .child(
                    Section::new("sql", "Queries")
                        .template("Be careful.")
                        .summary("SQL.")
                        .visibility(Visibility::Summary)
                        .server(server("sql", &[("query", "Queries.")])),
                ),
        )
        .section(
            Section::new("style", "Style")
                .template("Be brief.")
                .summary("How to write.")
                .visibility(Visibility::Summary),
        )
        .build()
        .expect("the sections are right")
}

fn repo() -> PromptParams {
    PromptParams::new().with(Repo { owner: "rust-lang".to_owned(), name: "rust".to_owned() })
}

#[tokio::test]
async fn prompt_matches_its_golden() {
    let prompt = triage();
    let closed = prompt.render(&repo(), &PromptState::new()).expect("it renders");
    golden("closed.md", closed.text());
    let first = offered(&closed).await;
    assert_eq!(first, ["open_sections", "read_section", "take_note", "github/list_issues", "github/merge"]);

    let opened = closed.open_sections(&["advanced".to_owned()], "files are needed");
    let open = prompt.render(&repo(), &opened.state).expect("it renders");
    golden("opened.md", &opened.reply.message);
    assert_eq!(open.text(), closed.text());
    let second = offered(&open).await;
    assert_eq!(second[..first.len()], first[..], "what the model knew stays where it was");
    assert_eq!(second[first.len()..], ["fs/read"], "its child is closed still");

    let opened = open.open_sections(&["advanced.sql".to_owned()], "a query");
    let third = offered(&prompt.render(&repo(), &opened.state).expect("it renders")).await;
    assert_eq!(third[..second.len()], second[..]);
    assert_eq!(third[second.len()..], ["sql/query"]);
}

#[test]
fn disabled_section_is_omitted_but_keeps_its_number() {
    let rendered = triage().render(&repo(), &PromptState::new()).expect("it renders");
    assert!(rendered.text().contains("### 2.3. Database") && !rendered.text().contains("2.2."), "{}", rendered.text());
    assert!(rendered.servers().iter().all(|server| server.name() != "old"));

    let below = Prompt::new()
        .section(
            Section::new("off", "Off")
                .enabled(|_, state| state.fact("on") == true)
                .tool(tool("of_parent"))
                .child(Section::new("below", "Below").tool(tool("of_child")).server(server("s", &[]))),
        )
        .build()
        .expect("the sections are right");
    let off = support::rendered(&below, &PromptState::new());
    assert_eq!((off.text(), off.tools().len(), off.servers().len()), ("", 0, 0));
    let on = support::rendered(&below, &PromptState::new().with_fact("on", true));
    assert_eq!((on.tools().len(), on.servers().len()), (2, 1), "by the state");
}

#[test]
fn enabled_depends_on_the_parameters() {
    let params = |path: &str| repo().with(Database { path: path.to_owned(), writable: true });
    let text = |path| triage().render(&params(path), &PromptState::new()).expect("it renders").text().to_owned();
    assert!(text("/x.db").contains("At /x.db. You may write."));
    assert!(!text("").contains("Database"));
}

#[test]
fn parameters_are_found_by_their_type() {
    let section = |key: &str| Section::with_params::<Repo>(key, "S").template("{{ owner }}");
    let text = |prompt: Prompt, params: PromptParams| {
        prompt.render(&params, &PromptState::new()).map(|rendered| rendered.text().replace('\n', " "))
    };
    let of = |owner: &str| Repo { owner: owner.to_owned(), name: String::new() };
    let built =
        |section: Section<Repo>, other: Section<Repo>| Prompt::new().section(section).section(other).build().unwrap();
    let own = || built(section("a").default_params(of("one")), section("b").default_params(of("two")));
    assert_eq!(text(own(), PromptParams::new()).unwrap(), "## 1. S (a)  one  ## 2. S (b)  two", "their own defaults");
    let bound = text(own(), PromptParams::new().with(of("given"))).unwrap();
    assert_eq!(bound, "## 1. S (a)  given  ## 2. S (b)  given", "what is given comes before defaults");
    let first = text(built(section("a"), section("b").default_params(of("first"))), PromptParams::new()).unwrap();
    assert_eq!(first, "## 1. S (a)  first  ## 2. S (b)  first", "else the first default of that type");
    let made = text(built(section("a").or_default(), section("b").or_default()), PromptParams::new()).unwrap();
    assert_eq!(made, "## 1. S (a)  ## 2. S (b)", "else one without arguments");

    let missing = text(built(section("a"), section("b")), PromptParams::new()).expect_err("there is none");
    assert!(matches!(&missing, RenderError::MissingParams { section, .. } if section == "a"), "{missing}");
    let twice = text(own(), PromptParams::new().with(of("1")).with(of("2"))).expect_err("two of a type");
    assert!(matches!(twice, RenderError::RepeatedParams { .. }), "{twice}");
    let unknown = text(own(), PromptParams::new().with(BTreeMap::<String, u8>::new())).expect_err("nobody wants it");
    assert!(matches!(unknown, RenderError::UnknownParams { .. }), "{unknown}");
}

#[test]
fn parameters_are_not_interpreted_as_templates() {
    let prompt = Prompt::new()
        .section(Section::with_params::<Repo>("a", "A").template("{{ owner }}\n{{ owner|line }}"))
        .build()
        .expect("the sections are right");
    let hostile =
        Repo { owner: "{{ name }} {% include 'x' %}\n## 9. Forged (x)".to_owned(), name: "secret".to_owned() };
    let rendered = prompt.render(&PromptParams::new().with(hostile), &PromptState::new()).expect("it renders");
    let lines: Vec<&str> = rendered.text().lines().collect();
    assert_eq!(lines[2], "{{ name }} {% include 'x' %}", "it is printed as it is");
    assert_eq!(
        lines[4], "\\{\\{ name \\}\\} \\{\\% include 'x' %\\} ## 9. Forged (x)",
        "the filter makes one line of it"
    );
    assert!(!rendered.text().contains("secret"));
}

#[test]
fn visibility_is_constant_computed_or_overridden() {
    let prompt = Prompt::new()
        .section(
            Section::with_params::<Database>("a", "A")
                .template("all")
                .summary("short of {{ path }}")
                .or_else_default()
                .visibility_by(|database, state| match database.writable || state.fact("phase") == "write" {
                    true => Visibility::Full,
                    false => Visibility::Summary,
                }),
        )
        .build()
        .expect("the sections are right");
    let text = |writable, state: &PromptState| {
        let params = PromptParams::new().with(Database { path: "/x".to_owned(), writable });
        prompt.render(&params, state).expect("it renders").text().to_owned()
    };
    assert!(text(false, &PromptState::new()).contains("short of /x"));
    assert!(text(true, &PromptState::new()).ends_with("all"), "by the parameters");
    assert!(text(false, &PromptState::new().with_fact("phase", "write")).ends_with("all"), "by the state");
    let forced = text(true, &PromptState::new().with_visibility("a", Visibility::Summary));
    assert!(forced.ends_with("short of /x"), "the program's word is the last, and no call is named: {forced}");
}

/// A default that no test looks at.
trait OrElseDefault {
    fn or_else_default(self) -> Self;
}

impl OrElseDefault for Section<Database> {
    fn or_else_default(self) -> Self {
        self.default_params(Database { path: "/default".to_owned(), writable: false })
    }
}

#[test]
fn summary_visibility_without_a_summary_is_an_error() {
    let prompt = Prompt::new().section(Section::new("a", "A").template("all")).build().expect("the sections are right");
    let state = PromptState::new().with_visibility("a", Visibility::Summary);
    let error = prompt.render(&PromptParams::new(), &state).expect_err("it has none");
    assert_eq!(error, RenderError::NoSummary { section: "a".to_owned() });
}

fn problems(build: Result<Prompt, PromptError>) -> String {
    build.expect_err("the sections are wrong").to_string()
}

#[test]
fn all_problems_are_reported_together() {
    let wrong = Prompt::new()
        .section(Section::new("a", "A").template("{{ nowhere }} {% if %}"))
        .section(Section::new("a", "Again").template("{{ nowhere }}"))
        .section(Section::new("a.b", "Dotted"))
        .section(Section::new("b", " "))
        .section(Section::new("c", "C\n## 1. Forged"))
        .section(Section::new("d", "D").visibility(Visibility::Summary))
        .section(Section::new("e", "E").summary("  "))
        .section(Section::new("f", "F").visibility_by(|(), _| Visibility::Full))
        .section(Section::new("g", "G").child(Section::new("h", "H").child(Section::new("g", "G"))))
        .section(Section::new("i", "I").policy(Policy::read_only()))
        .section(Section::new("j", "J").server(server("s", &[])).server(server("s", &[])))
        .section(Section::new("k", "K").server(server("Not A Name", &[])))
        .section(Section::new("l", "L").server(SectionServer::caller("mute", Echo::default())))
        .section(Section::new("m", "M").tool(tool("same")).child(Section::new("n", "N").tool(tool("same"))))
        .section(Section::new("o", "O").tool(tool("no name")))
        .section(McpSection::new([server("t", &[])]).key("p").template("{{ tool_names }}"))
        .section(Section::with_params::<Repo>("q", "Q").summary("{{ ownr }}"))
        .build()
        .expect_err("the sections are wrong");
    let wanted = [
        "`a` has a template that does not compile",
        "`a` has the same key as a sibling",
        "`a` has a template that uses the unknown parameter `nowhere`",
        "`a.b` has an invalid key",
        "`b` has no single-line title",
        "`c` has no single-line title",
        "`d` may be shown as a summary, but has none",
        "`e` has a summary without text",
        "`f` may be shown as a summary, but has none",
        "`g.h.g` is inside a section with the same key",
        "`i` has policies or layers, but no servers or functions",
        "`j` declares server `s` twice",
        "invalid server name `Not A Name`",
        "the tools of `mute`",
        "`m.n` has a tool `same`, which section `m` also has",
        "`o` has a tool `no name`, a name that some providers refuse",
        "`p` has a template that uses the unknown parameter `tool_names`; there are `instructions_by_server`",
        "`q` has a summary that uses the unknown parameter `ownr`; did you mean `owner`?",
    ];
    for wanted in wanted {
        assert!(wrong.problems().iter().any(|problem| problem.contains(wanted)), "{wanted}:\n{wrong}");
    }
    assert_eq!(wrong.problems().len(), wanted.len(), "{wrong}");
}

#[test]
fn section_nesting_is_bounded() {
    let nested = (0..40)
        .rev()
        .fold(Section::new("last", "Last"), |child, depth| Section::new(format!("s{depth}"), "S").child(child));
    let error = problems(Prompt::new().section(nested).build());
    assert!(error.contains("more than 16 levels"), "{error}");
}

#[test]
fn reserved_names_are_refused_at_every_level() {
    let wink = || server("wink", &[]);
    let levels = [
        Prompt::new().section(Section::new("a", "A").server(wink())).build(),
        Prompt::new().section(Section::new("a", "A").child(Section::new("b", "B").server(wink()))).build(),
        Prompt::new().section(Section::new("a", "A").enabled(|(), _| false).server(wink())).build(),
        Prompt::new().section(McpSection::new([wink()])).build(),
        Prompt::new().section(Section::new("a", "A").tool(tool("wink"))).build(),
        Prompt::new().section(Section::new("a", "A").child(Section::new("b", "B").tool(tool("sections")))).build(),
        Prompt::new().section(Section::new("a", "A").tool(tool("open_sections"))).build(),
        Prompt::new().section(Section::new("a", "A").tool(tool("call_tool"))).build(),
        Prompt::new().reserved(["own-*"]).section(Section::new("a", "A").server(server("own-x", &[]))).build(),
    ];
    let count = levels.len();
    for (index, level) in levels.into_iter().enumerate() {
        let error = problems(level);
        assert!(error.contains("reserved"), "{index}: {error}");
    }
    println!("{count} levels refuse reserved names");
    let dynamic = Prompt::new()
        .section(Section::new("a", "A").servers_from(|()| [ServerConfig::stdio("wink", "x")]))
        .build()
        .expect("its servers are not known yet");
    let error = dynamic.render(&PromptParams::new(), &PromptState::new()).expect_err("it is reserved");
    assert!(matches!(&error, RenderError::Server { section, .. } if section == "a"), "{error}");
    Prompt::new().reserved([""; 0]).section(Section::new("a", "A").server(wink())).build().expect("it is free now");
}

#[tokio::test]
async fn first_server_of_a_name_is_used() {
    let git = |command: &str| ServerConfig::stdio("git", command);
    let both = |first: SectionServer, second: SectionServer| {
        let prompt = Prompt::new()
            .section(Section::new("a", "A").server(first))
            .section(Section::new("b", "B").server(second))
            .build()
            .expect("the sections are right");
        rendered(&prompt, &PromptState::new())
    };
    let same = both(git("one").into(), git("one").into());
    assert_eq!((same.servers().len(), same.warnings()), (1, &[][..]), "the same twice is one");

    let differ = both(git("one").into(), git("two").into());
    assert_eq!(differ.servers().len(), 1);
    assert_eq!(differ.servers()[0].config(), Some(&git("one")));
    let [warning @ PromptWarning::DuplicateServer { .. }] = differ.warnings() else {
        panic!("{:?}", differ.warnings())
    };
    assert_eq!(
        warning.to_string(),
        "server `git` of section `b` is not used: section `a` declares one with that name, with another command"
    );

    let tools = offers(&[("log", ""), ("push", ""), ("tag", "")]);
    let part = |globs: &[&str]| SectionServer::from(git("one")).snapshot(tools.clone()).only(globs.iter().copied());
    let parts = both(part(&["log", "tag"]), part(&["push", "tag"]));
    assert_eq!(offered(&parts).await, ["git/log", "git/tag", "git/push"], "each section adds its tools of one server");
}

#[tokio::test]
async fn servers_depend_on_parameters_and_reuse_connections() {
    let declare = |database: &Database| {
        let server = ServerConfig::uvx("sqlite", "mcp-server-sqlite").args(["--db", &database.path]);
        (!database.path.is_empty()).then_some(server)
    };
    let prompt = Prompt::new()
        .section(Section::with_params::<Database>("db", "DB").servers_from(declare))
        .build()
        .expect("the sections are right");
    let of = |path: &str| {
        let params = PromptParams::new().with(Database { path: path.to_owned(), writable: false });
        prompt.render(&params, &PromptState::new()).expect("it renders")
    };
    let (one, again, other) = (of("/a.db"), of("/a.db"), of("/b.db"));
    let same = |a: &mcp_bindgen_agents::RenderedPrompt, b: &mcp_bindgen_agents::RenderedPrompt| {
        std::sync::Arc::ptr_eq(&a.servers()[0].caller(), &b.servers()[0].caller())
    };
    assert_eq!(
        one.servers()[0].config(),
        Some(&ServerConfig::uvx("sqlite", "mcp-server-sqlite").args(["--db", "/a.db"]))
    );
    assert!(same(&one, &again) && !same(&one, &other));
    assert!(same(&one, &of("/a.db")), "as long as somebody has it");
    assert!(of("").servers().is_empty());
    let twice = Prompt::new()
        .section(
            Section::new("a", "A").servers_from(|()| [ServerConfig::stdio("s", "x"), ServerConfig::stdio("s", "y")]),
        )
        .build()
        .expect("its servers are not known yet");
    twice.render(&PromptParams::new(), &PromptState::new()).expect_err("two servers of one name");
}

#[tokio::test]
async fn section_policies_govern_its_servers() {
    let echo = Echo::default();
    let files = SectionServer::caller("files", echo.clone()).snapshot(offers(&[
        ("read", ""),
        ("delete_all", ""),
        ("sync", ""),
    ]));
    let after_read = SequentialDependency::new("sync", ["read"]);
    let prompt = Prompt::new()
        .section(
            Section::new("strict", "Strict")
                .summary("Closed.")
                .visibility(Visibility::Summary)
                .server(files.clone())
                .policy(Policy::deny(["delete_*"])),
        )
        .section(Section::new("open", "Open").server(files).layers(move |stack| stack.sequential(after_read.clone())))
        .build()
        .expect("the sections are right");
    let first = rendered(&prompt, &PromptState::new());
    let caller = first.servers()[0].caller();
    assert_eq!(call(&caller, "files", "delete_all").await.expect("nobody denies it yet"), "delete_all");
    call(&caller, "files", "sync").await.expect_err("read has to come first");
    call(&caller, "files", "read").await.expect("nothing is against it");
    let again = rendered(&prompt, &PromptState::new());
    call(&again.servers()[0].caller(), "files", "sync").await.expect("rendering anew forgets nothing");

    let opened = first.open_sections(&["strict".to_owned()], "");
    let second = rendered(&prompt, &opened.state);
    assert_eq!(second.servers().len(), 1);
    let governed = second.servers()[0].caller();
    call(&governed, "files", "sync").await.expect("what was read is known to both");
    let denied = call(&governed, "files", "delete_all").await.expect_err("both sections govern it now");
    assert!(denied.to_string().contains("delete_*"), "{denied}");
    assert_eq!(echo.calls.load(std::sync::atomic::Ordering::Relaxed), 4);
}

#[test]
fn template_error_includes_its_section_and_line() {
    let prompt = Prompt::new()
        .section(
            Section::with_params::<Repo>("a", "A")
                .child(Section::with_params::<Repo>("b", "B").template("one\n{{ owner.nothing.more }}")),
        )
        .build()
        .expect("that there is no such field is not known before");
    let error = prompt.render(&repo(), &PromptState::new()).expect_err("there is no such field");
    let said = error.to_string();
    assert!(said.contains("the template of section `a.b`") && said.contains("line 2"), "{said}");

    let list = Prompt::new().section(Section::with_params::<Vec<String>>("v", "V").template("x").or_default()).build();
    let error = list.expect("it has no placeholders").render(&PromptParams::new(), &PromptState::new());
    assert!(matches!(error, Err(RenderError::Params { .. })), "a list has no names");
}

#[test]
fn debug_output_hides_secrets() {
    let config = ServerConfig::stdio("s", "x").env("TOKEN", "hunter2").args(["--key=hunter2"]);
    let section = Section::with_params::<Repo>("a", "A")
        .template("{{ owner }}")
        .default_params(Repo { owner: "hunter2".to_owned(), name: String::new() })
        .server(config.clone());
    let mut shown = format!("{section:?}");
    let prompt = Prompt::new()
        .section(section)
        .section(Section::new("b", "B").server(ServerConfig::stdio("s", "x").args(["--key=other-hunter2"])))
        .build()
        .expect("the sections are right");
    let rendered = rendered(&prompt, &PromptState::new());
    assert!(rendered.text().contains("hunter2"), "the template asked for it");
    shown += &format!("{prompt:?} {rendered:?} {:?} {}", rendered.warnings(), rendered.warnings()[0]);
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[tokio::test]
async fn cloned_section_has_separate_parameters_and_a_shared_server() {
    let repo = |owner: &str| Repo { owner: owner.to_owned(), name: "it".to_owned() };
    let section = Section::with_params::<Repo>("one", "One")
        .template("{{ owner }}")
        .server(server("git", &[("log", "Shows commits.")]))
        .enabled(|repo: &Repo, _| repo.owner != "nobody");
    let other = section.clone().key("other").title("Other").own_params(repo("rust-lang"));
    let hidden = section.clone().key("hidden").own_params(repo("nobody"));
    let prompt = Prompt::new().section(section).section(other).section(hidden).build().unwrap();
    let params = PromptParams::new().with(repo("ada"));
    let rendered = prompt.render(&params, &PromptState::new()).unwrap();
    assert_eq!(rendered.text(), "## 1. One (one)\n\nada\n\n## 2. Other (other)\n\nrust-lang");
    assert_eq!(rendered.servers().len(), 1);
    assert!(rendered.warnings().is_empty());

    let alone = Section::with_params::<Repo>("own", "Own").template("{{ owner }}").own_params(repo("ada"));
    let prompt = Prompt::new().section(alone).build().unwrap();
    let rendered = prompt.render(&PromptParams::new(), &PromptState::new()).unwrap();
    assert_eq!(rendered.text(), "## 1. Own (own)\n\nada");
    assert!(prompt.render(&params, &PromptState::new()).is_err(), "nothing takes these parameters");
}

#[tokio::test]
async fn base_tools_come_first_and_keep_their_names() {
    let base = Toolset::builder()
        .function("note", "Notes.", async |_: Nothing| Ok::<_, String>("base"))
        .function("read", "Reads.", async |_: Nothing| Ok::<_, String>("base"))
        .build()
        .unwrap();
    let section = Section::new("git", "Git").server(server("git", &[("log", "Shows commits.")])).tool(tool("git_log_"));
    let prompt = Prompt::new().section(section).build().unwrap();
    let rendered = prompt.render(&PromptParams::new(), &PromptState::new()).unwrap();
    let (toolset, _) = rendered.toolset_on(&base).await.unwrap();
    assert_eq!(toolset.names().collect::<Vec<_>>(), ["note", "read", "git_log_", "git_log"]);
    let twice = Prompt::new().section(Section::new("note", "Note").tool(tool("note"))).build().unwrap();
    let rendered = twice.render(&PromptParams::new(), &PromptState::new()).unwrap();
    let error = rendered.toolset_on(&base).await.unwrap_err().to_string();
    assert!(error.contains("note"), "{error}");
}

#[test]
fn servers_become_a_host_configuration_or_are_reported() {
    use mcp_bindgen_agents::Host;
    use mcp_bindgen_model::Isolation;
    let known = |config: ServerConfig| SectionServer::from(config).snapshot(offers(&[("read", "R."), ("write", "W.")]));
    let remote = ServerConfig::http("remote", "https://${HOST:-x.org}/mcp").header("Authorization", "Bearer ${TOKEN}");
    let files =
        ServerConfig::npm("files", "fs").args(["--root", "/"]).env("KEY", "${FS_KEY}").inherit_env(["HTTPS_PROXY"]);
    let secret = ServerConfig::stdio("secret", "s").env("API_KEY", "hunter2-and-more");
    let limit = mcp_bindgen_model::Rate::parse("10/s").unwrap();
    let prompt = Prompt::new()
        .section(Section::new("a", "A").server(known(remote)).server(known(files)).server(known(secret)))
        .section(Section::new("b", "B").server(known(ServerConfig::stdio("some", "s").exclude(["write"]))))
        .section(Section::new("c", "C").server(known(ServerConfig::stdio("few", "s")).only(["read"])))
        .section(Section::new("d", "D").server(known(ServerConfig::stdio("asks", "s").approve(["write"]))))
        .section(Section::new("e", "E").server(known(ServerConfig::stdio("boxed", "s").isolation(Isolation::new()))))
        .section(Section::new("f", "F").server(known(ServerConfig::stdio("ring", "s").env("K", "${keyring:K}"))))
        .section(
            Section::new("g", "G").server(known(ServerConfig::stdio("ruled", "s"))).policy(Policy::deny(["write"])),
        )
        .section(Section::new("h", "H").server(known(ServerConfig::http("inside", "https://x.org").ca("ca.pem"))))
        .section(Section::new("i", "I").server(known(ServerConfig::stdio("slow", "s").limit(limit))))
        .build()
        .unwrap();
    let rendered = prompt.render(&PromptParams::new(), &PromptState::new()).unwrap();
    let claude = rendered.host_config(Host::Claude);
    assert_eq!(
        claude.config["mcpServers"],
        serde_json::json!({
            "remote": { "type": "http", "url": "https://${HOST:-x.org}/mcp", "headers": { "Authorization": "Bearer ${TOKEN}" } },
            "files": {
                "type": "stdio", "command": "npx", "args": ["-y", "fs", "--root", "/"],
                "env": { "HTTPS_PROXY": "${HTTPS_PROXY:-}", "KEY": "${FS_KEY}" },
            },
            "secret": { "type": "stdio", "command": "s", "env": { "API_KEY": "${MCP_SECRET_SECRET_API_KEY}" } },
            "some": { "type": "stdio", "command": "s" },
            "few": { "type": "stdio", "command": "s" },
        })
    );
    let of =
        |names: &[String], server: &str| names.iter().filter(|name| name.contains(&format!("__{server}__"))).count();
    assert_eq!(["remote", "some", "few"].map(|server| of(&claude.allowed_tools, server)), [2, 1, 1]);
    assert_eq!(claude.disallowed_tools, ["mcp__some__write", "mcp__few__write"]);
    let left_out: Vec<&str> = claude.left_out.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(left_out, ["asks", "boxed", "ring", "ruled", "inside", "slow"], "{:?}", claude.left_out);

    let code = rendered.host_config(Host::VsCode);
    assert_eq!(code.config["servers"]["files"]["env"]["KEY"], "${env:FS_KEY}");
    assert_eq!(code.config["servers"]["files"]["env"]["HTTPS_PROXY"], "${env:HTTPS_PROXY}");
    let left_out: Vec<&str> = code.left_out.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        left_out,
        ["remote", "some", "few", "asks", "boxed", "ring", "ruled", "inside", "slow"],
        "{:?}",
        code.left_out
    );
    assert!(code.allowed_tools.is_empty() && !code.config.to_string().contains("hunter2"));
    assert!(rendered.host_config(Host::Cursor).config["mcpServers"]["files"].is_object());
}

#[test]
fn server_with_policies_or_selected_offers_is_left_out_of_a_host_configuration() {
    use mcp_bindgen_agents::Host;
    use mcp_bindgen_model::{PolicyEffect, PolicyRule};
    let config = || ServerConfig::stdio("files", "s");
    let restricted = [
        ("policy", config().policy(PolicyRule::new(["write"]).then(PolicyEffect::Deny))),
        ("resources", config().resources(["file:///docs/*"])),
        ("prompts", config().prompts(["review"])),
    ];
    for ((key, config), host) in
        restricted.iter().flat_map(|case| [Host::Claude, Host::Cursor, Host::VsCode].map(|host| (case, host)))
    {
        let server = SectionServer::from(config.clone()).snapshot(offers(&[("read", "R."), ("write", "W.")]));
        let prompt = Prompt::new().section(Section::new("a", "A").server(server)).build().unwrap();
        let hosted = prompt.render(&PromptParams::new(), &PromptState::new()).unwrap().host_config(host);
        assert!(hosted.allowed_tools.is_empty(), "{key}: {:?}", hosted.allowed_tools);
        let [(_, why)] = &hosted.left_out[..] else { panic!("{key} for {host:?} is not left out") };
        assert!(why.contains(&format!("`{key}`")), "{why}");
    }
}
