//! The identifiers in minijinja code, and their meaning.

/// A word outside of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word<'c> {
    pub(crate) role: Role,
    pub(crate) text: &'c str,
    /// In bytes of the code.
    pub(crate) at: usize,
    /// The code behind it.
    pub(crate) rest: &'c str,
}

/// The role of a word, by the text before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A variable or a function, or a word of the language.
    Name,
    /// `x|upper`, `{% filter upper %}`
    Filter,
    /// `x is defined`
    Test,
    /// `x.part`
    Part,
}

/// Returns the words of an expression or a statement, with its braces or without.
pub(crate) fn words(code: &str) -> Words<'_> {
    Words { code, at: 0, expected: Role::Name, after_is: false, is_first: code.starts_with("{%") }
}

pub(crate) struct Words<'c> {
    code: &'c str,
    at: usize,
    /// The role of the next word.
    expected: Role,
    /// `true` after `is`, where `not` may follow.
    after_is: bool,
    /// `true` until the first word of a statement.
    is_first: bool,
}

impl<'c> Iterator for Words<'c> {
    type Item = Word<'c>;

    fn next(&mut self) -> Option<Word<'c>> {
        loop {
            let rest = self.code.get(self.at..)?;
            let first = rest.chars().next()?;
            if is_word(first) {
                if let Some(word) = self.word(rest) {
                    return Some(word);
                }
                continue;
            }
            self.at += match first {
                '"' | '\'' => quoted_length(rest).unwrap_or(rest.len()),
                _ => first.len_utf8(),
            };
            if !first.is_whitespace() {
                self.after_is = false;
                self.expected = match first {
                    '.' => Role::Part,
                    '|' => Role::Filter,
                    _ => Role::Name,
                };
            }
        }
    }
}

impl<'c> Words<'c> {
    /// Passes a word, or a number.
    fn word(&mut self, rest: &'c str) -> Option<Word<'c>> {
        let role = std::mem::replace(&mut self.expected, Role::Name);
        let is_dotted = matches!(role, Role::Filter | Role::Test);
        let belongs = |c: char| is_word(c) || (c == '.' && is_dotted);
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let (text, rest) = rest.split_at_checked(length)?;
        let word = Word { role, text, at: self.at, rest };
        self.at += length;
        let is_first = std::mem::take(&mut self.is_first);
        let after_is = std::mem::take(&mut self.after_is);
        match (role, text) {
            (Role::Name, "filter") if is_first => self.expected = Role::Filter,
            (Role::Name, "is") => (self.expected, self.after_is) = (Role::Test, true),
            (Role::Test, "not") if after_is => {
                self.expected = Role::Test;
                return None;
            }
            _ => {}
        }
        (!text.starts_with(|c: char| c.is_ascii_digit())).then_some(word)
    }
}

/// Returns the word that a text begins with, after white space.
pub(crate) fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    text.get(..text.find(|c| !is_word(c)).unwrap_or(text.len())).unwrap_or_default()
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the length of the quoted text at the start of the code, including quotes. Returns `None` if it is not
/// closed.
pub(crate) fn quoted_length(code: &str) -> Option<usize> {
    let mut bytes = code.bytes().enumerate();
    let (_, quote) = bytes.next()?;
    let mut escaped = false;
    for (index, byte) in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return Some(index + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(role: Role, code: &str) -> Vec<&str> {
        words(code).filter(|word| word.role == role).map(|word| word.text).collect()
    }

    #[test]
    fn word_role_is_derived_from_the_preceding_token() {
        let code = r#"{{ a.b + b['c\'d'] ~ "e" ~ x_1|f1 | f2("g", h)|n.s is not t1 and y is t2(z) or 1.5e3 }}"#;
        assert_eq!(of(Role::Name, code), ["a", "b", "x_1", "h", "is", "and", "y", "is", "z", "or"]);
        assert_eq!(of(Role::Filter, code), ["f1", "f2", "n.s"]);
        assert_eq!(of(Role::Test, code), ["t1", "t2"]);
        assert_eq!(of(Role::Part, code), ["b"]);
        assert_eq!(of(Role::Filter, "{%- filter upper|lower -%}"), ["upper", "lower"]);
        assert_eq!(of(Role::Name, "filter upper"), ["filter", "upper"]);
        let last = words("x\n is\n known").last().unwrap();
        assert_eq!((last.role, last.text, last.at, last.rest), (Role::Test, "known", 7, ""));
    }
}
