//! The inventory as a single page without requests, in which untrusted text is only text.

use std::collections::HashSet;
use std::iter;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp_bindgen_codegen::Listed;
use mcp_bindgen_schema::drift::Change;
use serde_json::Value;

use super::{Item, Parameter, Server};
use crate::output::{lines_printable, markup};
use crate::report::counted;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Returns the page. The same inventory gives the same bytes.
pub(crate) fn page(servers: &[Server]) -> String {
    let tools = servers.iter().map(|server| server.count(None)).sum();
    let mut page = Page::default();
    servers.iter().for_each(|server| page.server(server));
    let (script, style) = (asset(SCRIPT), asset(STYLE));
    // Untrusted text must not end the element of the data, and must not contain commands of a GitHub runner.
    let texts = Value::from(page.texts).to_string().replace('<', "\\u003c").replace("##[", "##\\u005b");
    let links = servers.iter().map(|server| format!("<li><a href=\"#{0}\">{0}</a></li>", markup(&server.name)));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; script-src {}; \
         img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>MCP inventory</title>\n<style>{style}</style>\n</head>\n<body>\n\
         <header>\n<h1>MCP inventory</h1>\n<p class=\"faint\">{}, {}. Names, descriptions and what tools say of themselves \
         are the servers' words.</p>\n<nav aria-label=\"Servers\"><ul>{}</ul></nav>\n</header>\n\
         <div class=\"bar\" hidden><div><label for=\"_search\">Search</label>\
         <input id=\"_search\" type=\"search\" placeholder=\"names, words, parameters ( / )\" autocomplete=\"off\" spellcheck=\"false\">\
         <output id=\"_found\" for=\"_search\"></output><button id=\"_theme\" type=\"button\">Light or dark</button></div></div>\n\
         <main>\n{}</main>\n<script type=\"application/json\" id=\"_texts\">{texts}</script>\n<script>{script}</script>\n\
         </body>\n</html>",
        hash(&style),
        hash(&script),
        counted(servers.len(), "server"),
        counted(tools, "tool"),
        links.collect::<String>(),
        page.html,
    )
}

/// Returns an asset for the page, with line ends as in the repository.
fn asset(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Returns the hash by which a browser accepts an asset.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(mcp_bindgen_model::sha256(text.as_bytes())))
}

/// Escapes an untrusted name, and isolates its text direction.
fn name(text: &str) -> String {
    format!("<bdi>{}</bdi>", markup(&text.replace('\n', "\\n")))
}

/// Encodes a part of a link: all bytes except letters, digits, `-`, `.` and `_`.
fn part(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encoded).collect()
}

#[derive(Default)]
struct Page {
    html: String,
    /// The texts that each card is found by, in their order.
    texts: Vec<String>,
    ids: HashSet<String>,
}

impl Page {
    fn add(&mut self, html: impl AsRef<str>) {
        self.html.push_str(html.as_ref());
        self.html.push('\n');
    }

    /// Returns the id, or a similar one if it is taken. Ids of the page itself begin with `_`, which no server name
    /// does.
    fn id(&mut self, wanted: &str) -> String {
        let others = (2..).map(|count| format!("{wanted}~{count}"));
        let free = iter::once(wanted.to_owned()).chain(others).find(|id| !self.ids.contains(id));
        let id = free.unwrap_or_default();
        self.ids.insert(id.clone());
        id
    }

    fn server(&mut self, server: &Server) {
        let id = self.id(&part(&server.name));
        self.add(format!("<section id=\"{id}\">\n<h2><a href=\"#{id}\">{}</a></h2>", name(&server.name)));
        let mut itself = server.itself(name);
        itself.push(server.counts());
        self.add(format!("<p class=\"faint\">{}</p>", itself.join("; ")));
        if let Some(instructions) = &server.instructions {
            self.add(format!(
                "<details><summary>What it says of its use</summary><p class=\"text\"><bdi>{}</bdi></p></details>",
                markup(instructions)
            ));
        }
        if let Some(since) = &server.since {
            self.add(format!("<p>Since {}: {}.</p>", name(&since.revision), since.in_words("no difference")));
            self.changes(server.other_changes(), true);
        }
        if !server.left_out.is_empty() {
            let left_out = server.left_out.iter();
            let left_out =
                left_out.map(|(tool, by)| format!("<li><code>{}</code> by <code>{by}</code></li>", name(tool)));
            self.add(format!(
                "<details><summary>{} left out by the configuration</summary><ul>{}</ul></details>",
                counted(server.left_out.len(), "tool"),
                left_out.collect::<String>()
            ));
        }
        server.items.iter().for_each(|item| self.item(server, item));
        self.add("</section>");
    }

    /// Writes the card of an item, and keeps the texts for the search.
    fn item(&mut self, server: &Server, item: &Item) {
        let place = match item.offer {
            None => "",
            Some(Listed::Prompt) => "/prompts",
            Some(_) => "/resources",
        };
        let id = self.id(&format!("{}{place}/{}", part(&server.name), part(&item.name)));
        self.texts.push(found_by(server, item));
        let title = item.title.as_deref().filter(|title| *title != item.name);
        let title = title.map(|title| format!(" <small class=\"faint\">{}</small>", name(title))).unwrap_or_default();
        let item_name = name(&item.name);
        self.add(format!(
            "<article class=\"card\" id=\"{id}\">\n<h3><a href=\"#{id}\"><code>{item_name}</code></a>{title}</h3>"
        ));
        let list = item.offer.map(|list| list.to_string());
        let ours = item.demands.iter().chain(&item.overridden);
        let ours = ours.map(|tag| format!("<li class=\"ours\">{}</li>", markup(tag)));
        self.list("tags", ours.chain(list.iter().chain(&item.claims).map(|tag| format!("<li>{}</li>", markup(tag)))));
        if let Some(description) = &item.description {
            self.add(format!("<p class=\"text\"><bdi>{}</bdi></p>", markup(description)));
        }
        for note in &item.notes {
            self.add(format!("<p><code>{}</code></p>", name(note)));
        }
        self.changes(&item.changes, false);
        self.parameters(&item.parameters);
        if let Some(answers) = &item.answers {
            self.add(format!("<p>Answers {}</p>", name(answers)));
        }
        self.list("faint", item.diagnostics.iter().map(|said| format!("<li>{}</li>", name(said))));
        if let Some(prefixed) = &item.prefixed {
            self.add(format!("<p class=\"faint\">prefixed name <code>{}</code></p>", markup(prefixed)));
        }
        self.add(format!("<p class=\"faint\"><code>{}</code></p>", markup(&item.signature)));
        for (part, types) in &item.inner_types {
            self.add(format!("<p class=\"faint\">types in {part}: <code>{}</code></p>", markup(&types.join(", "))));
        }
        if let Some(source) = &item.source {
            self.add("<details><summary>Schema, Rust and an example call</summary>\n<div class=\"beside\"><div>");
            for (title, schema) in &item.schemas {
                self.code(title, &format!("{schema:#}"));
            }
            self.add("</div><div>");
            self.code("Call", &item.example);
            self.code("Rust", source.trim_end());
            self.add("</div></div></details>");
        }
        self.add("</article>");
    }

    fn parameters(&mut self, parameters: &[Parameter]) {
        if parameters.is_empty() {
            return;
        }
        self.add(
            "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Parameter</th><th scope=\"col\">Type</th>\
             <th scope=\"col\">Required</th><th scope=\"col\">What it is</th></tr></thead><tbody>",
        );
        for Parameter { name: wire, kind, required, description } in parameters {
            let required = if *required { "required" } else { "optional" };
            let said = description.as_deref().map(|said| format!("<bdi>{}</bdi>", markup(said))).unwrap_or_default();
            self.add(format!(
                "<tr><th scope=\"row\"><code>{}</code></th><td>{}</td><td>{required}</td><td class=\"text\">{said}</td></tr>",
                name(wire),
                name(kind)
            ));
        }
        self.add("</tbody></table></div>");
    }

    fn changes<'c>(&mut self, changes: impl IntoIterator<Item = &'c Change>, names_tools: bool) {
        let items = changes.into_iter().map(|change| {
            let is_named = names_tools && !change.tool.is_empty();
            let tool = if is_named { format!("{} ", name(&change.tool)) } else { String::new() };
            let class = change.class.name();
            format!("<li><strong class=\"{class}\">{class}</strong> {tool}{}</li>", markup(&change.in_words()))
        });
        self.list("changes", items);
    }

    /// Writes a list, unless it is empty.
    fn list(&mut self, class: &str, items: impl Iterator<Item = String>) {
        let items: String = items.collect();
        if !items.is_empty() {
            self.add(format!("<ul class=\"{class}\">{items}</ul>"));
        }
    }

    fn code(&mut self, title: &str, text: &str) {
        let wraps = if title == "Call" { " class=\"call\"" } else { "" };
        self.add(format!("<h4>{title}</h4><pre{wraps} tabindex=\"0\"><code>{}</code></pre>", markup(text)));
    }
}

/// Returns the text that is searched for a card, in small letters.
fn found_by(server: &Server, item: &Item) -> String {
    let names = item.parameters.iter().map(|parameter| &parameter.name);
    let texts: Vec<&str> = [&server.name, &item.name]
        .into_iter()
        .chain(&item.title)
        .chain(&item.description)
        .chain(names)
        .map(String::as_str)
        .collect();
    lines_printable(&texts.join("\n")).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_escaping_neutralizes_markup_and_workflow_commands() {
        assert_eq!(
            markup("</script><!-- \"onload='x' & ]]>"),
            "&lt;/script&gt;&lt;!-- &quot;onload=&#39;x&#39; &amp; ]]&gt;"
        );
        assert_eq!(markup("a\u{202e}b\n\u{1b}[0m"), "a\\u{202e}b\n\\u{1b}[0m");
        assert_eq!(markup("::a\n  ::b::c\n##[d]"), "&#58;:a\n  &#58;:b::c\n##&#91;d]");
        assert_eq!(part("any file/é~"), "any%20file%2F%C3%A9%7E");
    }

    #[test]
    fn assets_do_not_close_their_element() {
        for (asset, end) in [(STYLE, "</style"), (SCRIPT, "</script")] {
            assert!(!asset.contains(end) && !asset.contains("<!--"));
        }
    }
}
