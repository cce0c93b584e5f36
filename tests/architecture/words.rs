//! Doc comments and names of tests state facts: they do not begin with a clause as their subject.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{Fallible, PACKAGES, collect_sources, lines_before_tests, root};

const DOC_COMMENTS_AT_LEAST: usize = 5_000;
const TESTS_AT_LEAST: usize = 2_000;
const LONGEST_TEST_NAME: usize = 80;
/// Words that begin a clause, or a rule about nobody in particular.
const CLAUSES: [&str; 12] =
    ["what", "who", "whose", "where", "whatever", "whoever", "wherever", "which", "nobody", "how", "of", "so"];

#[test]
fn doc_comments_do_not_begin_with_what() -> Fallible<()> {
    let mut files = Vec::new();
    for (_, folder, _) in PACKAGES {
        collect_sources(&root().join(folder), &mut files)?;
    }
    let mut comments = 0;
    let mut found = Vec::new();
    for path in &files {
        let source = fs::read_to_string(path)?;
        for (number, line) in source.lines().enumerate().take(lines_before_tests(&source)) {
            let text = line.trim_start();
            let Some(text) = text.strip_prefix("/// ").or_else(|| text.strip_prefix("//! ")) else { continue };
            comments += 1;
            if text.starts_with("What ") {
                found.push(format!("{}:{}: {text}", path.display(), number + 1));
            }
        }
    }
    println!("{comments} lines of doc comments");
    assert!(comments > DOC_COMMENTS_AT_LEAST, "only {comments} lines of doc comments were read");
    assert!(found.is_empty(), "{found:#?}");
    Ok(())
}

#[test]
fn test_names_state_a_rule() -> Fallible<()> {
    let mut tests = 0;
    let mut found = Vec::new();
    let mut files = Vec::new();
    rust_files(root(), &mut files)?;
    for path in files {
        let mut is_marked = false;
        for (number, line) in fs::read_to_string(&path)?.lines().enumerate() {
            let line = line.trim_start();
            if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                is_marked = true;
            } else if let (true, Some((_, rest))) = (is_marked, line.split_once("fn ")) {
                is_marked = false;
                tests += 1;
                let name = rest.split('(').next().unwrap_or_default();
                let first = name.split('_').next().unwrap_or_default();
                if CLAUSES.contains(&first) || name.len() > LONGEST_TEST_NAME {
                    found.push(format!("{}:{}: {name}", path.display(), number + 1));
                }
            }
        }
    }
    println!("{tests} names of tests");
    assert!(tests > TESTS_AT_LEAST, "only {tests} tests were read");
    assert!(found.is_empty(), "{found:#?}");
    Ok(())
}

/// Collects the Rust files below a folder, except for hidden folders and those that are built or downloaded.
fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name == "target" || name == "node_modules" {
            continue;
        }
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    Ok(())
}
