//! The inventory as Markdown. Untrusted text is only in code, as in the comments of `check`.

use std::fmt::Write;

use super::{About, Offer, Parameter, Server, Tool};
use crate::report::code;
use crate::text::sentence;

pub(crate) fn document(servers: &[Server]) -> String {
    let mut text = "# MCP inventory\n".to_owned();
    for server in servers {
        let _ = write!(text, "\n## {}\n\n", code(&server.name));
        section(server, &mut text);
    }
    text
}

fn section(server: &Server, text: &mut String) {
    let mut itself = server.itself(code);
    itself.push(server.counts());
    let _ = writeln!(text, "{}.", itself.join("; "));
    if let Some(instructions) = &server.instructions {
        let _ = write!(text, "\nIt says: {}\n", code(&sentence(instructions)));
    }
    if let Some(since) = &server.since {
        let _ = write!(text, "\nSince {}: {}.\n", code(&since.revision), since.in_words());
        let others =
            server.other_changes().map(|change| (change.class, format!("{} {}", change.tool, change.in_words())));
        list(others.map(|(class, change)| format!("{class}: {}", code(&change))), text);
    }
    list(server.left_out.iter().map(|tool| format!("left out by `{}`: {}", tool.by, code(&tool.name))), text);
    for tool in &server.tools {
        of_tool(tool, text);
    }
    for offer in &server.offers {
        of_offer(offer, text);
    }
}

fn of_tool(tool: &Tool, text: &mut String) {
    let _ = write!(text, "\n### {}\n", code(&tool.binding.tool));
    about(&tool.about, text);
    let mut flags: Vec<String> = tool.approve.then(|| "**needs approval**".to_owned()).into_iter().collect();
    flags.extend(tool.policies.iter().map(|policy| code(&policy.text)));
    flags.extend(tool.says());
    flags.extend(tool.view().iter().map(|line| code(line)));
    flags.extend(tool.overridden());
    flags.extend(tool.answers.as_deref().map(|answers| format!("answers {}", code(answers))));
    flags.extend(tool.about.diagnostics.iter().map(|note| code(&note.text)));
    flags.extend(tool.changes.iter().map(|change| format!("{}: {}", change.class, code(&change.in_words()))));
    flags.push(format!("prefixed name {}", code(&tool.binding.prefixed)));
    flags.push(code(&tool.signature()));
    for (part, types) in tool.inner_types() {
        let types: Vec<String> = types.iter().map(|name| code(name)).collect();
        flags.push(format!("types in {part}: {}", types.join(", ")));
    }
    list(flags.into_iter(), text);
    parameters(&tool.about.parameters, text);
}

fn of_offer(offer: &Offer, text: &mut String) {
    let _ = write!(text, "\n### {} ({})\n", code(&offer.binding.name), offer.binding.listed);
    about(&offer.about, text);
    let template = offer.binding.uri_template.as_deref().map(code);
    let notes = offer.about.diagnostics.iter().map(|note| code(&note.text));
    list(template.into_iter().chain(notes).chain([code(&offer.signature())]), text);
    parameters(&offer.about.parameters, text);
}

fn about(about: &About, text: &mut String) {
    if let Some(said) = about.said() {
        let _ = write!(text, "\n{}\n", code(&sentence(said)));
    }
}

fn list(items: impl Iterator<Item = String>, text: &mut String) {
    for (index, item) in items.enumerate() {
        let _ = writeln!(text, "{}- {item}", if index == 0 { "\n" } else { "" });
    }
}

fn parameters(parameters: &[Parameter], text: &mut String) {
    if parameters.is_empty() {
        return;
    }
    text.push_str("\n| parameter | type | required | what |\n|---|---|---|---|\n");
    for parameter in parameters {
        let required = if parameter.required { "yes" } else { "no" };
        let said = parameter.description.as_deref().map(|said| code(&sentence(said))).unwrap_or_default();
        let _ = writeln!(text, "| {} | {} | {required} | {said} |", code(&parameter.name), code(&parameter.kind));
    }
}
