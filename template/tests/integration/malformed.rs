//! `fixtures/templates/malformed.txt`: templates, each below a line with what is said of it first.

use std::fmt::Write;

use mcp_bindgen_template::Template;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/templates/malformed.txt");

/// `TEMPLATES=overwrite` writes what is said now, to be read in the difference.
#[test]
fn malformed_templates_are_errors_with_their_position() {
    let text = std::fs::read_to_string(FILE).unwrap();
    let mut said = String::new();
    let mut count = 0;
    for case in text.strip_prefix("=== ").unwrap().split("\n=== ") {
        let (_, template) = case.split_once('\n').unwrap();
        // The line end of the file itself.
        let template = template.strip_suffix('\n').filter(|_| text.ends_with(case)).unwrap_or(template);
        let faults = Template::parse(template).expect_err(template);
        let lines = template.split('\n').count();
        for fault in &faults {
            assert!((1..=lines).contains(&fault.place.line) && fault.place.column > 0, "{template}: {fault}");
            assert!(fault.rendered("a.md", template).contains(" | "), "{template}: {fault}");
        }
        assert!(faults.is_sorted_by_key(|fault| fault.place), "{template}: {faults:?}");
        writeln!(said, "=== {}\n{template}", faults[0]).unwrap();
        count += 1;
    }
    if std::env::var_os("TEMPLATES").is_some() {
        overwrite(&said);
    }
    assert_eq!(said.lines().filter(|line| !text.contains(line)).collect::<Vec<_>>(), [""; 0]);
    assert!(said == text, "what is said has changed: run with TEMPLATES=overwrite and read the difference");
    println!("{count} malformed templates refused, each with its line");
    assert!(count >= 200);
}

#[allow(clippy::disallowed_methods)]
fn overwrite(said: &str) {
    std::fs::write(FILE, said).unwrap();
}
