//! Pairs of small schemas made by hand, each with the classes that it is to be called: `suites/pairs`.

use std::fs;

use mcp_bindgen_schema::Role;
use mcp_samples::{Fallible, repository, schema_key};
use serde_json::{Value, json};

use crate::drift::arguments::Arguments;
use crate::drift::case::{Case, Subject};
use crate::drift::finding;
use crate::drift::judge::samples;
use crate::drift::kinds::{Effect, Mutation};
use crate::drift::report::{Bounds, Report};

const FOLDER: &str = "suites/pairs";

/// One of the questions of a line.
struct Question {
    role: Role,
    old: Value,
    new: Value,
    is_breaking: bool,
    /// It is known to break, and nothing can show it.
    is_beyond_proof: bool,
}

/// Judges every pair, a row for each file.
pub(crate) fn judge(arguments: &Arguments, report: &mut Report) -> Fallible<()> {
    let mut files: Vec<_> = fs::read_dir(repository().join(FOLDER))?.collect::<Result<_, _>>()?;
    files.retain(|file| file.path().extension().is_some_and(|extension| extension == "txt"));
    files.sort_by_key(fs::DirEntry::file_name);
    for (row, file) in files.iter().enumerate() {
        let name = file.file_name().to_string_lossy().trim_end_matches(".txt").to_owned();
        if !arguments.selects_kind(&name) {
            continue;
        }
        report.row(row, &name);
        for (number, line) in fs::read_to_string(file.path())?.lines().enumerate() {
            let place = format!("{name}:{}", number + 1);
            let questions = questions(line).ok_or_else(|| format!("{place}: expected `WHERE CLASSES OLD => NEW`"))?;
            for question in questions {
                ask(question, &place, (row, arguments), report);
            }
        }
    }
    report.settle(&Bounds { unproven: 5, ..Bounds::default() });
    Ok(())
}

fn ask(question: Question, place: &str, (row, arguments): (usize, &Arguments), report: &mut Report) {
    let Question { role, old, new, is_breaking, is_beyond_proof } = question;
    let tool = json!({ "name": "t", "inputSchema": { "type": "object" }, schema_key(role): old });
    let subject = Subject { list: place.to_owned(), tool, role, instances: Vec::new() };
    let mutation = Mutation { old, new, old_place: String::new(), new_place: String::new(), effect: Effect::Any };
    let case = Case { subject: &subject, mutation, is_harmless: !is_breaking, is_wording: false };
    let Some(finding) = finding(&case, samples(&case, arguments.samples)) else {
        return report.failure(format!("{place}: the validator does not take a schema"));
    };
    if is_breaking && !(finding.is_called_breaking && (finding.is_proven || is_beyond_proof)) {
        let called = if finding.is_called_breaking { "without a proof" } else { "not" };
        report.failure(format!("{place}: {called} breaking: {}", case.to_json()));
    }
    report.add(row, finding, arguments.show);
}

/// The questions of a line: arguments there and back, results there and back.
fn questions(line: &str) -> Option<Vec<Question>> {
    let (place, rest) = line.split_once(' ')?;
    let (classes, rest) = rest.split_once(' ')?;
    let (old, new) = rest.split_once(" => ")?;
    let schema = |text: &str| {
        let schema: Value = serde_json::from_str(text).ok()?;
        match place {
            "d" => Some(schema),
            "p" => Some(json!({ "type": "object", "properties": { "p": schema } })),
            "r" => Some(json!({ "type": "object", "properties": { "p": schema }, "required": ["p"] })),
            _ => None,
        }
    };
    let (old, new) = (schema(old)?, schema(new)?);
    let asked =
        [(Role::Input, &old, &new), (Role::Input, &new, &old), (Role::Output, &old, &new), (Role::Output, &new, &old)];
    let mut questions = Vec::new();
    if classes.len() != asked.len() {
        return None;
    }
    for (class, (role, old, new)) in classes.chars().zip(asked) {
        let is_breaking = match class {
            'B' | 'b' => true,
            '.' => false,
            '?' => continue,
            _ => return None,
        };
        questions.push(Question {
            role,
            old: old.clone(),
            new: new.clone(),
            is_breaking,
            is_beyond_proof: class == 'b',
        });
    }
    Some(questions)
}
