/// Returns the kebab case of a name: lower case, words joined by `-`. Returns `None` if the name equals it, or has no
/// such form.
pub(super) fn kebab(name: &str) -> Option<String> {
    if !name.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-')) {
        return None;
    }
    let characters: Vec<char> = name.chars().collect();
    let at = |index: usize| characters.get(index).copied().unwrap_or('-');
    let mut kebab = String::with_capacity(name.len() + 4);
    for (index, character) in characters.iter().enumerate() {
        let after_small = index > 0 && (at(index - 1).is_ascii_lowercase() || at(index - 1).is_ascii_digit());
        let begins_word = index > 0 && at(index - 1).is_ascii_uppercase() && at(index + 1).is_ascii_lowercase();
        if character.is_ascii_uppercase() && (after_small || begins_word) {
            kebab.push('-');
        }
        kebab.push(if *character == '_' { '-' } else { character.to_ascii_lowercase() });
    }
    (kebab != name && !kebab.is_empty()).then_some(kebab)
}

#[cfg(test)]
mod tests {
    use super::kebab;

    #[test]
    fn kebab_case_is_derived_from_property_names() {
        for (name, form) in [
            ("fillOpacity", Some("fill-opacity")),
            ("per_page", Some("per-page")),
            ("If-Match", Some("if-match")),
            ("HTMLBody", Some("html-body")),
            ("userID", Some("user-id")),
            ("x2Value", Some("x2-value")),
            ("owner", None),
            ("$filter", None),
            ("DateCreated<", None),
            ("", None),
        ] {
            assert_eq!(kebab(name).as_deref(), form, "{name}");
        }
    }
}
