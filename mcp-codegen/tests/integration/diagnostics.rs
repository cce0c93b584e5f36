//! Every code is explained, and every explanation has a code.

use mcp_bindgen_codegen::CODES;

const PAGE: &str = include_str!("../../../docs/book/src/diagnostics.md");

#[test]
fn diagnostics_page_explains_every_code() {
    let sections: Vec<&str> = PAGE.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), CODES.len());
    for (section, code) in sections.iter().zip(CODES) {
        let (id, text) = section.split_once("\n\n").unwrap();
        assert_eq!(id, code.id);
        let title = format!("{}: {}", code.severity, code.title);
        let text = text.replace('\n', " ").to_lowercase();
        assert!(text.starts_with(&title.to_lowercase()), "{id}: the page says {text:?}, the code {title:?}");
    }
}
