//! A project in a folder of its own, and the program run in it.

#![allow(dead_code, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) use mcp_fixture_server::program as fixture_server;
use serde_json::Value;
use snapbox::assert::DEFAULT_ACTION_ENV;
use snapbox::data::DataFormat;
use snapbox::{Assert, Data};

pub(crate) struct Project {
    folder: tempfile::TempDir,
}

/// The output and the exit code of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    /// A project with this `mcp.toml`, in which `SERVER` stands for the fixture server's program.
    pub(crate) fn new(config: &str) -> Self {
        let project = Self::empty();
        let server = fixture_server().to_str().expect("the path is text");
        project.write("mcp.toml", &config.replace("SERVER", server));
        project
    }

    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        mcp_bindgen_model::write_if_changed(&self.path(file), text.as_bytes()).expect("the file can be written");
    }

    /// A shell script that can be run.
    #[cfg(unix)]
    pub(crate) fn write_program(&self, file: &str, script: &str) {
        let text = format!("{file}.text");
        self.write(&text, &format!("#!/bin/sh\n{script}\n"));
        self.install(&self.path(&text), file);
    }

    /// Copies a program in a process of its own: a process that another test starts meanwhile would hold a file of ours open
    /// for writing, and such a file cannot be run.
    #[cfg(unix)]
    pub(crate) fn install(&self, program: &Path, file: &str) {
        let installed = Command::new("install").args(["-m", "755"]).arg(program).arg(self.path(file)).status();
        assert!(installed.is_ok_and(|status| status.success()), "install {file}");
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bindgen"));
        command.current_dir(self.folder.path()).env_remove("MCP_SERVERS").env_remove("RUST_BACKTRACE");
        // No registry is asked: what the workspace needs is here.
        command.env("CARGO_NET_OFFLINE", "true");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        finished(self.command().args(arguments).stdin(Stdio::null()))
    }

    /// A line as a shell runs it.
    pub(crate) fn shell(&self, line: &str) -> Run {
        let mut command = Command::new("sh");
        command.current_dir(self.folder.path()).env_remove("MCP_SERVERS").args(["-c", line]).stdin(Stdio::null());
        finished(&mut command)
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        // A program that refuses the command ends without reading.
        if let Err(error) = child.stdin.take().expect("a pipe").write_all(input.as_bytes()) {
            assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{error}");
        }
        Run::of(&child.wait_with_output().expect("the program ends"))
    }
}

fn finished(command: &mut Command) -> Run {
    Run::of(&command.output().expect("the program runs"))
}

impl Run {
    pub(crate) fn of(output: &std::process::Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout.clone()).expect("text on stdout"),
            stderr: String::from_utf8(output.stderr.clone()).expect("text on stderr"),
        }
    }

    #[track_caller]
    pub(crate) fn exits_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "not said: {text}\n{}", self.stderr);
        self
    }

    /// The lines of results that are not indented: in a list, one for each thing that is bound, and one for the server.
    pub(crate) fn heads(&self) -> String {
        self.stdout.lines().filter(|line| !line.starts_with(' ')).map(|line| format!("{line}\n")).collect()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}:\n{}", self.stdout))
    }
}

/// Holds a text against the golden file of this name; `SNAPSHOTS=overwrite` takes it for the file.
#[track_caller]
pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(name);
    // Raw: what is printed stands there as it is, and nothing in it is a wildcard.
    let expected = Data::read_from(&path, Some(DataFormat::Text)).raw();
    Assert::new().action_env(DEFAULT_ACTION_ENV).eq(text, expected);
}

/// The workspace's data for tests.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}
