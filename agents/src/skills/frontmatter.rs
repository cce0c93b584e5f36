//! The metadata at the beginning of a `SKILL.md`, in YAML.

use serde_json::Value;

/// The maximum size of metadata, in bytes.
const LARGEST: usize = 256 * 1024;

/// Parses the metadata of a text.
///
/// # Errors
/// Fails if the metadata is missing or is not YAML.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let missing = || "its `SKILL.md` does not begin with metadata between two lines `---`".to_owned();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")).ok_or_else(missing)?;
    let mut yaml = String::new();
    let mut lines = rest.split_inclusive('\n');
    loop {
        match lines.next() {
            Some(line) if line.trim_end() == "---" => break,
            Some(line) if yaml.len() <= LARGEST => yaml.push_str(line),
            _ => return Err(missing()),
        }
    }
    // The parser has a budget for depth and aliases.
    let value: Value = serde_saphyr::from_str(&yaml).map_err(|_| "its metadata is not YAML".to_owned())?;
    if value.is_object() { Ok(value) } else { Err(missing()) }
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_schema::same;
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_is_parsed_as_json() {
        let text = "---\r\nname: pdf\ndescription: >-\n  Two\n  lines.\nmetadata:\n  version: 1.0\n  tags: [a, 'b: c', 3, true, null]\n---\n# Body\n---\n";
        let expected = json!({
            "name": "pdf", "description": "Two lines.", "metadata": { "version": 1, "tags": ["a", "b: c", 3, true, null] },
        });
        let found = parse(text).unwrap();
        assert!(same(&found, &expected), "{found}");
        assert!(!same(&found, &json!({ "name": "pdf", "description": "Two lines." })));
    }

    #[test]
    fn malformed_metadata_is_refused() {
        for text in [
            "",
            "# Title",
            "---\nname: x\n",
            "--- \nname: x\n---\n",
            "---\nname: [\n---\n",
            "---\n---\n",
            "---\n&a [*a]\n---\n",
            "---\n? [x]\n: y\n---\n",
        ] {
            assert!(parse(text).is_err(), "{text:?}: {:?}", parse(text));
        }
        let deep = format!("---\na: {}{}\n---\n", "[".repeat(100_000), "]".repeat(100_000));
        let laughs: String = (0..30).map(|n| format!("a{}: &a{} [*a{n}, *a{n}]\n", n + 1, n + 1)).collect();
        for text in [deep, format!("---\na0: &a0 x\n{laughs}---\n")] {
            assert!(parse(&text).is_err());
        }
    }
}
