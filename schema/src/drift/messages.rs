//! Messages about failures.

use mcp_bindgen_model::printable;

use super::change::ChangeKind;
use super::failure::Reason;
use crate::normalize::Kinds;

/// Returns kinds in words, the last after an "or".
fn kinds(kinds: Kinds) -> String {
    let word = |name| match name {
        "null" => "`null`".to_owned(),
        "number" if !kinds.has(Kinds::INTEGER) => "a number with a fraction".to_owned(),
        "integer" | "array" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    };
    let mut words: Vec<String> = kinds.names().into_iter().map(word).collect();
    match (words.pop(), words.as_slice()) {
        (Some(last), []) => last,
        (Some(last), others) => format!("{} or {last}", others.join(", ")),
        (None, _) => "nothing".to_owned(),
    }
}

/// Describes a value that callers may have sent, and that is refused now; or one that was refused, and is valid now.
pub(super) fn of_arguments(reason: &Reason, is_valid: bool) -> (ChangeKind, String) {
    use ChangeKind::{
        Loosened, NowRequired, Other, RefusedAlternative, RefusedNull, RefusedOtherKeys, RefusedProperty, RefusedType,
        RefusedValue, RequiredAdded, Tightened, Undecided,
    };
    let (valid, bounds) = if is_valid { ("valid now", "looser") } else { ("no longer valid", "tighter") };
    let (kind, detail) = match reason {
        Reason::Kind(these) => {
            let kind = if *these == Kinds::NULL { RefusedNull } else { RefusedType };
            (kind, format!("{} is {valid}", kinds(*these)))
        }
        Reason::Typed(left) if is_valid => (Loosened, format!("was {}, now untyped", kinds(*left))),
        Reason::Typed(left) => (RefusedType, format!("was untyped, now {}", kinds(*left))),
        Reason::Value(value) => (RefusedValue, format!("{} is {valid}", printable(&value.to_string()))),
        Reason::Unlisted if is_valid => (Loosened, "values that were not listed are valid now".to_owned()),
        Reason::Unlisted => (RefusedValue, "only listed values are valid now".to_owned()),
        Reason::Keyword("$ref") if !is_valid => {
            (Undecided, "`$ref` points to another document, which is never fetched".to_owned())
        }
        Reason::Keyword(keyword) => (Tightened, format!("`{keyword}` is {bounds} now")),
        Reason::Required { .. } if is_valid => (Loosened, "optional now".to_owned()),
        Reason::Required { declared: true } => (NowRequired, "required now".to_owned()),
        Reason::Required { declared: false } => (RequiredAdded, "new required property".to_owned()),
        Reason::Key => (RefusedProperty, format!("the property is {valid}")),
        Reason::OtherKeys => (RefusedOtherKeys, format!("other keys are {valid}")),
        Reason::NoAlternative | Reason::SeveralAlternatives if is_valid => (Loosened, "more alternatives".to_owned()),
        Reason::NoAlternative => (RefusedAlternative, "no alternative takes all that was valid".to_owned()),
        Reason::SeveralAlternatives => {
            (RefusedAlternative, "a value may fit several alternatives now, of which only one may".to_owned())
        }
        Reason::Undecided if is_valid => return (Other, "written differently".to_owned()),
        Reason::Undecided => (Undecided, "cannot decide whether all valid values are still valid".to_owned()),
    };
    (if is_valid { Loosened } else { kind }, detail)
}

/// Describes a value that the server may answer now, and that the old types do not read.
pub(super) fn of_results(reason: &Reason) -> (ChangeKind, String) {
    use ChangeKind::{
        Undecided, UnreadAbsent, UnreadAlternative, UnreadNull, UnreadProperty, UnreadRange, UnreadType, UnreadValue,
    };
    match reason {
        Reason::Kind(these) => {
            let kind = if *these == Kinds::NULL { UnreadNull } else { UnreadType };
            (kind, format!("may be {} now", kinds(*these)))
        }
        // Most types read `null` as absence.
        Reason::Typed(left) => {
            let left = if *left == Kinds::NULL { *left } else { left.without(Kinds::NULL) };
            (UnreadType, format!("was {}, now untyped", kinds(left)))
        }
        Reason::Value(value) => (UnreadValue, format!("may be {} now", printable(&value.to_string()))),
        Reason::Unlisted => (UnreadValue, "may be a value now that was not listed".to_owned()),
        Reason::Keyword("minimum") => (UnreadRange, "may be less now than its type holds".to_owned()),
        Reason::Keyword("maximum") => (UnreadRange, "may be more now than its type holds".to_owned()),
        Reason::Keyword("items") => (UnreadType, "may have another number of items now".to_owned()),
        Reason::Keyword("required") => (UnreadAbsent, "none of the sets of properties must be complete now".to_owned()),
        Reason::Keyword(keyword) => (UnreadRange, format!("`{keyword}` is looser now")),
        Reason::Required { .. } => (UnreadAbsent, "may be absent now".to_owned()),
        Reason::Key => (UnreadProperty, "the property was removed, and may be anything now".to_owned()),
        Reason::NoAlternative | Reason::SeveralAlternatives => {
            (UnreadAlternative, "no alternative reads all that may be answered now".to_owned())
        }
        // Types take undeclared keys.
        Reason::OtherKeys | Reason::Undecided => {
            (Undecided, "cannot decide whether all possible results can be read".to_owned())
        }
    }
}
