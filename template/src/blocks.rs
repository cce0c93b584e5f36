//! The statements of minijinja that open and close blocks.

use crate::fault::{Fault, Place, meant};
use crate::words::first_word;

/// More than minijinja goes into.
const DEEPEST: usize = 64;

const OPENING: [&str; 6] = ["if", "for", "with", "set", "autoescape", "filter"];
/// Blocks of these are rendered on demand, or more than once: they may hold no slot.
const FORBIDDING: [&str; 2] = ["set", "filter"];
const COMBINING: [&str; 5] = ["include", "extends", "import", "from", "block"];
/// Blocks that minijinja only knows with extra features. They are refused, so that a template means the same in every
/// program.
const ELSEWHERE: [(&str, &str); 4] = [
    ("macro", "write its content where it is used"),
    ("call", "write its content in its place"),
    ("break", "put the rest into `{% if %}`, or filter the items: `{% for x in all if .. %}`"),
    ("continue", "put the rest into `{% if %}`, or filter the items: `{% for x in all if .. %}`"),
];
const OTHERS: [&str; 3] = ["else", "elif", "do"];

/// The effect of a statement on the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It opens a block with this keyword.
    Opens(&'static str),
    /// It closes the innermost block.
    Closes,
    /// Neither.
    None,
}

/// Returns the effect of a statement, without its braces, on the surrounding blocks.
#[must_use]
pub fn effect(inner: &str) -> Effect {
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

/// Returns the replacement for a statement that minijinja has only with a feature.
fn elsewhere(word: &str) -> Option<&'static str> {
    let name = word.strip_prefix("end").unwrap_or(word);
    ELSEWHERE.iter().find(|(known, _)| *known == name).map(|(_, instead)| *instead)
}

/// Returns `true` if there is a `=` outside of brackets and texts: `{% set x = 1 %}` has no end.
fn assigns(inner: &str) -> bool {
    let (mut depth, mut quote, mut escaped, mut before) = (0_usize, None, false, 0);
    let mut bytes = inner.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            (None, b'=') if depth == 0 => {
                return bytes.peek() != Some(&b'=') && !matches!(before, b'=' | b'!' | b'<' | b'>');
            }
            (None, _) => {}
        }
        before = byte;
    }
    false
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
        let fault = |message: String| Err(Fault::new(place, message));
        let innermost = self.last().map(|(name, _)| name);
        match word {
            "else" if !matches!(innermost, Some("if" | "for")) => {
                fault(format!("`{{% else %}}` belongs in `{{% if %}}` or `{{% for %}}`: {}", self.innermost()))
            }
            "else" if !is_alone => fault("nothing may follow `else`; `elif` takes a condition".to_owned()),
            "elif" if innermost != Some("if") => {
                fault(format!("`{{% elif %}}` belongs in `{{% if %}}`: {}", self.innermost()))
            }
            "raw" => fault("nothing may follow `raw`".to_owned()),
            "endraw" => fault("`{% endraw %}` closes nothing: no `{% raw %}` is open".to_owned()),
            _ if COMBINING.contains(&word) || word == "endblock" => {
                fault(format!("`{{% {word} %}}` is not supported: a template is a single text"))
            }
            _ if elsewhere(word).is_some() => {
                fault(format!("`{{% {word} %}}` is not supported: {}", elsewhere(word).unwrap_or_default()))
            }
            "" => fault("expected a statement between `{%` and `%}`".to_owned()),
            _ if OPENING.contains(&word) || OTHERS.contains(&word) => Ok(()),
            _ => {
                let closing: Vec<String> = OPENING.iter().map(|name| format!("end{name}")).collect();
                let known = OPENING
                    .into_iter()
                    .chain(OTHERS)
                    .chain(["raw", "endraw"])
                    .chain(closing.iter().map(String::as_str));
                fault(format!("unknown statement `{word}`{}", meant(word, known)))
            }
        }
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
