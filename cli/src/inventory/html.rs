//! The inventory as a single page without requests, in which untrusted text is only text.

use std::collections::HashSet;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp_bindgen_codegen::Listed;
use mcp_bindgen_schema::drift::Change;
use serde_json::Value;

use super::{About, LeftOut, Offer, Parameter, Server, Tool};
use crate::output::lines_printable;
use crate::report::counted;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Returns the page. The same inventory gives the same bytes.
pub(crate) fn page(servers: &[Server]) -> String {
    let tools: usize = servers.iter().map(|server| server.tools.len()).sum();
    let mut page = Page { html: String::new(), texts: Vec::new(), ids: HashSet::new() };
    for server in servers {
        page.server(server);
    }
    let (script, style) = (asset(SCRIPT), asset(STYLE));
    // Untrusted text must not end the element of the data, and must not contain commands of a GitHub runner.
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

/// Returns an asset for the page, with line ends as in the repository.
fn asset(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Returns the hash by which a browser accepts an asset.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(mcp_bindgen_model::sha256(text.as_bytes())))
}

/// Escapes untrusted text for markup, between tags or in quotes.
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

/// Escapes an untrusted name, and isolates its text direction.
fn name(text: &str) -> String {
    format!("<bdi>{}</bdi>", escaped(&text.replace('\n', "\\n")))
}

/// Encodes a part of a link: all bytes except letters, digits, `-`, `.` and `_`.
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

    /// Returns the id, or a similar one if it is taken. Ids of the page itself begin with `_`, which no server name
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
        let mut itself = server.itself(name);
        itself.push(server.counts());
        self.add(format!("<p class=\"faint\">{}</p>", itself.join("; ")));
        if let Some(instructions) = &server.instructions {
            self.add(format!(
                "<details><summary>What it says of its use</summary><p class=\"text\"><bdi>{}</bdi></p></details>",
                escaped(instructions)
            ));
        }
        if let Some(since) = &server.since {
            self.add(format!("<p>Since {}: {}.</p>", name(&since.revision), since.in_words()));
            self.changes(server.other_changes(), true);
        }
        if !server.left_out.is_empty() {
            let item =
                |tool: &LeftOut| format!("<li><code>{}</code> by <code>{}</code></li>", name(&tool.name), tool.by);
            let left_out: String = server.left_out.iter().map(item).collect();
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

    /// Writes the beginning of a card, with the texts for the search and the link.
    fn head(&mut self, server: &str, place: &str, wire: &str, about: &About, tags: &[(String, bool)]) {
        self.texts.push(found_by(server, wire, about));
        let id = self.id(format!("{}{place}/{}", part(server), part(wire)));
        let title = about.title.as_deref().filter(|title| *title != wire);
        let title = title.map(|title| format!(" <small class=\"faint\">{}</small>", name(title))).unwrap_or_default();
        let wire = name(wire);
        self.add(format!(
            "<article class=\"card\" id=\"{id}\">\n<h3><a href=\"#{id}\"><code>{wire}</code></a>{title}</h3>"
        ));
        if !tags.is_empty() {
            let class = |is_ours: bool| if is_ours { " class=\"ours\"" } else { "" };
            let tags: String =
                tags.iter().map(|(tag, is_ours)| format!("<li{}>{}</li>", class(*is_ours), escaped(tag))).collect();
            self.add(format!("<ul class=\"tags\">{tags}</ul>"));
        }
        if let Some(description) = &about.description {
            self.add(format!("<p class=\"text\"><bdi>{}</bdi></p>", escaped(description)));
        }
    }

    fn tool(&mut self, server: &Server, tool: &Tool) {
        let ours = tool.demands().chain(tool.overridden());
        let tags = ours.map(|said| (said, true)).chain(tool.says().into_iter().map(|said| (said, false)));
        self.head(&server.name, "", &tool.binding.tool, &tool.about, &tags.collect::<Vec<_>>());
        tool.view().iter().for_each(|line| self.add(format!("<p>{}</p>", escaped(line))));
        self.changes(tool.changes.iter(), false);
        self.parameters(&tool.about.parameters);
        if let Some(answers) = &tool.answers {
            self.add(format!("<p>Answers {}</p>", name(answers)));
        }
        self.notes(&tool.about);
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
        let place = if offer.binding.listed == Listed::Prompt { "/prompts" } else { "/resources" };
        let tags = [(offer.binding.listed.to_string(), false)];
        self.head(&server.name, place, &offer.binding.name, &offer.about, &tags);
        if let Some(template) = &offer.binding.uri_template {
            self.add(format!("<p><code>{}</code></p>", name(template)));
        }
        self.parameters(&offer.about.parameters);
        self.notes(&offer.about);
        self.add(format!("<p class=\"faint\"><code>{}</code></p>\n</article>", escaped(&offer.signature())));
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
            let is_named = names_tools && !change.tool.is_empty();
            let tool = if is_named { format!("{} ", name(&change.tool)) } else { String::new() };
            let class = change.class.name();
            format!("<li><strong class=\"{class}\">{class}</strong> {tool}{}</li>", escaped(&change.in_words()))
        });
        let items: String = items.collect();
        if !items.is_empty() {
            self.add(format!("<ul class=\"changes\">{items}</ul>"));
        }
    }

    fn notes(&mut self, about: &About) {
        let items: String = about.diagnostics.iter().map(|note| format!("<li>{}</li>", name(&note.text))).collect();
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
fn found_by(server: &str, wire: &str, about: &About) -> String {
    let names = about.parameters.iter().map(|parameter| parameter.name.as_str());
    let texts =
        [server, wire].into_iter().chain(about.title.as_deref()).chain(about.description.as_deref()).chain(names);
    lines_printable(&texts.collect::<Vec<_>>().join("\n")).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_escaping_neutralizes_markup_and_workflow_commands() {
        assert_eq!(
            escaped("</script><!-- \"onload='x' & ]]>"),
            "&lt;/script&gt;&lt;!-- &quot;onload=&#39;x&#39; &amp; ]]&gt;"
        );
        assert_eq!(escaped("a\u{202e}b\n\u{1b}[0m"), "a\\u{202e}b\n\\u{1b}[0m");
        assert_eq!(escaped("::a\n  ::b::c\n##[d]"), "&#58;:a\n  &#58;:b::c\n##&#91;d]");
        assert_eq!(part("any file/é~"), "any%20file%2F%C3%A9%7E");
    }

    #[test]
    fn assets_do_not_close_their_element() {
        for (asset, end) in [(STYLE, "</style"), (SCRIPT, "</script")] {
            assert!(!asset.contains(end) && !asset.contains("<!--"));
        }
    }
}
