//! Reading a name as words.

/// Symbols that read as words inside a name with letters or digits: pairs, and single ones by their own names.
const PAIRS: [(&str, &str); 4] =
    [("<=", "less or equal"), (">=", "greater or equal"), ("==", "equals"), ("!=", "not equal")];
const OPERATORS: &str = "<>=!+*%&";

/// Every ASCII symbol by name, for names without letters or digits.
const SYMBOLS: &[(char, &str)] = &[
    (' ', "space"),
    ('!', "not"),
    ('"', "quote"),
    ('#', "hash"),
    ('$', "dollar"),
    ('%', "percent"),
    ('&', "and"),
    ('\'', "apostrophe"),
    ('(', "open paren"),
    (')', "close paren"),
    ('*', "star"),
    ('+', "plus"),
    (',', "comma"),
    ('-', "dash"),
    ('.', "dot"),
    ('/', "slash"),
    (':', "colon"),
    (';', "semicolon"),
    ('<', "less"),
    ('=', "equal"),
    ('>', "greater"),
    ('?', "question"),
    ('@', "at"),
    ('[', "open bracket"),
    ('\\', "backslash"),
    (']', "close bracket"),
    ('^', "caret"),
    ('_', "underscore"),
    ('`', "backtick"),
    ('{', "open brace"),
    ('|', "or"),
    ('}', "close brace"),
    ('~', "tilde"),
    ('\n', "newline"),
    ('\t', "tab"),
    ('\r', "return"),
];

/// Letters with a plain ASCII reading.
const PLAIN: &[(&str, &str)] = &[
    ("àáâãåāăąǎ", "a"),
    ("çćĉċč", "c"),
    ("ďđð", "d"),
    ("èéêëēĕėęě", "e"),
    ("ĝğġģ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįı", "i"),
    ("ĵ", "j"),
    ("ķ", "k"),
    ("ĺļľŀł", "l"),
    ("ñńņň", "n"),
    ("òóôõøōŏő", "o"),
    ("ŕŗř", "r"),
    ("śŝşšș", "s"),
    ("ţťŧț", "t"),
    ("ùúûũūŭůűų", "u"),
    ("ŵ", "w"),
    ("ýÿŷ", "y"),
    ("źżž", "z"),
    ("ä", "ae"),
    ("ö", "oe"),
    ("ü", "ue"),
    ("ß", "ss"),
    ("æ", "ae"),
    ("œ", "oe"),
    ("þ", "th"),
];

/// Returns the words of a name, in lower case ASCII; never empty.
pub(super) fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let speaks = chars.iter().any(|char| char.is_alphanumeric());
    let mut words = Words::default();
    let mut place = 0;
    while let Some(char) = chars.get(place).copied() {
        place += 1;
        if char.is_alphanumeric() {
            words.letter(char, chars.get(place).copied());
            continue;
        }
        words.end();
        let mut rest = String::from(char);
        rest.extend(chars.get(place));
        let before_digit = chars.get(place).is_some_and(char::is_ascii_digit);
        if !speaks && !matches!(char, '<' | '>' | '=' | '!') {
            words.spoken(&symbol(char));
        } else if let Some((_, word)) = PAIRS.iter().find(|(pair, _)| *pair == rest) {
            place += 1;
            words.spoken(word);
        } else if char == '.' && before_digit && chars.get(place.wrapping_sub(2)).is_some_and(char::is_ascii_digit) {
            words.spoken("point");
        } else if char == '-' && before_digit && words.done.is_empty() {
            words.spoken("minus");
        } else if !speaks || OPERATORS.contains(char) || (!char.is_ascii() && !char.is_whitespace()) {
            words.spoken(&symbol(char));
        }
    }
    words.end();
    if words.done.is_empty() {
        words.spoken("empty");
    }
    words.done
}

/// Returns the symbols of a name as words, each once.
pub(super) fn symbols(name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for char in name.chars().filter(|char| !char.is_alphanumeric() && *char != '_') {
        let word = symbol(char).replace(' ', "_");
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

fn symbol(char: char) -> String {
    match SYMBOLS.iter().find(|(symbol, _)| *symbol == char) {
        Some((_, word)) => (*word).to_owned(),
        None => format!("u{:x}", u32::from(char)),
    }
}

#[derive(Default)]
struct Words {
    done: Vec<String>,
    word: String,
    last: Option<char>,
}

impl Words {
    fn letter(&mut self, char: char, next: Option<char>) {
        let starts_word = match self.last {
            Some(last) if last.is_lowercase() || last.is_ascii_digit() => char.is_uppercase(),
            Some(last) if last.is_uppercase() => char.is_uppercase() && next.is_some_and(char::is_lowercase),
            _ => false,
        };
        if starts_word {
            self.end();
        }
        self.last = Some(char);
        if char.is_ascii() {
            self.word.push(char.to_ascii_lowercase());
            return;
        }
        let mut lower = char.to_lowercase();
        let lower = lower.next().filter(|_| lower.next().is_none());
        match PLAIN.iter().find(|(letters, _)| lower.is_some_and(|lower| letters.contains(lower))) {
            Some((_, plain)) => self.word.push_str(plain),
            None => self.word.push_str(&symbol(char)),
        }
    }

    fn end(&mut self) {
        if !self.word.is_empty() {
            self.done.push(std::mem::take(&mut self.word));
        }
        self.last = None;
    }

    fn spoken(&mut self, words: &str) {
        self.end();
        self.done.extend(words.split(' ').map(str::to_owned));
    }
}
