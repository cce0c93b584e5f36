//! The inventory as Markdown. Untrusted text is only in code, as in the comments of `check`.

use std::fmt::Write;

use super::{Item, NEEDS_APPROVAL, Parameter, Server};
use crate::report::code;
use crate::text::sentence;

pub(crate) fn document(servers: &[Server]) -> String {
    let mut text = "# MCP inventory\n".to_owned();
    for server in servers {
        section(server, &mut text);
        server.items.iter().for_each(|item| entry(item, &mut text));
    }
    text
}

fn section(server: &Server, text: &mut String) {
    let mut itself = server.itself(code);
    itself.push(server.counts());
    let _ = write!(text, "\n## {}\n\n{}.\n", code(&server.name), itself.join("; "));
    if let Some(instructions) = &server.instructions {
        let _ = write!(text, "\nIt says: {}\n", code(&sentence(instructions)));
    }
    if let Some(since) = &server.since {
        let _ = write!(text, "\nSince {}: {}.\n", code(&since.revision), since.in_words("no difference"));
        let others =
            server.other_changes().map(|change| (change.class, format!("{} {}", change.tool, change.in_words())));
        list(others.map(|(class, change)| format!("{class}: {}", code(&change))), text);
    }
    list(server.left_out.iter().map(|(tool, by)| format!("left out by `{by}`: {}", code(tool))), text);
}

fn entry(item: &Item, text: &mut String) {
    let list_name = item.offer.map(|list| format!(" ({list})")).unwrap_or_default();
    let _ = write!(text, "\n### {}{list_name}\n", code(&item.name));
    if let Some(said) = item.sentence() {
        let _ = write!(text, "\n{}\n", code(&said));
    }
    let demand = |demand: &String| if demand == NEEDS_APPROVAL { format!("**{demand}**") } else { code(demand) };
    let mut facts: Vec<String> = item.demands.iter().map(demand).collect();
    facts.extend(item.claims.iter().cloned());
    facts.extend(item.notes.iter().map(|note| code(note)));
    facts.extend(item.overridden.clone());
    facts.extend(item.answers.iter().map(|answers| format!("answers {}", code(answers))));
    facts.extend(item.diagnostics.iter().map(|diagnostic| code(diagnostic)));
    facts.extend(item.changes.iter().map(|change| format!("{}: {}", change.class, code(&change.in_words()))));
    facts.extend(item.prefixed.iter().map(|name| format!("prefixed name {}", code(name))));
    facts.push(code(&item.signature));
    for (part, types) in &item.inner_types {
        let types: Vec<String> = types.iter().map(|name| code(name)).collect();
        facts.push(format!("types in {part}: {}", types.join(", ")));
    }
    list(facts, text);
    parameters(&item.parameters, text);
}

fn list(items: impl IntoIterator<Item = String>, text: &mut String) {
    for (index, item) in items.into_iter().enumerate() {
        let _ = writeln!(text, "{}- {item}", if index == 0 { "\n" } else { "" });
    }
}

fn parameters(parameters: &[Parameter], text: &mut String) {
    if parameters.is_empty() {
        return;
    }
    text.push_str("\n| parameter | type | required | what |\n|---|---|---|---|\n");
    for Parameter { name, kind, required, description } in parameters {
        let required = if *required { "yes" } else { "no" };
        let said = description.as_deref().map(|said| code(&sentence(said))).unwrap_or_default();
        let _ = writeln!(text, "| {} | {} | {required} | {said} |", code(name), code(kind));
    }
}
