//! From text to pieces.

use crate::ast::{Piece, PieceKind, Segment, Template};
use crate::blocks::Blocks;
use crate::code::{Code, code, looks_like_slot};
use crate::cursor::Cursor;
use crate::fault::{Fault, Faults, Place};
use crate::slot::slot;
use crate::vocabulary::unknown;

/// Statements, expressions, slots and checkpoints together.
const MOST_PIECES: usize = 100_000;
/// Results whose names have expressions in them: each may be any of the names that are used.
const MOST_OPEN_NAMES: usize = 1_000;
impl Template {
    /// Parses a template.
    ///
    /// A leading byte order mark is dropped; all other text is unchanged, including line ends.
    ///
    /// ```
    /// use mcp_bindgen_template::{PieceKind, Template};
    ///
    /// let template = Template::parse("[[@github_list_issues:issues|state=\"open\"]]Sort these: {{ issues }}\n[[summary]]")?;
    /// let pieces = &template.segments[0].pieces;
    /// assert!(matches!(&pieces[0].kind, PieceKind::Action(action) if action.arguments[0].name == "state"));
    /// assert_eq!(pieces[1].kind, PieceKind::Text("Sort these: ".to_owned()));
    ///
    /// let faults = Template::parse("Hello\n  [[@github_list_issues|\"open\"]]").unwrap_err();
    /// assert_eq!(faults[0].to_string(), "2:25: every value needs its name: write `key=value`");
    /// # Ok::<(), Vec<mcp_bindgen_template::Fault>>(())
    /// ```
    ///
    /// # Errors
    /// The faults, in the order of the text: at least one, and at most twenty.
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        let mut parser = Parser::new(text.strip_prefix('\u{feff}').unwrap_or(text));
        parser.run();
        if parser.faults.is_empty() { Ok(Self { segments: parser.segments }) } else { Err(parser.faults.finish()) }
    }
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    segments: Vec<Segment>,
    begins: Place,
    pieces: Vec<Piece>,
    text: Run,
    blocks: Blocks,
    faults: Faults,
    count: usize,
    /// How many slots have a name with expressions in it.
    open_names: usize,
    /// `true` if `]]` may follow the cursor; it is searched once.
    has_ends: bool,
}

/// Text that is not a piece yet.
#[derive(Default)]
struct Run {
    text: String,
    begins: Option<Place>,
    /// `true` if a comment precedes it, which stops white space control.
    follows_comment: bool,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        let cursor = Cursor::new(text);
        Self {
            cursor,
            segments: Vec::new(),
            begins: cursor.place(),
            pieces: Vec::new(),
            text: Run::default(),
            blocks: Blocks::default(),
            faults: Faults::default(),
            count: 0,
            open_names: 0,
            has_ends: true,
        }
    }

    fn run(&mut self) {
        while !self.cursor.is_at_end() && !self.faults.is_full() {
            let rest = self.cursor.rest();
            let special = rest.bytes().position(|byte| matches!(byte, b'{' | b'[' | b'<')).unwrap_or(rest.len());
            if special > 0 {
                self.take_text(special);
                continue;
            }
            let two = (self.cursor.byte(0), self.cursor.byte(1));
            let result = match two {
                (Some(b'{'), Some(b'{')) => self.expression(),
                (Some(b'{'), Some(b'%')) => self.statement(),
                (Some(b'{'), Some(b'#')) => self.comment(),
                (Some(b'['), Some(b'[')) if self.cursor.is_at("[[[[") => {
                    self.add_text("[[");
                    self.cursor.advance(4);
                    Ok(())
                }
                (Some(b'['), Some(b'[')) => self.slot(),
                (Some(b'<'), Some(b'/' | b'a'..=b'z' | b'A'..=b'Z')) => self.tag(),
                _ => {
                    self.take_text(1);
                    Ok(())
                }
            };
            if let Err(fault) = result {
                self.faults.say(fault);
            }
            let too_much = if self.open_names > MOST_OPEN_NAMES {
                format!("more than {MOST_OPEN_NAMES} results have names with expressions: use a loop for the slots")
            } else if self.count > MOST_PIECES {
                format!(
                    "the template has more than {MOST_PIECES} statements, expressions, slots and checkpoints: split \
                     it"
                )
            } else {
                continue;
            };
            self.faults.say(self.cursor.fault(too_much));
            break;
        }
        // Unreadable parts may have closed them.
        if self.faults.is_empty() {
            self.blocks.left().for_each(|fault| self.faults.say(fault));
        }
        self.end_segment(None);
    }

    fn take_text(&mut self, bytes: usize) {
        let place = self.cursor.place();
        let text = self.cursor.advance(bytes);
        self.text.begins.get_or_insert(place);
        self.text.text.push_str(text);
    }

    fn add_text(&mut self, text: &str) {
        self.text.begins.get_or_insert(self.cursor.place());
        self.text.text.push_str(text);
    }

    fn flush(&mut self) {
        let run = std::mem::take(&mut self.text);
        if let (Some(place), true) = (run.begins, run.follows_comment || !run.text.is_empty()) {
            self.pieces.push(Piece { place, kind: PieceKind::Text(run.text) });
        }
    }

    fn piece(&mut self, place: Place, kind: PieceKind) {
        self.flush();
        self.count += 1;
        let piece = Piece { place, kind };
        for fault in unknown(&piece) {
            if self.faults.is_full() {
                break;
            }
            self.faults.say(fault);
        }
        self.pieces.push(piece);
    }

    fn end_segment(&mut self, name: Option<String>) {
        self.flush();
        self.count += 1;
        let place = std::mem::replace(&mut self.begins, self.cursor.place());
        self.segments.push(Segment { name, place, pieces: std::mem::take(&mut self.pieces) });
    }

    /// Skips braces with their content; the cursor starts at the first brace.
    fn code(&mut self, end: &str) -> Result<Code<'t>, Fault> {
        let opened = self.cursor;
        self.cursor.advance(2);
        if matches!(self.cursor.byte(0), Some(b'-' | b'+')) {
            self.cursor.advance(1);
        }
        code(&mut self.cursor, &opened, end)
    }

    fn expression(&mut self) -> Result<(), Fault> {
        let opened = self.cursor;
        let code = self.code("}}")?;
        if code.inner.trim().is_empty() {
            return Err(
                opened.fault("expected an expression between `{{` and `}}`; for literal braces write `{{ '{{' }}`")
            );
        }
        self.piece(opened.place(), PieceKind::Expression(self.cursor.since(opened.offset()).to_owned()));
        Ok(())
    }

    fn statement(&mut self) -> Result<(), Fault> {
        let opened = self.cursor;
        if let Some(tag) = basic_tag(opened.rest(), "raw") {
            return self.raw(&tag);
        }
        let code = self.code("%}")?;
        self.blocks.statement(code.inner, opened.place())?;
        self.piece(opened.place(), PieceKind::Statement(self.cursor.since(opened.offset()).to_owned()));
        Ok(())
    }

    /// Parses `{% raw %}..{% endraw %}` as a separate piece, so that white space control of its neighbours does not
    /// affect it.
    fn raw(&mut self, tag: &BasicTag) -> Result<(), Fault> {
        let opened = self.cursor;
        if tag.trims_before {
            self.trim_end();
        }
        self.cursor.advance(tag.length);
        let rest = self.cursor.rest();
        let mut from = 0;
        while let Some(at) = rest.get(from..).and_then(|rest| rest.find("{%")).map(|at| from + at) {
            if let Some(end) = rest.get(at..).and_then(|rest| basic_tag(rest, "endraw")) {
                let mut inside = rest.get(..at).unwrap_or_default();
                if tag.trims_after {
                    inside = inside.trim_start();
                }
                if end.trims_before {
                    inside = inside.trim_end();
                }
                self.untouchable(opened.place(), inside);
                self.cursor.advance(at + end.length);
                if end.trims_after {
                    self.cursor.skip_space();
                }
                return Ok(());
            }
            from = at + 2;
        }
        self.cursor.advance(rest.len());
        Err(opened.fault("`{% raw %}` is not closed: write `{% endraw %}`"))
    }

    fn untouchable(&mut self, place: Place, text: &str) {
        self.flush();
        self.count += 1;
        let barrier = || Piece { place, kind: PieceKind::Text(String::new()) };
        // An empty block separates its neighbours too.
        if text.chars().next().is_none_or(char::is_whitespace) {
            self.pieces.push(barrier());
        }
        if !text.is_empty() {
            self.pieces.push(Piece { place, kind: PieceKind::Text(text.to_owned()) });
        }
        if text.chars().next_back().is_some_and(char::is_whitespace) {
            self.pieces.push(barrier());
        }
    }

    fn comment(&mut self) -> Result<(), Fault> {
        let opened = self.cursor;
        self.cursor.advance(2);
        let sign = matches!(self.cursor.byte(0), Some(b'-' | b'+'));
        if self.cursor.byte(0) == Some(b'-') {
            self.trim_end();
        }
        self.cursor.advance(usize::from(sign));
        let rest = self.cursor.rest();
        let Some(end) = rest.find("#}") else {
            self.cursor.advance(rest.len());
            return Err(opened.fault("`{#` is not closed: write `#}`"));
        };
        let inside = rest.get(..end).unwrap_or_default();
        // After `[[[[` the second pair belongs to it.
        let is_slot = |at: usize| {
            let is_literal = inside.get(..at).is_some_and(|before| before.ends_with("[["));
            !is_literal && inside.get(at..).is_some_and(looks_like_slot)
        };
        let mut slots = inside.match_indices("[[").filter(|(at, _)| is_slot(*at));
        let fault = slots.next().map(|(at, _)| {
            let mut cursor = self.cursor;
            cursor.advance(at);
            cursor.fault("a slot is not allowed in a comment: remove it, or write `[[[[`")
        });
        self.cursor.advance(end + 2);
        let is_bare = self.text.text.is_empty() && !self.text.follows_comment && self.follows_code();
        self.flush();
        if is_bare {
            // White space behind the comment is out of its reach.
            self.pieces.push(Piece { place: opened.place(), kind: PieceKind::Text(String::new()) });
        }
        self.text = Run { begins: Some(opened.place()), follows_comment: true, text: String::new() };
        self.count += 1;
        if inside.ends_with('-') {
            self.cursor.skip_space();
        }
        fault.map_or(Ok(()), Err)
    }

    fn follows_code(&self) -> bool {
        let last = self.pieces.last().map(|piece| &piece.kind);
        matches!(last, Some(PieceKind::Expression(_) | PieceKind::Statement(_)))
    }

    /// Trims the white space before a comment or a raw block that begins with `-`.
    fn trim_end(&mut self) {
        let kept = self.text.text.trim_end().len();
        self.text.text.truncate(kept);
    }

    fn slot(&mut self) -> Result<(), Fault> {
        let opened = self.cursor;
        let kind = slot(&mut self.cursor).inspect_err(|_| self.skip_slot())?;
        if let Some((name, place)) = self.blocks.forbidding() {
            return Err(opened.fault(format!(
                "a slot is not allowed in `{{% {name} %}}` of line {}: put it before that block",
                place.line
            )));
        }
        self.open_names += usize::from(kind.slot().is_some_and(|slot| slot.open_name().is_some()));
        self.piece(opened.place(), kind);
        Ok(())
    }

    /// Skips an unreadable slot, to its end or to the next slot.
    fn skip_slot(&mut self) {
        let rest = self.cursor.rest();
        if !self.has_ends {
            return;
        }
        let Some(end) = rest.find("]]") else {
            self.has_ends = false;
            return;
        };
        let inside = rest.get(..end).unwrap_or_default();
        let next = inside.match_indices("[[").find(|(at, _)| rest.get(*at..).is_some_and(looks_like_slot));
        let length = next.map_or_else(
            || end + rest.get(end..).map_or(0, |rest| rest.bytes().take_while(|byte| *byte == b']').count()),
            |(at, _)| at,
        );
        self.cursor.advance(length);
    }

    fn tag(&mut self) -> Result<(), Fault> {
        let opened = self.cursor;
        let body = opened.rest().get(1..).unwrap_or_default();
        let (is_end, body) = body.strip_prefix('/').map_or((false, body), |body| (true, body));
        let name = body.get(..body.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(0));
        let name = name.unwrap_or_default();
        let after = body.get(name.len()..).unwrap_or_default();
        let is_tag = after.starts_with('>') || after.starts_with("/>") || after.starts_with(char::is_whitespace);
        if name == "checkpoint" && !is_end && after.starts_with('>') {
            self.cursor.advance("<checkpoint>".len());
            return self.checkpoint(&opened);
        }
        self.take_text(1);
        match is_tag && name.eq_ignore_ascii_case("checkpoint") {
            true if is_end => Err(opened.fault(
                "unexpected `</checkpoint>`: write `<checkpoint>`, or `<checkpoint>Name</checkpoint>` on one line",
            )),
            true => Err(opened.fault("expected `<checkpoint>` or `<checkpoint>Name</checkpoint>`")),
            false => Ok(()),
        }
    }

    /// Parses a checkpoint; the cursor starts after `<checkpoint>`.
    fn checkpoint(&mut self, opened: &Cursor<'t>) -> Result<(), Fault> {
        let rest = self.cursor.rest();
        let length = rest.bytes().position(|byte| matches!(byte, b'<' | b'\n' | b'\r')).unwrap_or(rest.len());
        let name = rest.get(..length).unwrap_or_default();
        let end = "</checkpoint>";
        let is_named = rest.get(length..).is_some_and(|rest| rest.starts_with(end));
        // The text up to here belongs to the segment, including its faults.
        if is_named {
            self.cursor.advance(length + end.len());
        }
        self.end_segment(is_named.then(|| name.trim().to_owned()).filter(|name| !name.is_empty()));
        if is_named && ["[[", "{{", "{%", "{#"].iter().any(|opener| name.contains(opener)) {
            return Err(opened.fault("the name of a checkpoint cannot contain expressions or slots"));
        }
        self.blocks.last().map_or(Ok(()), |(name, place)| {
            Err(opened.fault(format!(
                "a checkpoint is not allowed in `{{% {name} %}}` of line {}: close that block first",
                place.line
            )))
        })
    }
}

/// `{% raw %}` or `{% endraw %}`, which minijinja finds without parsing the code around it.
struct BasicTag {
    length: usize,
    trims_before: bool,
    trims_after: bool,
}

fn basic_tag(text: &str, name: &str) -> Option<BasicTag> {
    let body = text.strip_prefix("{%")?;
    let signed = body.strip_prefix(['-', '+']);
    let trims_before = body.starts_with('-');
    let body = signed.unwrap_or(body).trim_ascii_start().strip_prefix(name)?.trim_ascii_start();
    let trims_after = body.starts_with('-');
    let rest = body.strip_prefix(['-', '+']).unwrap_or(body).strip_prefix("%}")?;
    Some(BasicTag { length: text.len() - rest.len(), trims_before, trims_after })
}
