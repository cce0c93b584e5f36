//! Messages about failures.

use mcp_bindgen_model::printable;

use super::change::ChangeKind;
use super::failure::Reason;
use crate::normalize::Kinds;

/// Kinds in words, the last after an "or".
fn kinds(kinds: Kinds) -> String {
    let named = [
        (Kinds::NULL, "`null`"),
        (Kinds::BOOLEAN, "a boolean"),
        (Kinds::NUMBER, "a number"),
        (Kinds::INTEGER, "an integer"),
        (Kinds::FRACTION, "a number with a fraction"),
        (Kinds::STRING, "a string"),
        (Kinds::ARRAY, "an array"),
        (Kinds::OBJECT, "an object"),
    ];
    let mut rest = kinds;
    let mut names = Vec::new();
    for (kind, name) in named {
        if rest.has(kind) {
            names.push(name);
            rest = rest.without(kind);
        }
    }
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// Describes a value that callers may have sent, and that is refused now.
pub(super) fn refused(reason: &Reason) -> (ChangeKind, String) {
    use ChangeKind::{
        NowRequired, RefusedAlternative, RefusedNull, RefusedOtherKeys, RefusedProperty, RefusedType, RefusedValue,
        RequiredAdded, Tightened, Undecided,
    };
    match reason {
        Reason::Kind(these) => {
            let kind = if *these == Kinds::NULL { RefusedNull } else { RefusedType };
            (kind, format!("{} is no longer valid", kinds(*these)))
        }
        Reason::Typed(left) => (RefusedType, format!("was untyped, now {}", kinds(*left))),
        Reason::Value(value) => (RefusedValue, format!("{} is no longer valid", printable(&value.to_string()))),
        Reason::Unlisted => (RefusedValue, "only listed values are valid now".to_owned()),
        Reason::Keyword("$ref") => (Undecided, "`$ref` points to another document, which is never fetched".to_owned()),
        Reason::Keyword(keyword) => (Tightened, format!("`{keyword}` is tighter now")),
        Reason::Required { declared: true } => (NowRequired, "required now".to_owned()),
        Reason::Required { declared: false } => (RequiredAdded, "new required property".to_owned()),
        Reason::Key => (RefusedProperty, "the property is no longer valid".to_owned()),
        Reason::OtherKeys => (RefusedOtherKeys, "other keys are no longer valid".to_owned()),
        Reason::NoAlternative => (RefusedAlternative, "no alternative takes all that was valid".to_owned()),
        Reason::SeveralAlternatives => {
            (RefusedAlternative, "a value may fit several alternatives now, of which only one may".to_owned())
        }
        Reason::Undecided => (Undecided, "cannot decide whether all valid values are still valid".to_owned()),
    }
}

/// Describes a value that the server may answer now, and that the old types do not read.
pub(super) fn unread(reason: &Reason) -> (ChangeKind, String) {
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

/// Describes a value that was refused, and is accepted now.
pub(super) fn accepted(reason: &Reason) -> (ChangeKind, String) {
    let detail = match reason {
        Reason::Kind(these) => format!("{} is valid now", kinds(*these)),
        Reason::Typed(left) => format!("was {}, now untyped", kinds(*left)),
        Reason::Value(value) => format!("{} is valid now", printable(&value.to_string())),
        Reason::Unlisted => "values that were not listed are valid now".to_owned(),
        Reason::Keyword(keyword) => format!("`{keyword}` is looser now"),
        Reason::Required { .. } => "optional now".to_owned(),
        Reason::Key => "the property is valid now".to_owned(),
        Reason::OtherKeys => "other keys are valid now".to_owned(),
        Reason::NoAlternative | Reason::SeveralAlternatives => "more alternatives".to_owned(),
        Reason::Undecided => return (ChangeKind::Other, "written differently".to_owned()),
    };
    (ChangeKind::Loosened, detail)
}
