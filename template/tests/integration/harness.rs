//! Rules that hold for any text that is read as a template, shared by the fuzz target and the tests.

use mcp_bindgen_template::{PieceKind, Template};

use super::printed::{meaning, printed};

/// Returns `true` if the text is a template. Checks that each fault of other texts has a position inside the text.
pub(crate) fn check(text: &str) -> bool {
    let whole = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = whole.split('\n').collect();
    let is_inside = |line: usize, column: usize| {
        let line = line.checked_sub(1).and_then(|line| lines.get(line));
        line.is_some_and(|line| (1..=line.chars().count() + 1).contains(&column))
    };
    match Template::parse(text) {
        Err(faults) => {
            assert!(!faults.is_empty() && faults.len() <= 20, "{faults:?}");
            for fault in faults {
                assert!(is_inside(fault.place.line, fault.place.column), "{fault}");
                assert!(fault.rendered("a.md", text).contains("^"), "{fault}");
            }
            false
        }
        Ok(template) => {
            let mut before = None;
            for piece in template.segments.iter().flat_map(|segment| &segment.pieces) {
                assert!(is_inside(piece.place.line, piece.place.column), "{piece:?}");
                assert!(before <= Some(piece.place), "{piece:?}");
                before = Some(piece.place);
                let (PieceKind::Expression(code) | PieceKind::Statement(code)) = &piece.kind else { continue };
                let line = lines[piece.place.line - 1];
                let at: String = line.chars().skip(piece.place.column - 1).collect();
                assert!(at.starts_with(code.lines().next().unwrap().trim_end_matches('\r')), "{piece:?}");
            }
            let again = printed(&template);
            let read = Template::parse(&again).unwrap_or_else(|faults| panic!("{again:?} of {text:?}: {faults:?}"));
            assert_eq!(meaning(&read), meaning(&template), "{again:?} of {text:?}");
            assert!(template.slots().count() <= template.segments.iter().map(|segment| segment.pieces.len()).sum());
            true
        }
    }
}
