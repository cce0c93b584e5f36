//! From text to pieces.

use crate::ast::{Piece, PieceKind, Segment, Template};
use crate::blocks::Blocks;
use crate::code::{code, looks_like_slot};
use crate::cursor::Cursor;
use crate::fault::{Fault, MOST_FAULTS, Place};
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
        if parser.faults.is_empty() {
            return Ok(Self { segments: parser.segments });
        }
        parser.faults.sort_by_key(|fault| fault.place);
        Err(parser.faults)
    }
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    /// The segments that have ended.
    segments: Vec<Segment>,
    /// The segment at the cursor.
    segment: Segment,
    /// Text that is not a piece yet, and its start.
    text: String,
    text_begins: Place,
    blocks: Blocks,
    faults: Vec<Fault>,
    count: usize,
    /// How many slots have a name with expressions in it.
    open_names: usize,
    /// `true` if `]]` may follow the cursor; it is searched once.
    has_ends: bool,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        let cursor = Cursor::new(text);
        Self {
            cursor,
            segments: Vec::new(),
            segment: Segment { name: None, place: cursor.place(), pieces: Vec::new() },
            text: String::new(),
            text_begins: cursor.place(),
            blocks: Blocks::default(),
            faults: Vec::new(),
            count: 0,
            open_names: 0,
            has_ends: true,
        }
    }

    fn run(&mut self) {
        while !self.cursor.is_at_end() && self.faults.len() < MOST_FAULTS {
            let place = self.cursor.place();
            let result = match self.cursor.rest().as_bytes() {
                [b'{', b'{', ..] => self.expression(),
                [b'{', b'%', ..] => self.statement(),
                [b'{', b'#', ..] => self.comment(),
                [b'[', b'[', b'[', b'[', ..] => {
                    self.cursor.advance(4);
                    self.add_text("[[", place);
                    Ok(())
                }
                [b'[', b'[', ..] => self.slot(),
                [b'<', b'/' | b'a'..=b'z' | b'A'..=b'Z', ..] => self.tag(),
                rest => {
                    let special = rest.iter().skip(1).position(|byte| matches!(byte, b'{' | b'[' | b'<'));
                    self.take_text(special.map_or(rest.len(), |before| before + 1));
                    Ok(())
                }
            };
            if let Err(fault) = result {
                self.say(fault);
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
            self.say(self.cursor.fault(too_much));
            break;
        }
        // Unreadable parts may have closed them.
        if self.faults.is_empty() {
            self.faults.extend(self.blocks.left().take(MOST_FAULTS));
        }
        self.end_segment(None);
    }

    /// Adds a fault, up to a useful number.
    fn say(&mut self, fault: Fault) {
        if self.faults.len() < MOST_FAULTS && !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    fn take_text(&mut self, bytes: usize) {
        let place = self.cursor.place();
        let text = self.cursor.advance(bytes);
        self.add_text(text, place);
    }

    fn add_text(&mut self, text: &str, place: Place) {
        if self.text.is_empty() {
            self.text_begins = place;
        }
        self.text.push_str(text);
    }

    /// Makes a piece of the text so far, which keeps its white space from then on.
    fn flush(&mut self) {
        if !self.text.is_empty() {
            let kind = PieceKind::Text(std::mem::take(&mut self.text));
            self.segment.pieces.push(Piece { place: self.text_begins, kind });
        }
    }

    /// Removes the white space before code that begins with `-`.
    fn trim_end(&mut self) {
        self.text.truncate(self.text.trim_end().len());
    }

    fn piece(&mut self, place: Place, kind: PieceKind) {
        self.flush();
        self.count += 1;
        let piece = Piece { place, kind };
        unknown(&piece).take(MOST_FAULTS).for_each(|fault| self.say(fault));
        self.segment.pieces.push(piece);
    }

    fn end_segment(&mut self, name: Option<String>) {
        self.flush();
        self.count += 1;
        let next = Segment { name: None, place: self.cursor.place(), pieces: Vec::new() };
        let ended = std::mem::replace(&mut self.segment, next);
        self.segments.push(Segment { name, ..ended });
    }

    /// Parses braces with their content, and adds the piece that it is.
    fn code(
        &mut self,
        end: &str,
        kind: impl FnOnce(&mut Self, &str, String) -> Result<PieceKind, Fault>,
    ) -> Result<(), Fault> {
        let place = self.cursor.place();
        let code = code(&mut self.cursor, end)?;
        let [before, after] = code.signs;
        if before == Some(b'-') {
            self.trim_end();
        }
        if after == Some(b'-') {
            self.cursor.skip_space();
        }
        let kind = kind(self, code.inner, code.whole.to_owned())?;
        self.piece(place, kind);
        Ok(())
    }

    fn expression(&mut self) -> Result<(), Fault> {
        let opened = self.cursor;
        self.code("}}", |_, inner, whole| match inner.trim() {
            "" => {
                Err(opened.fault("expected an expression between `{{` and `}}`; for literal braces write `{{ '{{' }}`"))
            }
            _ => Ok(PieceKind::Expression(whole)),
        })
    }

    fn statement(&mut self) -> Result<(), Fault> {
        let opened = self.cursor;
        if let Some(tag) = basic_tag(opened.rest(), "raw") {
            return self.raw(&tag);
        }
        self.code("%}", |parser, inner, whole| {
            parser.blocks.statement(inner, opened.place())?;
            Ok(PieceKind::Statement(whole))
        })
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
        let mut ends = rest.match_indices("{%").filter_map(|(at, _)| Some((at, basic_tag(rest.get(at..)?, "endraw")?)));
        let Some((at, end)) = ends.next() else {
            self.cursor.advance(rest.len());
            return Err(opened.fault("`{% raw %}` is not closed: write `{% endraw %}`"));
        };
        let inside = rest.get(..at).unwrap_or_default();
        let inside = if tag.trims_after { inside.trim_start() } else { inside };
        let inside = if end.trims_before { inside.trim_end() } else { inside };
        self.flush();
        self.add_text(inside, opened.place());
        self.flush();
        self.count += 1;
        self.cursor.advance(at + end.length);
        if end.trims_after {
            self.cursor.skip_space();
        }
        Ok(())
    }

    fn comment(&mut self) -> Result<(), Fault> {
        let opened = self.cursor;
        self.cursor.advance(2);
        if self.cursor.is_at("-") {
            self.trim_end();
        }
        self.flush();
        self.count += 1;
        if matches!(self.cursor.byte(0), Some(b'-' | b'+')) {
            self.cursor.advance(1);
        }
        let begins = self.cursor;
        let Some((inside, _)) = begins.rest().split_once("#}") else {
            self.cursor.advance(begins.rest().len());
            return Err(opened.fault("`{#` is not closed: write `#}`"));
        };
        self.cursor.advance(inside.len() + 2);
        if inside.ends_with('-') {
            self.cursor.skip_space();
        }
        // After `[[[[` the second pair belongs to it.
        let is_slot = |at: &usize| {
            let is_literal = inside.get(..*at).is_some_and(|before| before.ends_with("[["));
            !is_literal && inside.get(*at..).is_some_and(looks_like_slot)
        };
        inside.match_indices("[[").map(|(at, _)| at).find(is_slot).map_or(Ok(()), |at| {
            let mut slot = begins;
            slot.advance(at);
            Err(slot.fault("a slot is not allowed in a comment: remove it, or write `[[[[`"))
        })
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
        let end = if self.has_ends { rest.find("]]") } else { None };
        self.has_ends = end.is_some();
        let Some(end) = end else { return };
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
        let mut ahead = opened;
        ahead.advance(1);
        let is_end = ahead.eat("/");
        let name = ahead.take_while(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if name == "checkpoint" && !is_end && ahead.eat(">") {
            self.cursor = ahead;
            return self.checkpoint(&opened);
        }
        self.take_text(1);
        let after = ahead.rest();
        let is_tag = after.starts_with('>') || after.starts_with("/>") || after.starts_with(char::is_whitespace);
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
        let mut ahead = self.cursor;
        let name = ahead.take_while(|c| !matches!(c, '<' | '\n' | '\r'));
        // The text up to here belongs to the segment, including its faults.
        let is_named = ahead.eat("</checkpoint>");
        if is_named {
            self.cursor = ahead;
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
