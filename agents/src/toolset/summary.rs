//! What a set can do, in words.

use std::fmt::Write;

use super::Toolset;
use super::entry::Entry;
use crate::text::{first_sentence, line};

/// The longest first sentence, in characters.
pub(crate) const SENTENCE_AT_MOST: usize = 200;

impl Toolset {
    /// What the tools can do, in words for a prompt: a line for each server with the number of its tools, and below it a line
    /// for each tool with its public name and the first sentence of its description, 200 characters at most. What strangers
    /// wrote stays one line, without controls and invisible characters, and begins no heading.
    ///
    /// ```
    /// use mcp_agents::Toolset;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Order { number: u64 }
    ///
    /// let set = Toolset::builder()
    ///     .group("shop")
    ///     .function("find_order", "Finds an order. Slow on Mondays.", async |o: Order| Ok::<_, String>(o.number))
    ///     .build()?;
    /// assert_eq!(set.summary(), "shop (1 tool)\n- shop_find_order: Finds an order.\n");
    /// # Ok::<(), mcp_agents::ToolsetError>(())
    /// ```
    #[must_use]
    pub fn summary(&self) -> String {
        let mut servers: Vec<(&str, Vec<&Entry>)> = Vec::new();
        for entry in self.entries.iter() {
            match servers.iter_mut().find(|(server, _)| *server == &*entry.server) {
                Some((_, entries)) => entries.push(entry),
                None => servers.push((&entry.server, vec![entry])),
            }
        }
        let mut summary = String::new();
        for (server, entries) in servers {
            let tools = if entries.len() == 1 { "tool" } else { "tools" };
            // Writing to a String cannot fail.
            let _ = writeln!(summary, "{} ({} {tools})", server_name(server), entries.len());
            for entry in entries {
                let _ = match entry.sentence() {
                    sentence if sentence.is_empty() => writeln!(summary, "- {}", entry.public),
                    sentence => writeln!(summary, "- {}: {sentence}", entry.public),
                };
            }
        }
        summary
    }
}

impl Entry {
    /// What it does, in one line that is safe to show; empty where nobody says.
    pub(crate) fn sentence(&self) -> String {
        let said = self.description.as_deref().map(|text| first_sentence(text, SENTENCE_AT_MOST));
        let titled = || self.title.as_deref().map(|text| first_sentence(text, SENTENCE_AT_MOST));
        said.filter(|text| !text.is_empty()).or_else(titled).unwrap_or_default()
    }
}

/// A server's name is the program's or its user's, but it may have been read from anywhere.
fn server_name(server: &str) -> String {
    let name = line(server);
    name.trim_start_matches(|c: char| c.is_whitespace() || "#>=-*+|~`".contains(c)).to_owned()
}
