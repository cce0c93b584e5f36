//! The summary of a toolset for a prompt.

use std::fmt::Write;

use super::Toolset;
use super::entry::Entry;
use crate::text;

impl Toolset {
    /// Describes the tools for a prompt: a line for each server with the number of its tools, followed by a line for
    /// each tool with its name in the toolset and the first sentence of its description, up to 200 characters. Text
    /// from servers is printed on one line, without control or invisible characters, markup or template syntax.
    ///
    /// ```
    /// use mcp_bindgen_agents::Toolset;
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
    /// # Ok::<(), mcp_bindgen_agents::ToolsetError>(())
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
            let _ = writeln!(summary, "{} ({} {tools})", text::label(server), entries.len());
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
    /// Returns the description in one safe line, or an empty string if it is missing.
    pub(crate) fn sentence(&self) -> String {
        let said = self.description.as_deref().map(text::sentence).filter(|sentence| !sentence.is_empty());
        said.or_else(|| self.title.as_deref().map(text::sentence)).unwrap_or_default()
    }
}
