//! Parses patterns of ECMA-262 that can be matched in linear time. Those that mean the same to every engine, and are small,
//! are checked.

/// Groups inside of groups.
const DEEPEST: usize = 32;
/// The limit on the size of a pattern.
const LARGEST: usize = 1 << 15;
/// The limit on the size of a pattern that is checked.
const LARGEST_PLAIN: usize = 4096;
/// So many ranges are looked through in the time of one more state.
const RANGES_OF_A_STATE: usize = 8;
/// The limit on repetitions in `a{n,m}` that every provider takes: a grammar expands them.
const MOST_PORTABLE: usize = 64;

/// The first and the last of some characters.
type Range = (char, char);

/// Classes of ECMA-262, up to their end.
const DIGITS: &str = "0-9]";
const WORDS: &str = "0-9A-Z_a-z]";
const LINE_ENDS: &str = "\n\r\u{2028}\u{2029}]";
const BLANKS: &str = "\t-\r \u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}]";

/// A pattern that can be matched in linear time.
pub(crate) struct Pattern {
    pub(crate) whole: Part,
    /// At least half the number of its states in an automaton.
    pub(crate) size: usize,
    /// `true` if every engine reads it alike.
    is_plain: bool,
    /// `true` if every provider's engine takes its parts.
    #[cfg_attr(not(feature = "provider"), expect(dead_code, reason = "only providers ask"))]
    is_portable: bool,
}

/// A part of a pattern.
pub(crate) enum Part {
    /// A character of these ranges, which are sorted.
    Class(Vec<Range>),
    /// `^`, `$`, `\b` or `\B`.
    Look(&'static str),
    /// A part, and how often it is repeated at least and at most.
    Repeated(Box<Part>, usize, Option<usize>),
    /// Parts beside each other.
    Sequence(Vec<Part>),
    /// Parts of which one matches.
    Choice(Vec<Part>),
}

/// Returns `true` if a pattern is checked.
pub(super) fn is_plain(pattern: &str) -> bool {
    parse(pattern).is_some_and(|pattern| pattern.is_plain)
}

/// Returns `true` if a pattern is short, and made of nothing but what every provider's engine takes: no `\b`, no
/// characters by their code, no large or lazy repetitions.
#[cfg(feature = "provider")]
pub(crate) fn is_portable(pattern: &str) -> bool {
    const LONGEST: usize = 256;
    let is_short = pattern.len() <= LONGEST && !pattern.chars().any(char::is_control);
    is_short && parse(pattern).is_some_and(|pattern| pattern.is_plain && pattern.is_portable)
}

/// Parses a pattern. Returns `None` if it is invalid or too large, or needs more than linear time or a table of Unicode.
pub(crate) fn parse(pattern: &str) -> Option<Pattern> {
    let mut reading = Reading::of(pattern);
    let (whole, size) = reading.choice()?;
    let Reading { is_plain, is_portable, .. } = reading;
    let is_plain = is_plain && size <= LARGEST_PLAIN;
    reading.rest.is_empty().then_some(Pattern { whole, size, is_plain, is_portable })
}

struct Reading<'p> {
    rest: &'p str,
    depth: usize,
    is_plain: bool,
    is_portable: bool,
}

/// A part and its size.
type Sized = (Part, usize);

impl<'p> Reading<'p> {
    fn of(rest: &'p str) -> Self {
        Self { rest, depth: 0, is_plain: true, is_portable: true }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = self.rest.get(next.len_utf8()..)?;
        Some(next)
    }

    fn takes(&mut self, wanted: &str) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Reads parts beside each other, with `|` between some.
    fn choice(&mut self) -> Option<Sized> {
        let (mut branches, mut parts, mut size) = (Vec::new(), Vec::new(), 0);
        while !self.rest.is_empty() && !self.rest.starts_with(')') {
            if self.takes("|") {
                size += 1 + usize::from(parts.is_empty());
                branches.push(Part::Sequence(std::mem::take(&mut parts)));
            } else {
                let (part, more) = self.repeated()?;
                parts.push(part);
                size += more;
            }
            if size > LARGEST {
                return None;
            }
        }
        if branches.is_empty() {
            return Some((Part::Sequence(parts), size));
        }
        size += 1 + usize::from(parts.is_empty());
        branches.push(Part::Sequence(parts));
        Some((Part::Choice(branches), size))
    }

    /// Reads a part, and how often it is repeated.
    fn repeated(&mut self) -> Option<Sized> {
        let (part, size) = self.part()?;
        let (least, most) = if self.takes("*") {
            (0, None)
        } else if self.takes("+") {
            (1, None)
        } else if self.takes("?") {
            (0, Some(1))
        } else if self.takes("{") {
            self.counts()?
        } else {
            return Some((part, size));
        };
        self.is_portable &= !self.takes("?");
        let size = size * most.unwrap_or(least + 1).max(1) + 1;
        (!matches!(part, Part::Look(_))).then(|| (Part::Repeated(Box::new(part), least, most), size))
    }

    /// Reads the rest of `{n}`, `{n,}` or `{n,m}`.
    fn counts(&mut self) -> Option<(usize, Option<usize>)> {
        let least = self.number()?;
        let most = match (self.takes(","), self.rest.starts_with('}')) {
            (false, _) => Some(least),
            (true, true) => None,
            (true, false) => Some(self.number()?),
        };
        self.is_portable &= most.unwrap_or(least + 1) <= MOST_PORTABLE;
        (self.takes("}") && most.is_none_or(|most| least <= most)).then_some((least, most))
    }

    fn number(&mut self) -> Option<usize> {
        let end = self.rest.find(|next: char| !next.is_ascii_digit())?;
        let (digits, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        digits.parse().ok().filter(|number| *number <= LARGEST)
    }

    fn part(&mut self) -> Option<Sized> {
        let ranges = match self.next()? {
            '^' => return Some((Part::Look("^"), 1)),
            '$' => return Some((Part::Look("$"), 1)),
            '(' => return self.group(),
            '[' => {
                let is_negated = self.takes("^");
                self.class(is_negated)?
            }
            '.' => Self::of(LINE_ENDS).class(true)?,
            '\\' if self.takes("b") => return Some(self.bound("\\b")),
            '\\' if self.takes("B") => return Some(self.bound("\\B")),
            '\\' => self.escape()?,
            '*' | '+' | '?' | '{' => return None,
            other => {
                self.is_plain &= !matches!(other, ']' | '}');
                vec![(other, other)]
            }
        };
        let size = 1 + ranges.len() / RANGES_OF_A_STATE;
        Some((Part::Class(ranges), size))
    }

    fn bound(&mut self, look: &'static str) -> Sized {
        self.is_portable = false;
        (Part::Look(look), 1)
    }

    fn group(&mut self) -> Option<Sized> {
        self.depth += 1;
        if self.takes("?<") {
            self.is_plain = false;
            let (name, rest) = self.rest.split_once('>')?;
            self.rest = rest;
            if name.is_empty() || !name.chars().all(|part| part == '_' || part.is_alphanumeric()) {
                return None;
            }
        } else if self.takes("?") && !self.takes(":") {
            return None;
        }
        if self.depth > DEEPEST {
            return None;
        }
        let (part, size) = self.choice()?;
        self.depth -= 1;
        self.takes(")").then_some((part, size.max(1)))
    }

    fn class(&mut self, is_negated: bool) -> Option<Vec<Range>> {
        let mut ranges = Vec::new();
        while !self.takes("]") {
            let mut first = self.member()?;
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.next();
                let last = self.member()?;
                match (first.as_slice(), last.as_slice()) {
                    ([(from, first)], [(to, last)]) if from == first && to == last => {
                        if from > to {
                            return None;
                        }
                        self.is_plain &= *from != '-' && *to != '-';
                        ranges.push((*from, *to));
                        continue;
                    }
                    // A class cannot begin or end a range: the `-` means itself.
                    _ => {
                        self.is_plain = false;
                        first.push(('-', '-'));
                        first.extend(last);
                    }
                }
            }
            ranges.append(&mut first);
        }
        self.is_plain &= !ranges.is_empty();
        ranges.sort_unstable();
        let others = outside(&ranges);
        let ranges = if is_negated { others } else { outside(&others) };
        (!ranges.is_empty()).then_some(ranges)
    }

    fn member(&mut self) -> Option<Vec<Range>> {
        match self.next()? {
            '\\' => self.escape(),
            other => {
                self.is_portable &= other != '[';
                Some(vec![(other, other)])
            }
        }
    }

    /// Reads the character after a backslash.
    fn escape(&mut self) -> Option<Vec<Range>> {
        let escaped = self.next()?;
        self.is_portable &= !matches!(escaped, 'f' | 'v' | 'x' | 'u');
        let character = match escaped {
            'd' | 'D' => return Self::of(DIGITS).class(escaped == 'D'),
            'w' | 'W' => return Self::of(WORDS).class(escaped == 'W'),
            's' | 'S' => return Self::of(BLANKS).class(escaped == 'S'),
            'b' => {
                self.is_plain = false;
                '\x08'
            }
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\x0c',
            'v' => '\x0b',
            'x' => self.code(2)?,
            'u' => self.code(4)?,
            other if other.is_ascii_punctuation() => {
                self.is_plain &= !matches!(other, '<' | '>');
                other
            }
            _ => return None,
        };
        Some(vec![(character, character)])
    }

    /// Reads the code of a character.
    fn code(&mut self, count: usize) -> Option<char> {
        let has_braces = count == 4 && self.takes("{");
        self.is_plain &= !has_braces;
        let (digits, rest) = if has_braces { self.rest.split_once('}')? } else { self.rest.split_at_checked(count)? };
        self.rest = rest;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|_| is_hex).and_then(char::from_u32)
    }
}

/// Returns the characters that are in none of these ranges, which are sorted by their first.
fn outside(ranges: &[Range]) -> Vec<Range> {
    let mut outside = Vec::new();
    let mut next = Some('\0');
    for (first, last) in ranges {
        if let (Some(from), Some(to)) = (next, ('\0'..*first).next_back())
            && from <= to
        {
            outside.push((from, to));
        }
        next = next.zip((*last..=char::MAX).nth(1)).map(|(next, after)| next.max(after));
    }
    outside.extend(next.map(|next| (next, char::MAX)));
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: [&str; 15] = [
        "",
        "^[0-9]{4,}-(0[1-9]|1[012])T([.][0-9]{1,12})?(Z|[+-][0-9][0-9]:[0-9][0-9])$",
        "^[A-Z][A-Z0-9_]+-\\d+(?:-\\d+)*$",
        "^[.\\-A-Za-z0-9]+([=!,]{1,2}[./\\-A-Za-z0-9]+)+$",
        "^([/_.\\-A-Za-z0-9=, ()!])+$",
        "^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$",
        "^[\\x20-\\x7E]*$",
        "^https?:\\/\\/",
        "^[a-zA-Z0-9\\s()@&+:._',-]+$",
        "^[[&~]$",
        "^[\\w-]+$",
        "\\bword\\B\\_",
        "a|b||c",
        "^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$",
        "\u{e9}+?",
    ];
    const OTHER: [&str; 29] = [
        "(?=a)b",
        "(?!a)",
        "(?<=a)",
        "(?<!a)",
        "(a)\\1",
        "\\k<a>",
        "(?<a>b)",
        "(?i)a",
        "a**",
        "*a",
        "{",
        "a{",
        "a{2,1}",
        "]",
        "[]",
        "[^]",
        "[z-a]",
        "[a--b]",
        "[\\w-z]",
        "^*",
        "\\cA",
        "\\A",
        "\\",
        "(",
        ")",
        "a{5000}",
        "\\p{L}",
        "[\\P{N}]",
        "a{1,5000}",
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
