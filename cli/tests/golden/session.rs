//! A project, commands run in it one after the other, and the transcript of what they print.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use snapbox::Redactions;

use crate::common::{Project, Run, assert_golden, fixture_server};

/// The environment variables that a command inherits: those needed to start programs, and none that changes its
/// output.
const KEPT: [&str; 9] =
    ["CARGO", "CARGO_HOME", "LLVM_PROFILE_FILE", "PATH", "PATHEXT", "RUSTUP_HOME", "SYSTEMROOT", "TEMP", "TMPDIR"];

/// A server that answers, and one that there is not.
pub(crate) const DESK_AND_GONE: &str = r#"
[servers.desk]
command = "SERVER"
[servers.gone]
command = "./no-such-program"
"#;

pub(crate) struct Session {
    pub(crate) project: Project,
    redactions: Redactions,
    variables: Vec<(&'static str, String)>,
    transcript: String,
}

impl Session {
    /// In a project with this `mcp.toml`, in which `SERVER` stands for the fixture server's program.
    pub(crate) fn new(config: &str) -> Self {
        Self::of(Project::new(config))
    }

    pub(crate) fn empty() -> Self {
        Self::of(Project::empty())
    }

    fn of(project: Project) -> Self {
        let mut redactions = Redactions::new();
        let folder = project.path("");
        let text = |path: &Path| path.to_str().expect("the path is text").trim_end_matches('/').to_owned();
        redactions.insert("[CWD]", text(&folder)).unwrap();
        redactions.insert("[CWD]", text(&folder.canonicalize().unwrap())).unwrap();
        redactions.insert("[SERVER]", text(fixture_server())).unwrap();
        redactions.insert("[VERSION]", env!("CARGO_PKG_VERSION")).unwrap();
        Self { project, redactions, variables: Vec::new(), transcript: String::new() }
    }

    /// With a variable in the environment of every command from here on.
    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.to_owned()));
    }

    /// Writes this name in place of a value that differs from run to run.
    pub(crate) fn hide(&mut self, name: &'static str, value: &str) {
        self.redactions.insert(name, value.to_owned()).unwrap();
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = self.project.command();
        command.env_clear();
        command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        let home = self.project.path("home");
        command.env("HOME", &home).env("USERPROFILE", &home).env("COLUMNS", "100").env("LC_ALL", "C");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    /// Runs the program with these words, as a shell takes them apart, and writes down what it printed.
    pub(crate) fn run(&mut self, line: &str) -> Run {
        let run = self.ended(line);
        self.note(line, &run);
        run
    }

    /// Runs command lines, each of which ends with its exit code.
    #[track_caller]
    pub(crate) fn runs(&mut self, lines: &[(i32, &str)]) {
        for (code, line) in lines {
            let run = self.run(line);
            assert_eq!(run.code, Some(*code), "{line}\nstdout:\n{}\nstderr:\n{}", run.stdout, run.stderr);
        }
    }

    /// Runs the program like `run`, and writes nothing down.
    pub(crate) fn ended(&self, line: &str) -> Run {
        let words = words(&line.replace("SERVER", fixture_server().to_str().unwrap()));
        let run = Run::of(&self.command().args(&words).output().expect("the program runs"));
        if words.windows(2).any(|pair| pair == ["--format", "json"]) {
            let _: Value = run.json();
        }
        run
    }

    pub(crate) fn note(&mut self, line: &str, run: &Run) {
        let gap = if self.transcript.is_empty() { "" } else { "\n" };
        let line = format!("mcp-bindgen {}", line.replace("SERVER", "[SERVER]"));
        writeln!(self.transcript, "{gap}$ {}", line.trim_end()).unwrap();
        self.lines("out", &run.stdout);
        self.lines("err", &run.stderr);
        writeln!(self.transcript, "exit {}", run.code.expect("it ends by itself")).unwrap();
    }

    /// Writes down what is in a file.
    pub(crate) fn show(&mut self, file: &str) {
        let text = self.project.read(file);
        writeln!(self.transcript, "\n$ cat {file}").unwrap();
        self.lines("out", &text);
    }

    fn lines(&mut self, stream: &str, text: &str) {
        for line in self.redactions.redact(text).lines() {
            let line = format!("{stream} | {line}");
            writeln!(self.transcript, "{}", if line.ends_with(" | ") { line.trim_end() } else { &line }).unwrap();
        }
        assert!(text.is_empty() || text.ends_with('\n'), "the last line has no end: {text}");
    }

    /// Puts the project into a repository, where it is not, and commits all of it on the branch `main`.
    pub(crate) fn commit(&self) {
        for arguments in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-q", "-m", "x"]] {
            let mut git = Command::new("git");
            git.current_dir(self.project.path("")).args(["-c", "user.name=t", "-c", "user.email=t@example.com"]);
            git.env("HOME", self.project.path("home")).env("GIT_CONFIG_NOSYSTEM", "1");
            assert!(git.args(arguments).status().unwrap().success(), "{arguments:?}");
        }
    }

    /// Holds all that was written down against the golden file of this name.
    pub(crate) fn matches(self, name: &str) {
        assert_golden(&format!("{name}.txt"), &self.transcript);
    }
}

/// The words of a line, of which those with spaces stand in quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}
