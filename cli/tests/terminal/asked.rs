//! Tests the prompts of each command at a terminal, and the cases without a prompt.

use crate::common::Project;
use crate::screen::Terminal;

fn with_snapshot(more: &str) -> Project {
    let project = Project::new(&format!("[servers.s]\ncommand = \"SERVER\"\nargs = [\"--github\"]\n{more}"));
    project.run(&["sync"]).exits_with(0);
    project
}

#[test]
fn learn_requires_confirmation_unless_the_tool_is_read_only() {
    let project = with_snapshot("");
    let question = "tool `create_issue` of server `s` is not marked read-only. Call it once? [y/N]";
    let words = ["learn", "s", "create_issue", "--args", r#"{"owner":"o","repo":"r","title":"It broke"}"#];
    for answer in ["n\n", "\n", "\u{4}"] {
        let mut terminal = Terminal::new(&project, 100, &words);
        terminal.shows(question).types(answer);
        let ended = terminal.ends();
        assert_eq!(ended.code, Some(1), "{answer:?}");
        assert!(ended.written.ends_with("error: nothing was called, and nothing learned\n"), "{}", ended.written);
        assert!(!ended.written.contains("Calling") && !project.path("mcp/s.overrides.json").exists());
    }
    let mut terminal = Terminal::new(&project, 100, &words);
    terminal.shows(question).types("y\n");
    let ended = terminal.ends();
    assert_eq!(ended.code, Some(0), "{}", ended.written);
    assert!(ended.written.contains("     Calling s/create_issue (1 of 1)\n"), "{}", ended.written);
    assert!(project.read("mcp/s.overrides.json").contains("create_issue"));
    // Twice is said, and so is why.
    let project = with_snapshot("approve = [\"create_*\"]\n");
    let twice = [&words[..], &["--args", r#"{"owner":"o","repo":"r","title":"It broke twice"}"#]].concat();
    let mut terminal = Terminal::new(&project, 100, &twice);
    terminal.shows("requires approval. Call it 2 times? [y/N]").types("no\n");
    assert_eq!(terminal.ends().code, Some(1));
}

#[test]
fn remove_requires_confirmation() {
    let project = with_snapshot("");
    let question = "Remove `s` from mcp.toml, mcp/s.json? [y/N]";
    let before = project.read("mcp.toml");
    let mut terminal = Terminal::new(&project, 100, &["remove", "s"]);
    terminal.shows(question).types("n\n");
    let ended = terminal.ends();
    assert!(ended.code == Some(1) && ended.written.ends_with("error: nothing was removed\n"), "{}", ended.written);
    assert!(project.read("mcp.toml") == before && project.path("mcp/s.json").exists());
    let mut terminal = Terminal::new(&project, 100, &["remove", "s"]);
    terminal.shows(question).types("y\n");
    assert_eq!(terminal.ends().code, Some(0));
    assert!(project.read("mcp.toml").is_empty() && !project.path("mcp/s.json").exists());
}

#[test]
fn import_offers_a_selection() {
    let project = Project::empty();
    let servers = r#"{"mcpServers": {"First One": {"command": "a"}, "second": {"command": "b\u001b[2J"}, "third": {"url": "https://c.example/mcp"}}}"#;
    project.write("servers.json", servers);
    let words = ["import", "--from", "servers.json"];
    let choose = |answer: &str| {
        let mut terminal = Terminal::new(&project, 80, &words);
        terminal.shows("Servers to import: numbers (1 3-5), `all`, or Enter for none:").types(answer);
        terminal.ends()
    };
    let none = choose("\n");
    assert!(none.code == Some(0) && none.written.contains("Finished nothing was imported"), "{}", none.written);
    assert!(!none.written.contains('\u{1b}') && none.lines[0].starts_with("  1  First One"), "{:#?}", none.lines);
    let wrong = choose("7\n");
    assert!(wrong.code == Some(2) && !project.path("mcp.toml").exists(), "{}", wrong.written);
    let some = choose("1 3\n");
    assert_eq!(some.code, Some(0), "{}", some.written);
    let config = project.read("mcp.toml");
    assert!(config.contains("[servers.first-one]") && config.contains("[servers.third]"), "{config}");
    assert!(!config.contains("second"), "{config}");
}

/// A prompt that scripts run into is one that nobody answers.
#[test]
fn questions_require_a_terminal_and_never_come_from_init_or_add() {
    let project = with_snapshot("");
    project.write("servers.json", r#"{"mcpServers": {"a": {"command": "a"}}}"#);
    let learn = ["learn", "s", "create_issue", "--args", r#"{"owner":"o","repo":"r","title":"It broke"}"#];
    for (words, code, said) in [
        (&["import", "--from", "servers.json"][..], 2, "specify the servers"),
        (&learn, 1, "call it anyway with `--yes`"),
    ] {
        let mut command = project.command();
        command.args(words).env("NO_COLOR", "1");
        // Somebody sees, and cannot answer.
        let ended = Terminal::of(command, 80, [false, true, true]).ends();
        assert!(ended.code == Some(code) && ended.written.contains(said), "{:?}: {}", ended.code, ended.written);
    }
    let empty = Project::empty();
    for words in [&["init", "--no-dependency"][..], &["add", "x", "--command", "x", "--no-sync"]] {
        let ended = Terminal::new(&empty, 80, words).ends();
        assert!(ended.code == Some(0) && !ended.written.contains('?'), "{}", ended.written);
    }
}
