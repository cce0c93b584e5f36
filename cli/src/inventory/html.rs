//! The inventory as a single page without requests, in which untrusted text is only text.

use std::collections::HashSet;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp_bindgen_codegen::Listed;
use mcp_bindgen_schema::drift::Change;
use serde_json::Value;

use super::{Offer, Parameter, Server, Tool};
use crate::output::lines_printable;
use crate::report::{classes, counted};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page. The same inventory gives the same bytes.
pub(crate) fn page(servers: &[Server]) -> String {
    let tools: usize = servers.iter().map(|server| server.tools.len()).sum();
    let mut page = Page { html: String::new(), texts: Vec::new(), ids: HashSet::new() };
    for server in servers {
        page.server(server);
    }
    let (script, style) = (asset(SCRIPT), asset(STYLE));
    // A text of a stranger cannot end the element that it is data of, and commands no runner of GitHub's.
    let texts = Value::from(page.texts).to_string().replace('<', "\\u003c").replace("##[", "##\\u005b");
    let links = servers.iter().map(|server| format!("<li><a href=\"#{0}\">{0}</a></li>", escaped(&server.name)));
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

/// An asset as it stands on the page, whatever git made of its line ends.
fn asset(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// By it a browser knows an asset for ours.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(mcp_bindgen_model::sha256(text.as_bytes())))
}

/// A stranger's text in markup, between tags or in quotes: it begins and ends nothing, and hides nothing.
fn escaped(text: &str) -> String {
    let text = lines_printable(text);
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    let mut at_start = true;
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Runners of GitHub's obey lines that begin with `::`, and `##[` anywhere: they see none of it here.
            ':' if at_start => safe.push_str("&#58;"),
            '[' if safe.ends_with("##") => safe.push_str("&#91;"),
            _ => safe.push(character),
        }
        at_start = character == '\n' || (at_start && character.is_whitespace());
    }
    safe
}

/// A stranger's name, which turns the direction of no other text.
fn name(text: &str) -> String {
    format!("<bdi>{}</bdi>", escaped(&text.replace('\n', "\\n")))
}

/// Part of a link: everything but letters, digits, `-`, `.` and `_` by its bytes.
fn part(text: &str) -> String {
    let mut part = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
            part.push(char::from(byte));
        } else {
            let _ = write!(part, "%{byte:02X}");
        }
    }
    part
}

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

    /// The id, or one like it where a server has two of one name. Those of the page itself begin with `_`, as no server's name
    /// does.
    fn id(&mut self, wanted: String) -> String {
        let mut id = wanted.clone();
        let mut count = 1;
        while !self.ids.insert(id.clone()) {
            count += 1;
            id = format!("{wanted}~{count}");
        }
        id
    }

    fn server(&mut self, server: &Server) {
        let id = self.id(part(&server.name));
        self.add(format!("<section id=\"{id}\">\n<h2><a href=\"#{id}\">{}</a></h2>", name(&server.name)));
        let mut itself: Vec<String> = server.calls_itself.as_deref().map(name).into_iter().collect();
        itself.extend(server.protocol.as_deref().map(|version| format!("protocol {}", name(version))));
        itself.push(server.counts());
        self.add(format!("<p class=\"faint\">{}</p>", itself.join("; ")));
        if let Some(instructions) = &server.instructions {
            self.add(format!(
                "<details><summary>What it says of its use</summary><p class=\"text\"><bdi>{}</bdi></p></details>",
                escaped(instructions)
            ));
        }
        if let Some(since) = &server.since {
            let changes = match since.is_new {
                true => "new".to_owned(),
                false if since.changes.is_empty() => "no difference".to_owned(),
                false => classes(&since.changes),
            };
            self.add(format!("<p>Since {}: {changes}.</p>", name(&since.revision)));
            self.changes(server.other_changes(), true);
        }
        if !server.left_out.is_empty() {
            let left_out = server
                .left_out
                .iter()
                .map(|tool| format!("<li><code>{}</code> by <code>{}</code></li>", name(&tool.name), tool.by));
            let left_out: String = left_out.collect();
            self.add(format!(
                "<details><summary>{} left out by the configuration</summary><ul>{left_out}</ul></details>",
                counted(server.left_out.len(), "tool")
            ));
        }
        for tool in &server.tools {
            self.tool(server, tool);
        }
        for offer in &server.offers {
            self.offer(server, offer);
        }
        self.add("</section>");
    }

    fn head(&mut self, id: &str, wire: &str, title: Option<&str>, tags: &[(String, bool)]) {
        let title = title
            .filter(|title| *title != wire)
            .map(|title| format!(" <small class=\"faint\">{}</small>", name(title)));
        let (wire, title) = (name(wire), title.unwrap_or_default());
        self.add(format!(
            "<article class=\"card\" id=\"{id}\">\n<h3><a href=\"#{id}\"><code>{wire}</code></a>{title}</h3>"
        ));
        if !tags.is_empty() {
            let tags = tags.iter().map(|(tag, is_ours)| {
                let class = if *is_ours { " class=\"ours\"" } else { "" };
                format!("<li{class}>{}</li>", escaped(tag))
            });
            let tags: String = tags.collect();
            self.add(format!("<ul class=\"tags\">{tags}</ul>"));
        }
    }

    fn tool(&mut self, server: &Server, tool: &Tool) {
        let wire = &tool.binding.tool;
        self.texts.push(found_by(
            &server.name,
            wire,
            tool.title.as_deref(),
            tool.description.as_deref(),
            &tool.parameters,
        ));
        let mut tags: Vec<(String, bool)> = Vec::new();
        if tool.approve {
            tags.push(("needs approval".to_owned(), true));
        }
        tags.extend(tool.overridden().map(|said| (said, true)));
        tags.extend(tool.says().into_iter().map(|hint| (format!("says {hint}"), false)));
        let id = self.id(format!("{}/{}", part(&server.name), part(wire)));
        self.head(&id, wire, tool.title.as_deref(), &tags);
        self.about(tool.description.as_deref());
        tool.view().iter().for_each(|line| self.add(format!("<p>{}</p>", escaped(line))));
        self.changes(tool.changes.iter(), false);
        self.parameters(&tool.parameters);
        if let Some(answers) = &tool.answers {
            self.add(format!("<p>Answers {}</p>", name(answers)));
        }
        self.notes(tool.diagnostics.iter().map(|note| note.text.as_str()));
        self.add(format!(
            "<p class=\"faint\">prefixed name <code>{}</code></p>\n<p class=\"faint\"><code>{}</code></p>",
            escaped(&tool.binding.prefixed),
            escaped(&tool.signature())
        ));
        for (part, types) in tool.inner_types() {
            self.add(format!("<p class=\"faint\">types in {part}: <code>{}</code></p>", escaped(&types.join(", "))));
        }
        self.add("<details><summary>Schema, Rust and an example call</summary>\n<div class=\"beside\"><div>");
        if let Some(code) = &tool.code {
            self.code("Parameters' schema", &format!("{:#}", code.input_schema));
        }
        if let Some(schema) = tool.code.as_ref().and_then(|code| code.output_schema.as_ref()) {
            self.code("Result's schema", &format!("{schema:#}"));
        }
        self.add("</div><div>");
        self.code("Call", &tool.example);
        if let Some(code) = &tool.code {
            self.code("Rust", code.source.trim_end());
        }
        self.add("</div></div></details>\n</article>");
    }

    fn offer(&mut self, server: &Server, offer: &Offer) {
        let wire = &offer.binding.name;
        self.texts.push(found_by(
            &server.name,
            wire,
            offer.title.as_deref(),
            offer.description.as_deref(),
            &offer.parameters,
        ));
        let kind = if offer.binding.listed == Listed::Prompt { "prompts" } else { "resources" };
        let id = self.id(format!("{}/{kind}/{}", part(&server.name), part(wire)));
        self.head(&id, wire, offer.title.as_deref(), &[(offer.binding.listed.to_string(), false)]);
        self.about(offer.description.as_deref());
        if let Some(template) = &offer.binding.uri_template {
            self.add(format!("<p><code>{}</code></p>", name(template)));
        }
        self.parameters(&offer.parameters);
        self.notes(offer.diagnostics.iter().map(|note| note.text.as_str()));
        self.add(format!("<p class=\"faint\"><code>{}</code></p>\n</article>", escaped(&offer.signature())));
    }

    fn about(&mut self, description: Option<&str>) {
        if let Some(description) = description {
            self.add(format!("<p class=\"text\"><bdi>{}</bdi></p>", escaped(description)));
        }
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
            let said = description.as_deref().map(|said| format!("<bdi>{}</bdi>", escaped(said))).unwrap_or_default();
            self.add(format!(
                "<tr><th scope=\"row\"><code>{}</code></th><td>{}</td><td>{required}</td><td class=\"text\">{said}</td></tr>",
                name(wire),
                name(kind)
            ));
        }
        self.add("</tbody></table></div>");
    }

    fn changes<'c>(&mut self, changes: impl Iterator<Item = &'c Change>, names_tools: bool) {
        let items = changes.map(|change| {
            let tool =
                if names_tools && !change.tool.is_empty() { format!("{} ", name(&change.tool)) } else { String::new() };
            let class = change.class.name();
            format!("<li><strong class=\"{class}\">{class}</strong> {tool}{}</li>", escaped(&change.in_words()))
        });
        let items: String = items.collect();
        if !items.is_empty() {
            self.add(format!("<ul class=\"changes\">{items}</ul>"));
        }
    }

    fn notes<'n>(&mut self, notes: impl Iterator<Item = &'n str>) {
        let items: String = notes.map(|note| format!("<li>{}</li>", name(note))).collect();
        if !items.is_empty() {
            self.add(format!("<ul class=\"faint\">{items}</ul>"));
        }
    }

    fn code(&mut self, title: &str, text: &str) {
        let wraps = if title == "Call" { " class=\"call\"" } else { "" };
        self.add(format!("<h4>{title}</h4><pre{wraps} tabindex=\"0\"><code>{}</code></pre>", escaped(text)));
    }
}

/// Returns the text that is searched for a card, in small letters.
fn found_by(
    server: &str,
    wire: &str,
    title: Option<&str>,
    description: Option<&str>,
    parameters: &[Parameter],
) -> String {
    let names = parameters.iter().map(|parameter| parameter.name.as_str());
    let texts = [server, wire].into_iter().chain(title).chain(description).chain(names);
    lines_printable(&texts.collect::<Vec<_>>().join("\n")).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_begin_and_end_nothing() {
        assert_eq!(
            escaped("</script><!-- \"onload='x' & ]]>"),
            "&lt;/script&gt;&lt;!-- &quot;onload=&#39;x&#39; &amp; ]]&gt;"
        );
        assert_eq!(escaped("a\u{202e}b\n\u{1b}[0m"), "a\\u{202e}b\n\\u{1b}[0m");
        assert_eq!(escaped("::a\n  ::b::c\n##[d]"), "&#58;:a\n  &#58;:b::c\n##&#91;d]");
        assert_eq!(part("any file/é~"), "any%20file%2F%C3%A9%7E");
    }

    #[test]
    fn the_assets_can_stand_on_a_page() {
        for (asset, end) in [(STYLE, "</style"), (SCRIPT, "</script")] {
            assert!(!asset.contains(end) && !asset.contains("<!--"));
        }
    }
}
