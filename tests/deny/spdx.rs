//! Licence expressions as crates write them: SPDX, and the older `MIT/Apache-2.0`.

use std::collections::BTreeSet;
use std::iter::Peekable;

/// Returns `true` if the allowed licences satisfy the expression. An exception belongs to its licence: `Apache-2.0
/// WITH LLVM-exception` is allowed only if exactly that is listed.
///
/// # Errors
///
/// Returns an error that describes the fault of the expression.
pub(crate) fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let verdict = any_of(&mut words, allowed)?;
    match words.next() {
        None => Ok(verdict),
        Some(word) => Err(format!("{word:?} is not expected")),
    }
}

fn any_of<'w>(words: &mut Peekable<impl Iterator<Item = &'w str>>, allowed: &BTreeSet<String>) -> Result<bool, String> {
    let mut verdict = all_of(words, allowed)?;
    while words.next_if_eq(&"OR").is_some() {
        verdict |= all_of(words, allowed)?;
    }
    Ok(verdict)
}

fn all_of<'w>(words: &mut Peekable<impl Iterator<Item = &'w str>>, allowed: &BTreeSet<String>) -> Result<bool, String> {
    let mut verdict = one(words, allowed)?;
    while words.next_if_eq(&"AND").is_some() {
        verdict &= one(words, allowed)?;
    }
    Ok(verdict)
}

fn one<'w>(words: &mut Peekable<impl Iterator<Item = &'w str>>, allowed: &BTreeSet<String>) -> Result<bool, String> {
    if words.next_if_eq(&"(").is_some() {
        let verdict = any_of(words, allowed)?;
        return match words.next() {
            Some(")") => Ok(verdict),
            _ => Err("a parenthesis is not closed".to_owned()),
        };
    }
    let mut licence = name(words)?.to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        licence = format!("{licence} WITH {}", name(words)?);
    }
    Ok(allowed.contains(&licence))
}

fn name<'w>(words: &mut Peekable<impl Iterator<Item = &'w str>>) -> Result<&'w str, String> {
    match words.next() {
        None => Err("a licence is missing at the end".to_owned()),
        Some(word @ ("OR" | "AND" | "WITH" | "(" | ")")) => Err(format!("a licence is missing before {word:?}")),
        Some(word) => Ok(word),
    }
}
