//! Tests progress bars while servers are contacted, and that the bars disappear.

use crate::common::Project;
use crate::screen::Terminal;

/// Servers that answer once there is a file of their name.
fn waiting(names: &[String]) -> Project {
    let table = |name: &String| {
        let wait = format!("until [ -e {name}.go ]; do sleep 0.02; done; exec SERVER");
        format!("[servers.{name}]\ncommand = \"sh\"\nargs = [\"-c\", \"{wait}\"]\n")
    };
    Project::new(&names.iter().map(table).collect::<String>())
}

/// The bars among the lines, without the time that they show.
fn bars(lines: &[String]) -> Vec<String> {
    let is_bar = |line: &&String| line.contains("Asking ");
    lines.iter().filter(is_bar).map(|line| line.split("what it").next().unwrap().trim_end().to_owned()).collect()
}

#[test]
fn servers_are_synced_concurrently_and_bars_are_removed() {
    for columns in [80, 40] {
        let names = ["a", "b", "c"].map(String::from);
        let project = waiting(&names);
        let mut terminal = Terminal::new(&project, columns, &["sync"]);
        terminal.until("three bars", |lines| bars(lines).len() == 3);
        let asking = names.clone().map(|name| format!("      Asking {name}"));
        assert_eq!(bars(&terminal.lines()), asking);
        // Finished servers appear above the pending ones.
        project.write("b.go", "");
        terminal.shows("Created mcp/b.json").until("two bars", |lines| bars(lines) == [&*asking[0], &*asking[2]]);
        assert_eq!(terminal.lines()[0], "     Created mcp/b.json (10 tools of b)");
        project.write("a.go", "");
        terminal.shows("Created mcp/a.json").until("one bar", |lines| bars(lines) == [&*asking[2]]);
        project.write("c.go", "");
        let ended = terminal.ends();
        let created = ["b", "a", "c"].map(|name| format!("     Created mcp/{name}.json (10 tools of {name})"));
        let finished = "    Finished 3 servers asked: 3 created".to_owned();
        assert_eq!(ended.lines, created.into_iter().chain([finished]).collect::<Vec<_>>());
        assert_eq!((ended.code, ended.is_cursor_hidden), (Some(0), false));
    }
}

#[test]
fn many_bars_with_long_names_leave_no_lines() {
    let names: Vec<String> = (10..40).map(|n| format!("a-server-with-a-name-that-is-long-{n}")).collect();
    let project = waiting(&names);
    let mut terminal = Terminal::new(&project, 40, &["sync"]);
    terminal.until("a screen of bars", |lines| bars(lines).len() > 15);
    // No bar takes two lines. The last one may still be on its way.
    let mut lines = terminal.lines();
    lines.pop();
    assert!(lines.iter().all(|line| line.is_empty() || line.starts_with("      Asking a-server-with")), "{lines:#?}");
    names.iter().for_each(|name| project.write(&format!("{name}.go"), ""));
    let ended = terminal.ends();
    assert_eq!(ended.code, Some(0));
    assert_eq!(bars(&ended.lines), [""; 0], "{:#?}", ended.lines);
    assert!(ended.lines.concat().ends_with("    Finished 30 servers asked: 30 created"), "{:#?}", ended.lines);
    for name in &names {
        assert_eq!(ended.written.matches(&format!("Created mcp/{name}.json")).count(), 1);
    }
}

#[test]
fn check_output_contains_no_bars() {
    let project = Project::new("[servers.a]\ncommand = \"SERVER\"\n[servers.b]\ncommand = \"./no-such-program\"\n");
    let ended = Terminal::new(&project, 80, &["check"]).ends();
    assert_eq!(ended.code, Some(5));
    let said = ended.lines.join("\n");
    assert_eq!(bars(&ended.lines), [""; 0], "{said}");
    assert!(
        said.contains("error: a has no snapshot\n --> mcp/a.json\n") && said.contains("error: b: failed to start"),
        "{said}"
    );
    assert!(said.ends_with("    Finished 2 servers checked: 1 out of date, 1 failed"), "{said}");
}

#[test]
fn dumb_terminal_shows_lines_without_bars() {
    let project = Project::new("[servers.a]\ncommand = \"SERVER\"\n");
    let expected = "      Asking a what it offers\n     Created mcp/a.json (10 tools of a)\n    Finished 1 server asked: 1 created\n";
    let mut dumb = project.command();
    dumb.arg("sync").env("TERM", "dumb");
    let ended = Terminal::of(dumb, 80, [true; 3]).ends();
    assert_eq!((ended.written.as_str(), ended.code), (expected, Some(0)));
    project.write("mcp/a.json", "{}");
    let quiet = Terminal::new(&project, 80, &["-q", "sync"]).ends();
    assert_eq!((quiet.written.as_str(), quiet.code), ("", Some(0)));
}
