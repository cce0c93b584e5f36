//! Selects the patterns to check: ECMA-262 patterns with the same meaning and a small size as an automaton. The
//! generator needs no regex engine for this: the runtime's engine accepts all selected patterns.

use std::iter::Peekable;
use std::str::Chars;

/// How large the automaton of a pattern may be, in about its bytes of text.
const LARGEST: usize = 4096;
/// Groups inside of groups.
const DEEPEST: usize = 32;
/// The cost of one character of a text that may be any of many.
const MANY: usize = 24;
/// The cost of a character class by a Unicode property.
const PROPERTY: usize = 512;
/// The limit on repetitions in `a{n,m}` that every provider takes: a grammar expands them.
const MOST_PORTABLE: usize = 64;

/// Returns `true` if a pattern is checked.
pub(super) fn is_plain(pattern: &str) -> bool {
    read(pattern).is_some()
}

/// Returns `true` if a pattern is short, and made of nothing but what every provider's engine takes: no `\b`, no
/// characters by their code, no Unicode classes, no large or lazy repetitions.
#[cfg(feature = "provider")]
pub(crate) fn is_portable(pattern: &str) -> bool {
    const LONGEST: usize = 256;
    pattern.len() <= LONGEST && !pattern.chars().any(char::is_control) && read(pattern) == Some(true)
}

/// Reads a pattern, and returns `true` if every engine takes its parts; `None` if it is not plain.
fn read(pattern: &str) -> Option<bool> {
    let mut reading = Reading { characters: pattern.chars().peekable(), depth: 0, is_portable: true };
    let size = reading.choice()?;
    (size <= LARGEST && reading.characters.next().is_none()).then_some(reading.is_portable)
}

struct Reading<'p> {
    characters: Peekable<Chars<'p>>,
    depth: usize,
    is_portable: bool,
}

/// A part of a pattern: its size, and whether it may be repeated.
type Part = (usize, bool);

/// The size of a class, and its character if there is only one.
type Member = (usize, Option<char>);

impl Reading<'_> {
    fn takes(&mut self, wanted: char) -> bool {
        self.characters.next_if_eq(&wanted).is_some()
    }

    /// Parts beside each other, with `|` between some.
    fn choice(&mut self) -> Option<usize> {
        let mut size: usize = 0;
        while self.characters.peek().is_some_and(|next| *next != ')') {
            if !self.takes('|') {
                let (part, can_repeat) = self.part()?;
                size = size.checked_add(part.checked_mul(self.repeated(can_repeat)?)?)?;
            }
        }
        Some(size)
    }

    fn part(&mut self) -> Option<Part> {
        match self.characters.next()? {
            '^' | '$' => Some((1, false)),
            '.' => Some((MANY, true)),
            '(' => Some((self.group()?, true)),
            '[' => Some((self.class()?, true)),
            '\\' if self.takes('b') || self.takes('B') => {
                self.is_portable = false;
                Some((1, false))
            }
            '\\' => Some((self.escape()?.0, true)),
            '*' | '+' | '?' | '{' | '}' | ']' => None,
            other => Some((other.len_utf8(), true)),
        }
    }

    fn group(&mut self) -> Option<usize> {
        self.depth += 1;
        if self.takes('?') && !self.takes(':') || self.depth > DEEPEST {
            return None;
        }
        let size = self.choice()?;
        self.depth -= 1;
        self.takes(')').then_some(size.max(1))
    }

    /// Returns how often the previous part is repeated.
    fn repeated(&mut self, can_repeat: bool) -> Option<usize> {
        let times = if self.takes('{') {
            let least = self.digits()?;
            let most = if self.takes(',') { self.digits().unwrap_or(least + 1) } else { least };
            self.is_portable &= most <= MOST_PORTABLE;
            (self.takes('}') && least <= most).then_some(most.max(1))?
        } else if self.takes('*') || self.takes('+') || self.takes('?') {
            2
        } else {
            return Some(1);
        };
        self.is_portable &= !self.takes('?');
        can_repeat.then_some(times)
    }

    /// Reads characters of a kind.
    fn run(&mut self, kind: fn(&char) -> bool) -> String {
        std::iter::from_fn(|| self.characters.next_if(kind)).collect()
    }

    fn digits(&mut self) -> Option<usize> {
        self.run(char::is_ascii_digit).parse().ok().filter(|number| *number <= LARGEST)
    }

    fn class(&mut self) -> Option<usize> {
        let mut size = if self.takes('^') { MANY } else { 1 };
        let mut is_empty = true;
        while !self.takes(']') {
            is_empty = false;
            let (cost, first) = self.member()?;
            size += cost;
            if !self.takes('-') || self.characters.peek() == Some(&']') {
                continue;
            }
            let ((cost, last), first) = (self.member()?, first?);
            size += cost.max(if first.is_ascii() && last?.is_ascii() { 1 } else { MANY });
            if first > last? || last? == '-' || first == '-' {
                return None;
            }
        }
        (!is_empty).then_some(size)
    }

    fn member(&mut self) -> Option<Member> {
        match self.characters.next()? {
            '\\' => self.escape(),
            other => {
                self.is_portable &= other != '[';
                Some((other.len_utf8(), Some(other)))
            }
        }
    }

    /// Reads the character after a backslash.
    fn escape(&mut self) -> Option<Member> {
        let escaped = self.characters.next()?;
        self.is_portable &= !"fvxupP".contains(escaped);
        match escaped {
            'd' | 'w' => Some((1, None)),
            'D' | 'W' | 's' | 'S' => Some((MANY, None)),
            't' => Some((1, Some('\t'))),
            'n' => Some((1, Some('\n'))),
            'r' => Some((1, Some('\r'))),
            'f' => Some((1, Some('\x0c'))),
            'v' => Some((1, Some('\x0b'))),
            'x' => self.hex(2),
            'u' if self.characters.peek() != Some(&'{') => self.hex(4),
            'p' | 'P' => self.property(),
            other if other.is_ascii_punctuation() && other != '<' && other != '>' => Some((1, Some(other))),
            _ => None,
        }
    }

    fn hex(&mut self, count: usize) -> Option<Member> {
        let digits: String = self.characters.by_ref().take(count).collect();
        let is_hex = digits.len() == count && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let code = u32::from_str_radix(&digits, 16).ok().filter(|_| is_hex)?;
        char::from_u32(code).map(|character| (character.len_utf8(), Some(character)))
    }

    /// Returns the categories that every engine knows.
    fn property(&mut self) -> Option<Member> {
        const KNOWN: [&str; 12] = ["L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "N", "Nd", "P", "S", "Z"];
        let name = self.takes('{').then(|| self.run(char::is_ascii_alphabetic))?;
        (self.takes('}') && KNOWN.contains(&name.as_str())).then_some((PROPERTY, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: [&str; 16] = [
        "",
        "^[0-9]{4,}-(0[1-9]|1[012])T([.][0-9]{1,12})?(Z|[+-][0-9][0-9]:[0-9][0-9])$",
        "^[A-Z][A-Z0-9_]+-\\d+(?:-\\d+)*$",
        "^[.\\-A-Za-z0-9]+([=!,]{1,2}[./\\-A-Za-z0-9]+)+$",
        "^([/_.\\-A-Za-z0-9=, ()!])+$",
        "^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$",
        "^[\\x20-\\x7E]*$",
        "^https?:\\/\\/",
        "^\\p{L}[\\p{N}_-]?$",
        "^[a-zA-Z0-9\\s()@&+:._',-]+$",
        "^[[&~]$",
        "^[\\w-]+$",
        "\\bword\\B\\_",
        "a|b||c",
        "^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$",
        "\u{e9}+?",
    ];
    const OTHER: [&str; 26] = [
        "(?=a)b", "(?!a)", "(?<=a)", "(?<!a)", "(a)\\1", "\\k<a>", "(?<a>b)", "(?i)a", "a**", "*a", "{", "a{",
        "a{2,1}", "]", "[]", "[^]", "[z-a]", "[a--b]", "[\\w-z]", "^*", "\\cA", "\\A", "\\", "(", ")", "a{5000}",
    ];

    #[test]
    fn pattern_without_an_automaton_is_not_plain() {
        for pattern in PLAIN {
            assert!(is_plain(pattern), "{pattern}");
        }
        for pattern in OTHER {
            assert!(!is_plain(pattern), "{pattern}");
        }
        assert!(!is_plain(&"(".repeat(100_000)));
        assert!(!is_plain("((a{100}){100}){100}"));
    }

    #[test]
    fn every_plain_pattern_compiles() {
        use proptest::prelude::*;

        use crate::drift::pattern::compile;
        for pattern in PLAIN {
            assert!(compile(pattern).is_some(), "{pattern}");
        }
        let atom = "a|\\.|\\[\\^?[a-c\\\\dws&~-]{1,4}\\]|\\\\[dDwWsSbBtnrfv.x/-]|\\(|\\)|\\(\\?:|\\||\\*|\\+|\\?|\\{[1-9],?[0-9]?\\}|\\^|\\$|\u{e9}|-|\\\\p\\{L\\}|\\\\x4[0-9a-f]|\\\\u00e9";
        let pattern = format!("({atom}){{1,12}}");
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(4_000));
        let taken = std::cell::Cell::new(0);
        runner
            .run(&pattern.as_str(), |pattern| {
                if is_plain(&pattern) {
                    taken.set(taken.get() + 1);
                    prop_assert!(compile(&pattern).is_some(), "{pattern}");
                }
                Ok(())
            })
            .unwrap();
        assert!(taken.get() > 200, "{} patterns were plain", taken.get());
    }
}
