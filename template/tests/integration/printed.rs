//! A template as text again, for what holds of every template.

use mcp_bindgen_template::{Action, Argument, Completion, OnError, Part, PieceKind, Target, Template, Term, Text};

/// Says what it is once more, in other words; texts side by side are one.
pub(crate) fn printed(template: &Template) -> String {
    let mut text = String::new();
    for (index, segment) in template.segments.iter().enumerate() {
        for piece in &segment.pieces {
            match &piece.kind {
                PieceKind::Text(part) => text.push_str(&plain(part)),
                // Comments end the effect of signs on the text beside them, which they have had already.
                PieceKind::Expression(code) | PieceKind::Statement(code) => {
                    text.push_str(&format!("{{##}}{code}{{##}}"))
                }
                PieceKind::Action(action) => text.push_str(&of_action(action)),
                PieceKind::Completion(completion) => text.push_str(&of_completion(completion)),
                _ => panic!("a piece of another kind"),
            }
        }
        match &segment.name {
            Some(name) => text.push_str(&format!("<checkpoint>{name}</checkpoint>")),
            None if index + 1 < template.segments.len() => text.push_str("<checkpoint>"),
            None => {}
        }
    }
    text
}

/// Texts that mean nothing but themselves. What a raw block holds is between signs that do nothing.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['[', '{', '<']) {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let character = from.chars().next().unwrap();
        plain.push_str(&format!("{{% raw %}}{character}{{% endraw %}}"));
        rest = &from[1..];
    }
    plain.push_str(rest);
    plain
}

fn of_action(action: &Action) -> String {
    let variable = action.variable.as_ref().map(|text| format!(":{}", name(text))).unwrap_or_default();
    let mut options: Vec<String> = action.arguments.iter().map(option).collect();
    let called = match &action.target {
        Target::Prefixed(name) => name.clone(),
        Target::Tool { server, tool } => {
            options.push(format!("server={}, tool={}", quoted(server), quoted(tool)));
            "mcp".to_owned()
        }
        _ => panic!("a target of another kind"),
    };
    match &action.on_error {
        OnError::Propagate => {}
        OnError::Empty => options.push("on_error=empty".to_owned()),
        OnError::Default(value) => options.push(format!("on_error=default({})", of_term(value))),
        _ => panic!("another way"),
    }
    format!("[[@{called}{variable}|{}]]", options.join(", "))
}

fn of_completion(completion: &Completion) -> String {
    let kind = completion.kind.as_ref().map(|kind| format!("{kind}:")).unwrap_or_default();
    let options: Vec<String> = completion.options.iter().map(option).collect();
    format!("[[{kind}{}|{}]]", name(&completion.variable), options.join(", "))
}

fn name(text: &Text) -> String {
    let part = |part: &Part| match part {
        Part::Literal(literal) => literal.clone(),
        Part::Expression(code) => format!("{{{{ {code} }}}}"),
        _ => panic!("a part of another kind"),
    };
    text.parts.iter().map(part).collect()
}

fn option(argument: &Argument) -> String {
    format!("{}={}", quoted(&argument.name), of_term(&argument.value))
}

fn of_term(term: &Term) -> String {
    match term {
        Term::Literal(value) => value.to_string(),
        Term::Text(text) => {
            let part = |part: &Part| match part {
                Part::Literal(literal) => {
                    let json = quoted(literal);
                    json[1..json.len() - 1].to_owned()
                }
                Part::Expression(code) => format!("{{{{ {code} }}}}"),
                _ => panic!("a part of another kind"),
            };
            format!("\"{}\"", text.parts.iter().map(part).collect::<String>())
        }
        // Spaces, so that brackets of lists do not meet.
        Term::Variable(code) => code.clone(),
        Term::List(items) => format!("[ {} ]", items.iter().map(of_term).collect::<Vec<_>>().join(", ")),
        Term::Object(fields) => {
            let field = |(key, value): &(String, Term)| format!("{}: {}", quoted(key), of_term(value));
            format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        _ => panic!("a term of another kind"),
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap().replace('{', "\\u007b")
}

/// All that a template says, without places: what has to survive.
pub(crate) fn meaning(template: &Template) -> Vec<String> {
    let mut said = Vec::new();
    for segment in &template.segments {
        let mut text = String::new();
        for piece in &segment.pieces {
            if let PieceKind::Text(part) = &piece.kind {
                text.push_str(part);
                continue;
            }
            said.push(format!("text {:?}", std::mem::take(&mut text)));
            said.push(match &piece.kind {
                PieceKind::Action(action) => of_action(action),
                PieceKind::Completion(completion) => of_completion(completion),
                other => format!("{other:?}"),
            });
        }
        said.push(format!("text {text:?}"));
        said.push(format!("checkpoint {:?}", segment.name));
    }
    said
}
