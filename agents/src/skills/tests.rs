use serde_json::json;

use super::*;

fn entry() -> Value {
    let file =
        |uri: &str, size: u64| json!({ "uri": uri, "digest": format!("sha256:{}", "a".repeat(64)), "size": size });
    json!({
        "uri": "skill://acme/refunds/SKILL.md",
        "frontmatter": { "name": "refunds", "description": "Refunds.", "license": "MIT" },
        "resources": [file("skill://acme/refunds/SKILL.md", 5), file("skill://acme/refunds/a/b.md", 7)],
    })
}

#[test]
fn skill_entry_is_parsed_completely() {
    let skill = Skill::from_entry("s", &entry()).unwrap();
    assert_eq!(
        (skill.path(), skill.name.as_str(), skill.description.as_str()),
        ("acme/refunds", "refunds", "Refunds.")
    );
    assert_eq!((skill.frontmatter["license"].as_str(), skill.files.as_ref().map(Vec::len)), (Some("MIT"), Some(2)));
    let mut other = entry();
    other["uri"] = json!("github://o/r/refunds/SKILL.md");
    other["resources"] = json!("dynamic");
    let skill = Skill::from_entry("s", &other).unwrap();
    assert_eq!((skill.path(), skill.files.as_ref()), ("github://o/r/refunds", None));
}

#[test]
fn entries_that_violate_the_specification_are_refused() {
    let changes: [(&str, Value, &str); 12] = [
        ("/uri", json!(5), "no `uri`"),
        ("/uri", json!("skill://acme/refunds/README.md"), "SKILL.md"),
        ("/uri", json!("skill://acme/others/SKILL.md"), "name in its URI"),
        ("/frontmatter", json!(null), "no name"),
        ("/frontmatter/description", json!(5), "no description"),
        ("/resources", json!(null), "neither"),
        ("/resources", json!("static"), "neither"),
        ("/resources", json!([]), "does not list its `SKILL.md`"),
        ("/resources/1/uri", json!("skill://acme/other/b.md"), "without a valid"),
        ("/resources/1/digest", json!("sha256:AA"), "without a valid"),
        ("/resources/1/size", json!(null), "without a valid"),
        ("/resources/1/size", json!(LARGEST), "bytes"),
    ];
    for (pointer, value, expected) in changes {
        let mut entry = entry();
        *entry.pointer_mut(pointer).unwrap() = value;
        let why = Skill::from_entry("s", &entry).unwrap_err();
        assert!(why.contains(expected), "{pointer}: {why}");
    }
    let mut many = entry();
    many["resources"] = json!(vec![many["resources"][0].clone(); MOST_FILES + 1]);
    assert!(Skill::from_entry("s", &many).unwrap_err().contains("513 files"));
}
