//! The keywords that each provider accepts, besides the common ones.

use serde_json::Value;

use super::rewrite::Dialect;
use crate::checks::is_portable;

const OPENAI_FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
const ANTHROPIC_FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];
/// Larger enumerations have been too complex for Gemini: 100 to 260 values, it does not say how many.
pub(super) const GEMINI_ENUM: usize = 100;

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
        "pattern" => is_portable(text),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_a_provider_may_refuse_are_not_portable() {
        for portable in ["^[a-z]+$", "", "^(?:a|b){2,3}$", r"^\d{4}-\d{2}$", r"[\w.]+@x\.y", "^[^/]*$", r"a\.b", "é+"]
        {
            assert!(is_portable(portable), "{portable}");
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
            assert!(!is_portable(other), "{other}");
        }
    }
}
