//! The text of `--help` behind the name of a tool.

use mcp_bindgen_model::printable;
use mcp_bindgen_schema::flags::{Flag, Flags};
use serde_json::Value;

use crate::output::commanding_nobody;
use crate::text::{command_line, help_width, one_line, shortened, wrapped};

/// Between words that stay on one line; `printable` lets none of it through.
const TOGETHER: &str = "\u{1f}";
const INDENT: usize = 10;
/// The maximum number of characters of a description, and of listed values.
const LONGEST_DESCRIPTION: usize = 600;
const MOST_VALUES: usize = 20;

/// Returns the help of a tool or prompt, which a command takes. All that it shows of the server's is made harmless.
pub(crate) fn help(command: &str, server: &str, tool: &str, described: &Value, flags: &Flags) -> String {
    let width = help_width();
    let mut lines = Vec::new();
    let said = described.get("description").and_then(Value::as_str).unwrap_or_default();
    let about = format!("{server}/{}: {}", printable(tool), described_briefly(said));
    lines.extend(wrapped(about.trim_end_matches([':', ' ']), width, 0, 0));
    lines.push(String::new());
    let usage = wrapped(&usage(command, server, tool, flags), width.saturating_sub(4), 0, 0);
    lines.extend(usage.join("\n    ").replace(TOGETHER, " ").lines().map(str::to_owned));
    let (required, optional): (Vec<&Flag>, Vec<&Flag>) = flags.list().iter().partition(|flag| flag.is_required);
    for (title, flags) in [("Required:", required), ("Optional:", optional)] {
        if !flags.is_empty() {
            lines.extend([String::new(), title.to_owned()]);
            flags.iter().for_each(|flag| entry(flag, width, &mut lines));
        }
    }
    let mut more = format!(
        "Every flag also accepts `--NAME:=JSON`, and `@FILE` for text. `--args JSON` passes all arguments at once. \
         Options of `mcp-bindgen {command}` are also accepted here."
    );
    if flags.list().iter().any(|flag| flag.repeats) {
        more.push_str(" A flag with `...` adds one element each time, or takes one JSON array for all of them.");
    }
    if flags.list().is_empty() {
        let kind = if command == "call" { "tool" } else { "prompt" };
        more = format!("The {kind} declares no arguments. Options of `mcp-bindgen {command}` are also accepted here.");
    }
    if flags.takes_undeclared() {
        more.push_str(" `--arg NAME=VALUE` sends an undeclared argument.");
    }
    lines.push(String::new());
    lines.extend(wrapped(&more, width, 0, 0));
    commanding_nobody(&lines.join("\n")).into_owned()
}

fn usage(command: &str, server: &str, tool: &str, flags: &Flags) -> String {
    let mut words = vec![format!("Usage: mcp-bindgen {command} {server} {}", command_line([&*printable(tool)]))];
    let required = flags.list().iter().filter(|flag| flag.is_required && flag.path.len() == 1);
    words.extend(required.map(|flag| printable(&flag.usage()).replace(' ', TOGETHER)));
    if flags.list().iter().any(|flag| !flag.is_required) || flags.takes_undeclared() {
        words.push(format!("[--NAME{TOGETHER}VALUE]..."));
    }
    words.join(" ")
}

fn entry(flag: &Flag, width: usize, lines: &mut Vec<String>) {
    let mut forms = vec![flag.usage() + if flag.repeats { "..." } else { "" }];
    forms.extend(flag.also.iter().cloned());
    let forms = printable(&forms.join(", "));
    lines.extend(wrapped(&forms, width, 2, 2));
    let mut text = described_briefly(flag.description.as_deref().unwrap_or_default());
    if !flag.values.is_empty() {
        let shown: Vec<String> = flag.values.iter().take(MOST_VALUES).map(|value| printable(value)).collect();
        let more = flag.values.len().saturating_sub(MOST_VALUES);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        text.push_str(&format!(" [possible values: {}{more}]", shown.join(", ")));
    }
    if let Some(default) = &flag.default {
        let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
        text.push_str(&format!(" [default: {}]", described_briefly(&default)));
    }
    lines.extend(wrapped(&text, width, INDENT, INDENT));
}

fn described_briefly(text: &str) -> String {
    printable(&shortened(&one_line(text), LONGEST_DESCRIPTION, "…"))
}
