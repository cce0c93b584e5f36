//! `.ci/run` cannot be fooled: a suite that fails, or counts less than its floor, fails the run and stops none of the
//! suites after it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A repository with the gate, and these suites in place of the real ones.
struct Gate(tempfile::TempDir);

const SUITES: &str = r#"
readonly SUITES="
good     3
few      3
broken   1
counting 1
silent   1
absent   1
"
suite_good() { count 3 "things"; }
suite_few() { count 2 "things"; }
suite_broken() { false; count 5 "things"; }
suite_counting() { echo "4 passed, 2 failed"; exit 1; }
suite_silent() { true; }
suite_absent() { skip "no such thing here"; }
"#;

impl Gate {
    fn new(suites: &str) -> Self {
        let gate = Self(tempfile::tempdir().expect("a temporary folder"));
        fs::create_dir(gate.path(".ci")).unwrap();
        fs::write(gate.path(".ci/suites"), suites).unwrap();
        fs::copy(root().join(".ci/run"), gate.path(".ci/run")).unwrap();
        gate
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn run(&self, suites: &[&str], ci: bool) -> Run {
        let mut command = Command::new("bash");
        command.arg(self.path(".ci/run")).args(suites).env("CARGO_TARGET_DIR", self.path("target"));
        command.env("CI", if ci { "true" } else { "" });
        Run::of(&mut command)
    }
}

#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().expect("the program runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    #[track_caller]
    fn ends(&self, code: i32, last: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout.lines().last(), Some(last), "{self:?}");
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn suites_that_reach_their_floors_pass() {
    let run = Gate::new(SUITES).run(&["good"], false);
    run.ends(0, "3 passed, 0 failed");
    assert!(run.stdout.contains("\n3 things\n"), "{run:?}");
    assert!(run.stdout.contains("1 suites passed, 0 failed, 0 skipped"), "{run:?}");
}

#[test]
fn count_below_the_floor_fails() {
    let run = Gate::new(SUITES).run(&["few"], false);
    run.ends(1, "2 passed, 1 failed");
    assert!(run.stderr.contains("suite 'few' counted 2, and its floor in .ci/suites is 3"), "{run:?}");
}

#[test]
fn suite_without_a_count_fails() {
    Gate::new(SUITES).run(&["silent"], false).ends(1, "0 passed, 1 failed");
}

#[test]
fn failing_command_fails_only_its_suite() {
    let run = Gate::new(SUITES).run(&["broken", "counting", "good"], false);
    run.ends(1, "3 passed, 3 failed");
    assert!(run.stderr.contains("suite 'broken' failed with exit code 1"), "{run:?}");
}

#[test]
fn unavailable_suite_is_skipped_unless_all_are_required() {
    let gate = Gate::new(SUITES);
    let run = gate.run(&["absent", "good"], false);
    run.ends(0, "3 passed, 0 failed");
    assert!(run.stdout.contains("skipped: no such thing here"), "{run:?}");
    gate.run(&["absent", "good"], true).ends(1, "3 passed, 1 failed");
}

#[test]
fn unknown_suites_and_zero_floors_are_refused() {
    let run = Gate::new(SUITES).run(&["god"], false);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("no suite 'god'; there are: good few"), "{run:?}");
    let run = Gate::new("readonly SUITES='good 0'\nsuite_good() { count 1 x; }\n").run(&[], false);
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn every_suite_has_a_floor_and_every_script_is_executable() {
    let suites = fs::read_to_string(root().join(".ci/suites")).unwrap();
    let table = suites.split("SUITES=\"\n").nth(1).and_then(|rest| rest.split("\n\"\n").next()).expect("a table");
    let listed: Vec<&str> = table.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    let starts = suites.lines().filter_map(|line| line.strip_prefix("suite_")?.strip_suffix("() {"));
    let defined: Vec<&str> = starts.collect();
    assert_eq!(listed, defined, "the table of .ci/suites, and its functions");
    for script in ["run", "conformance", "real-servers", "fresh", "fuzz", "seeds", "every-test"] {
        let mode = fs::metadata(root().join(".ci").join(script)).unwrap().permissions().mode();
        assert!(mode & 0o111 != 0, ".ci/{script} cannot be run");
    }
}

/// Runs `.ci/every-test` on a source file and a log.
fn every_test(source: &str, log: &str) -> Run {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("lib.rs"), source).unwrap();
    fs::write(folder.path().join("test.log"), log).unwrap();
    for arguments in [&["init", "--quiet"][..], &["add", "lib.rs"]] {
        assert!(Command::new("git").args(arguments).current_dir(folder.path()).status().unwrap().success());
    }
    let mut command = Command::new("python3");
    Run::of(command.arg(root().join(".ci/every-test")).arg("test.log").current_dir(folder.path()))
}

#[test]
fn tests_that_never_run_are_reported() {
    let attribute = "#[test]";
    let source = format!(
        "{attribute}\nfn runs() {{}}\n\n{attribute}\nfn is_left_out() {{}}\n\n{attribute}\n#[ignore = \"slow\"]\nfn by_hand() {{}}\n"
    );
    let log = "     Running unittests src/lib.rs (target/debug/deps/demo-0123abcd)\n\ntest tests::runs ... ok\n";
    let run = every_test(&source, log);
    run.ends(1, "1 passed, 1 failed");
    assert!(run.stdout.contains("is_left_out: 1 in lib.rs; 0 have run"), "{run:?}");
    every_test(&source, &format!("{log}test tests::is_left_out ... ok\n")).ends(0, "2 passed, 0 failed");
}

#[test]
fn repeated_test_counts_once() {
    let attribute = "#[test]";
    let source = format!(
        "mod a {{\n    {attribute}\n    fn same() {{}}\n}}\nmod b {{\n    {attribute}\n    fn same() {{}}\n}}\n"
    );
    let log = |hash: &str, test: &str| {
        format!("     Running unittests src/lib.rs (target/debug/deps/demo-{hash})\ntest {test}::same ... ok\n")
    };
    every_test(&source, &(log("01", "a") + &log("02", "a"))).ends(1, "1 passed, 1 failed");
    every_test(&source, &(log("01", "a") + &log("02", "b"))).ends(0, "2 passed, 0 failed");
}
