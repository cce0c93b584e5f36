//! The README and the book describe the product as it is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const README: &str = include_str!("../../README.md");
const SUMMARY: &str = include_str!("../../docs/book/src/SUMMARY.md");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The README and every chapter, with their paths.
fn pages() -> Vec<(PathBuf, String)> {
    let folder = root().join("docs/book/src");
    let chapters = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths = chapters.chain([root().join("README.md")]);
    paths.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// The text outside of blocks of code.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// The anchor of a heading, as mdBook and GitHub derive it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
    kept.replace(' ', "-")
}

#[test]
fn readme_is_short() {
    assert!(README.lines().count() <= 250, "{} lines", README.lines().count());
    let longest = README.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(longest <= 200, "a line has {longest} characters");
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut links = 0;
    for (path, text) in pages() {
        for target in prose(&text).split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            if target.starts_with("https://") {
                continue;
            }
            let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let linked = std::fs::read_to_string(&file)
                .unwrap_or_else(|error| panic!("{}: `{target}`: {error}", path.display()));
            let prose = prose(&linked);
            let mut headings = prose.lines().filter(|line| line.starts_with('#'));
            let is_there = headings.any(|line| anchor(line.trim_start_matches('#').trim()) == fragment);
            assert!(fragment.is_empty() || is_there, "{}: no heading for `{target}`", path.display());
            links += 1;
        }
    }
    assert!(links >= 50, "{links} links");
}

#[test]
fn summary_lists_every_chapter() {
    let listed: BTreeSet<&str> = SUMMARY.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    let files: BTreeSet<String> = pages()
        .iter()
        .filter(|(path, _)| !path.ends_with("README.md") && !path.ends_with("SUMMARY.md"))
        .map(|(path, _)| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(files.iter().map(String::as_str).collect::<BTreeSet<_>>(), listed);
}

#[test]
fn readme_shows_the_generated_struct() {
    let shown = README.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    let snapshot = mcp_bindgen_model::Snapshot::load(root().join("fixtures/snapshots/github.json")).unwrap();
    let (tokens, _) = mcp_bindgen_codegen::Bindings::generate(&snapshot, &mcp_bindgen_codegen::Options::new("github"));
    let generated = mcp_bindgen_codegen::format(tokens).unwrap();
    let without_layout = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(without_layout(&generated).contains(&without_layout(shown)), "the README shows\n{shown}");
}

/// The names of all functions in a folder.
fn tests_in(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            tests_in(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&entry).unwrap();
            let names = text.split("fn ").skip(1).filter_map(|rest| rest.split_once('('));
            found.extend(names.map(|(name, _)| name.to_owned()));
        }
    }
}

#[test]
fn every_documented_requirement_has_a_test() {
    let mut tests = BTreeSet::new();
    for package in ["agents", "cli", "mcp-codegen", "model", "proxy", "runtime", "schema", "template", "tests"] {
        tests_in(&root().join(package), &mut tests);
    }
    let text = std::fs::read_to_string(root().join("docs/seeds.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| seed "));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.trim_matches('|').split(" | ").collect()).collect();
    assert!(rows.len() >= 95, "{} requirements", rows.len());
    for row in rows {
        let test = row.last().unwrap().trim().trim_matches('`');
        assert!(row.len() == 3 && tests.contains(test), "no test `{test}` runs {row:?}");
    }
}
