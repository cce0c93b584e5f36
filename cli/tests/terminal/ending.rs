//! Ctrl-C, signals, and a window that closes, while something is asked or under way.

use std::fs;
use std::time::{Duration, Instant};

use crate::common::Project;
use crate::screen::{Ended, Terminal};

/// How a program ends that is told to, as a shell reports it.
fn reported(ended: &Ended) -> Option<i32> {
    ended.code.or_else(|| ended.signal.map(|signal| 128 + signal))
}

/// How many processes were started with this in their environment.
pub(crate) fn carriers(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("environ"));
    processes.filter(|file| String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).contains(mark)).count()
}

#[track_caller]
pub(crate) fn wait_until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Three servers: one answers, one never does, one does not even end when it is asked to.
fn project(mark: &str) -> Project {
    Project::new(&format!(
        "[servers.a]\ncommand = \"SERVER\"\n\
         [servers.b]\ncommand = \"SERVER\"\nargs = [\"--misbehave\", \"deaf\"]\nenv = {{ MARK = \"{mark}\" }}\n\
         [servers.c]\ncommand = \"sh\"\nargs = [\"-c\", \"trap '' INT TERM HUP; exec SERVER --misbehave deaf\"]\nenv = {{ MARK = \"{mark}\" }}\n"
    ))
}

#[test]
fn interrupted_sync_leaves_whole_files_no_process_and_a_clean_terminal() {
    for (how, code) in [("\u{3}", 130), ("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let mark = format!("sync-{code}-{}-{}", how.len(), std::process::id());
        let project = project(&mark);
        let mut terminal = Terminal::with_session(&project, &["sync"]);
        terminal.shows("Created mcp/a.json").shows("Asking b");
        wait_until(|| carriers(&mark) == 2);
        if code == 130 && how.len() == 1 {
            terminal.types(how)
        } else {
            terminal.kill(how)
        };
        let ended = terminal.ends();
        assert_eq!(ended.code, Some(code), "{how}: {}", ended.lines.join("\n"));
        // The terminal shows a typed Ctrl-C behind the last line, and what is cleared then is a line too little.
        let ghosts = ended.lines.iter().filter(|line| line.contains("Asking")).count();
        assert!(ghosts <= usize::from(how == "\u{3}"), "{:#?}", ended.lines);
        assert!(!ended.is_cursor_hidden);
        wait_until(|| carriers(&mark) == 0);
        let files: Vec<_> = fs::read_dir(project.path("mcp")).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(files, ["a.json"], "{how}");
        project.run(&["check", "a"]).exits_with(0);
    }
}

#[test]
fn closed_window_ends_the_command_and_its_servers() {
    let mark = format!("window-{}", std::process::id());
    let project = project(&mark);
    let mut terminal = Terminal::with_session(&project, &["sync"]);
    terminal.shows("Created mcp/a.json");
    wait_until(|| carriers(&mark) == 2);
    assert_eq!(terminal.closes(), (Some(129), None));
    wait_until(|| carriers(&mark) == 0);
}

#[test]
fn interrupted_question_has_no_effect() {
    let config = "[servers.s]\ncommand = \"SERVER\"\napprove = [\"make_*\"]\n";
    for (words, question) in [
        (&["call", "s", "make_report"][..], "Call it? [y/N]"),
        (&["call", "s", "echo_arguments", "-i"], "text (<STRING>, required):"),
        (&["learn", "s", "save_settings", "--args", r#"{"settings":{}}"#], "[y/N]"),
        (&["import", "--from", "servers.json"], "or Enter for none:"),
    ] {
        for (how, code) in [("\u{3}", 130), ("TERM", 143), ("HUP", 129)] {
            let mark = format!("asked-{code}-{}-{}", words[0], std::process::id());
            let project = Project::new(&format!("{config}env = {{ MARK = \"{mark}\" }}\n"));
            project.run(&["sync"]).exits_with(0);
            project.write("servers.json", r#"{"mcpServers": {"a": {"command": "a"}}}"#);
            let before = project.read("mcp.toml");
            let mut terminal = Terminal::with_session(&project, words);
            terminal.shows(question);
            if code == 130 {
                terminal.types(how)
            } else {
                terminal.kill(how)
            };
            let ended = terminal.ends();
            assert_eq!(reported(&ended), Some(code), "{words:?} {how}: {}", ended.lines.join("\n"));
            assert!(!ended.is_cursor_hidden && !ended.written.contains("All is well"), "{}", ended.written);
            wait_until(|| carriers(&mark) == 0);
            assert_eq!(project.read("mcp.toml"), before);
            assert!(!project.path("mcp/s.overrides.json").exists());
        }
    }
}
