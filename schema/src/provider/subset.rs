//! The keywords that each provider accepts, besides the common ones.

use serde_json::Value;

use super::rewrite::Dialect;

const OPENAI_FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
const ANTHROPIC_FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];
/// Larger enumerations have been too complex for Gemini: 100 to 260 values, it does not say how many.
pub(super) const GEMINI_ENUM: usize = 100;
/// The limit on repetitions in `a{n,m}`, which a grammar expands.
const MOST_REPEATS: u32 = 64;
const LONGEST_PATTERN: usize = 256;

/// Returns `true` if a provider takes a keyword with that value.
pub(super) fn takes(dialect: Dialect, is_strict: bool, keyword: &str, value: &Value) -> bool {
    let formats: &[&str] = match dialect {
        Dialect::OpenAi => &OPENAI_FORMATS,
        Dialect::Anthropic => &ANTHROPIC_FORMATS,
        Dialect::Gemini => &[],
    };
    let text = value.as_str().unwrap_or_default();
    match keyword {
        "format" => formats.contains(&text),
        "pattern" => is_simple(text),
        "minimum" | "maximum" => dialect != Dialect::Anthropic || !is_strict,
        "exclusiveMinimum" | "exclusiveMaximum" => {
            dialect == Dialect::OpenAi || (dialect, is_strict) == ANTHROPIC_LOOSE
        }
        "multipleOf" => {
            (dialect == Dialect::OpenAi || (dialect, is_strict) == ANTHROPIC_LOOSE)
                && value.as_f64().is_some_and(|step| step > 0.0)
        }
        "minItems" => dialect != Dialect::Anthropic || !is_strict || value.as_u64().is_some_and(|least| least <= 1),
        "maxItems" => dialect != Dialect::Anthropic || !is_strict,
        "minLength" | "maxLength" => dialect == Dialect::Gemini || !is_strict,
        "uniqueItems" | "minProperties" | "maxProperties" => dialect != Dialect::Gemini && !is_strict,
        _ => false,
    }
}

const ANTHROPIC_LOOSE: (Dialect, bool) = (Dialect::Anthropic, false);

/// Returns `true` if a pattern is made of nothing but what every engine takes: no look-around, no back-references, no
/// `\b`, no Unicode classes, no large repetitions; and whether it is well-formed.
pub(super) fn is_simple(pattern: &str) -> bool {
    if pattern.len() > LONGEST_PATTERN || pattern.chars().any(char::is_control) {
        return false;
    }
    let mut chars = pattern.chars().peekable();
    let (mut groups, mut in_class, mut can_repeat) = (0_usize, false, false);
    while let Some(char) = chars.next() {
        let can_be_repeated = can_repeat;
        can_repeat = true;
        match char {
            '\\' => match chars.next() {
                Some('b') if in_class => return false,
                Some(next) if next.is_ascii_alphanumeric() && !"dDsSwWtnr".contains(next) => return false,
                Some(next) if next.is_ascii() => {}
                _ => return false,
            },
            '[' if in_class => return false,
            '[' => {
                in_class = true;
                chars.next_if_eq(&'^');
                // An empty class, or one that begins with a bracket, means different things to different engines.
                if chars.peek() == Some(&']') {
                    return false;
                }
            }
            ']' if in_class => in_class = false,
            _ if in_class => {}
            '(' => {
                groups += 1;
                can_repeat = false;
                if chars.next_if_eq(&'?').is_some() && chars.next() != Some(':') {
                    return false;
                }
            }
            ')' => match groups.checked_sub(1) {
                Some(left) => groups = left,
                None => return false,
            },
            '*' | '+' | '?' => {
                if !can_be_repeated {
                    return false;
                }
                can_repeat = false;
            }
            '{' => {
                let times: String = std::iter::from_fn(|| chars.next_if(|char| *char != '}')).collect();
                let is_small = |text: &str| text.parse::<u32>().is_ok_and(|times| times <= MOST_REPEATS);
                let (least, most) = times.split_once(',').unwrap_or((&times, &times));
                if !can_be_repeated
                    || chars.next() != Some('}')
                    || !is_small(least)
                    || !(most.is_empty() || is_small(most))
                {
                    return false;
                }
                can_repeat = false;
            }
            ']' | '}' => return false,
            '^' | '|' => can_repeat = false,
            _ => {}
        }
    }
    groups == 0 && !in_class
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_a_provider_may_refuse_are_not_simple() {
        for simple in ["^[a-z]+$", "", "^(?:a|b){2,3}$", r"^\d{4}-\d{2}$", r"[\w.]+@x\.y", "^[^/]*$", r"a\.b", "é+"] {
            assert!(is_simple(simple), "{simple}");
        }
        for other in [
            "(?=a)",
            "(?!a)b",
            "(?<=a)b",
            "(?<!a)b",
            "(?<name>a)",
            r"(a)\1",
            r"\bword\b",
            r"\p{L}",
            "a{1000}",
            "a{2,500}",
            "[a",
            "(a",
            "a)",
            "*a",
            "a**",
            "a{x}",
            r"\",
            "[]a]",
            "[[a]]",
            "}",
            "a\u{0}",
        ] {
            assert!(!is_simple(other), "{other}");
        }
    }
}
