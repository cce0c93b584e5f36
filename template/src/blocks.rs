//! The statements of minijinja that open and close blocks.

use crate::fault::{Fault, Place, meant};
use crate::words::first_word;

/// More than minijinja goes into.
const DEEPEST: usize = 64;

const OPENING: [&str; 6] = ["if", "for", "with", "set", "autoescape", "filter"];
/// Blocks of these are rendered on demand, or more than once: they may hold no slot.
const FORBIDDING: [&str; 2] = ["set", "filter"];
const OTHERS: [&str; 3] = ["else", "elif", "do"];

/// The effect of a statement on the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It opens a block with this keyword.
    Opens(&'static str),
    /// It closes the innermost block.
    Closes,
    /// Neither.
    None,
}

/// Returns the effect of a statement, without its braces, on the surrounding blocks.
pub(crate) fn effect(inner: &str) -> Effect {
    let word = first_word(inner);
    if word.strip_prefix("end").is_some_and(|name| OPENING.contains(&name)) {
        return Effect::Closes;
    }
    match OPENING.into_iter().find(|name| *name == word) {
        Some("set") if assigns(inner) => Effect::None,
        Some(name) => Effect::Opens(name),
        None => Effect::None,
    }
}

/// Returns the help for a statement that minijinja only has with other templates or with a feature: it is refused, so
/// that a template means the same in every program.
fn unsupported(word: &str) -> Option<&'static str> {
    Some(match word.strip_prefix("end").unwrap_or(word) {
        "include" | "extends" | "import" | "from" | "block" => "a template is a single text",
        "macro" => "write its content where it is used",
        "call" => "write its content in its place",
        "break" | "continue" => "put the rest into `{% if %}`, or filter the items: `{% for x in all if .. %}`",
        _ => return None,
    })
}

/// Returns `true` if `{% set x = 1 %}` has no end. The target contains neither `=` nor `|`.
fn assigns(inner: &str) -> bool {
    inner.find(['=', '|']).is_some_and(|at| inner.get(at..).is_some_and(|rest| rest.starts_with('=')))
}

/// The open blocks at a position of the text, with their beginnings.
#[derive(Debug, Default)]
pub(crate) struct Blocks(Vec<(&'static str, Place)>);

impl Blocks {
    /// Takes note of a statement, without its braces.
    pub(crate) fn statement(&mut self, inner: &str, place: Place) -> Result<(), Fault> {
        let word = first_word(inner);
        let is_alone = inner.trim() == word;
        match effect(inner) {
            Effect::Opens(name) => {
                if self.0.len() >= DEEPEST {
                    return Err(Fault::new(place, format!("blocks are nested more than {DEEPEST} levels deep")));
                }
                self.0.push((name, place));
                Ok(())
            }
            Effect::Closes if !is_alone => Err(Fault::new(place, format!("nothing may follow `{word}`"))),
            Effect::Closes => self.close(word, place),
            Effect::None => self.other(word, is_alone, place),
        }
    }

    fn close(&mut self, word: &str, place: Place) -> Result<(), Fault> {
        let name = word.strip_prefix("end").unwrap_or(word);
        let Some(at) = self.0.iter().rposition(|(open, _)| *open == name) else {
            return Err(Fault::new(place, format!("`{{% {word} %}}` closes nothing: {}", self.innermost())));
        };
        let left = self.0.split_off(at);
        left.get(1..).unwrap_or_default().last().map_or(Ok(()), |(name, opened)| {
            Err(Fault::new(
                place,
                format!(
                    "unexpected `{{% {word} %}}`: `{{% {name} %}}` of line {} is still open; write `{{% end{name} \
                         %}}` before it",
                    opened.line
                ),
            ))
        })
    }

    fn other(&self, word: &str, is_alone: bool, place: Place) -> Result<(), Fault> {
        let innermost = self.last().map(|(name, _)| name);
        let message = match word {
            "" => "expected a statement between `{%` and `%}`".to_owned(),
            "else" if !matches!(innermost, Some("if" | "for")) => {
                format!("`{{% else %}}` belongs in `{{% if %}}` or `{{% for %}}`: {}", self.innermost())
            }
            "else" if !is_alone => "nothing may follow `else`; `elif` takes a condition".to_owned(),
            "elif" if innermost != Some("if") => {
                format!("`{{% elif %}}` belongs in `{{% if %}}`: {}", self.innermost())
            }
            "raw" => "nothing may follow `raw`".to_owned(),
            "endraw" => "`{% endraw %}` closes nothing: no `{% raw %}` is open".to_owned(),
            _ if OPENING.contains(&word) || OTHERS.contains(&word) => return Ok(()),
            _ => match unsupported(word) {
                Some(help) => format!("`{{% {word} %}}` is not supported: {help}"),
                None => {
                    let closing = OPENING.map(|name| format!("end{name}"));
                    let closing = closing.iter().map(String::as_str);
                    let known = OPENING.into_iter().chain(OTHERS).chain(["raw", "endraw"]).chain(closing);
                    format!("unknown statement `{word}`{}", meant(word, known))
                }
            },
        };
        Err(Fault::new(place, message))
    }

    fn innermost(&self) -> String {
        self.0.last().map_or_else(
            || "no block is open".to_owned(),
            |(name, opened)| format!("`{{% {name} %}}` of line {} is open", opened.line),
        )
    }

    /// Returns an open block that must not contain slots.
    pub(crate) fn forbidding(&self) -> Option<(&'static str, Place)> {
        self.0.iter().find(|(name, _)| FORBIDDING.contains(name)).copied()
    }

    /// Returns the innermost block that is open.
    pub(crate) fn last(&self) -> Option<(&'static str, Place)> {
        self.0.last().copied()
    }

    /// Returns the blocks that are open at the end.
    pub(crate) fn left(&self) -> impl Iterator<Item = Fault> {
        self.0.iter().map(|(name, place)| {
            Fault::new(*place, format!("`{{% {name} %}}` is not closed: write `{{% end{name} %}}`"))
        })
    }
}
