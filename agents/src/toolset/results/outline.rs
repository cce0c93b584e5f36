//! Shortened values, with marks for omitted parts.

use serde_json::{Map, Value};

use crate::json::bytes_up_to;

/// The minimum space of a value, in bytes: less space shows nothing useful.
const LEAST: usize = 64;
/// The space that a member of an object always has, if it needs it.
const SURE: usize = 512;
/// The room that a mark takes.
const MARK: usize = 40;
/// The key of an object's mark.
const CUT: &str = "[cut]";

/// A value shortened to about a number of bytes of JSON.
pub(super) struct Outline {
    pub(super) value: Value,
    /// How many items or members it has.
    pub(super) count: usize,
    /// `true` if the outline omits something.
    pub(super) is_cut: bool,
}

impl Outline {
    /// Outlines a value. Long texts, lists and objects end with a mark that counts the omitted part. The first items of
    /// a list are whole. In an object, short members are whole and the others share the remaining space.
    pub(super) fn of(value: &Value, room: usize) -> Self {
        match value {
            Value::String(text) if bytes_up_to(value, room) > room => {
                let shown = beginning(text, room.saturating_sub(MARK), escaped);
                let missing = text.chars().count() - shown.chars().count();
                let value = format!("{shown}[cut: {missing} more characters]").into();
                Self { value, count: 1, is_cut: true }
            }
            Value::Array(items) => Self::list(items.iter(), room),
            Value::Object(members) => Self::object(members.iter(), room),
            _ => Self { value: value.clone(), count: 1, is_cut: false },
        }
    }

    pub(super) fn list<'v>(items: impl Iterator<Item = &'v Value>, room: usize) -> Self {
        let (mut items, mut shown, mut is_cut) = (items.peekable(), Vec::new(), false);
        let mut left = room.saturating_sub(MARK);
        while let Some(item) = items.next_if(|item| bytes_up_to(*item, left) < left) {
            left = left.saturating_sub(bytes_up_to(item, left) + 1);
            shown.push(item.clone());
        }
        if shown.is_empty()
            && left > LEAST
            && let Some(item) = items.next()
        {
            let first = Self::of(item, left);
            is_cut = first.is_cut;
            shown.push(first.value);
        }
        let (count, missing) = (shown.len(), items.count());
        if missing > 0 {
            shown.push(format!("[cut: {missing} more items]").into());
        }
        Self { value: shown.into(), count, is_cut: is_cut || missing > 0 }
    }

    pub(super) fn object<'v>(members: impl Iterator<Item = (&'v String, &'v Value)>, room: usize) -> Self {
        let (mut members, mut shown) = (members.peekable(), Vec::new());
        let sure = (room / 8).clamp(LEAST, SURE);
        let needs = |(key, value): &(&String, &Value)| key.len() + 4 + bytes_up_to(*value, sure).min(sure);
        let (mut left, mut room) = (room.saturating_sub(MARK), room.saturating_sub(MARK));
        // The first one is there in any case.
        while let Some(member) = members.next_if(|member| shown.is_empty() || needs(member) <= left) {
            left = left.saturating_sub(needs(&member));
            room = room.saturating_sub(member.0.len() + 4);
            shown.push(member);
        }
        let (count, missing) = (shown.len(), members.count());
        let share = share(shown.iter().map(|(_, value)| *value), room);
        let mut is_cut = missing > 0;
        let mut value = Map::new();
        for (key, member) in shown {
            let member = Self::of(member, share);
            is_cut |= member.is_cut;
            value.insert(key.clone(), member.value);
        }
        if missing > 0 {
            value.insert(CUT.to_owned(), format!("{missing} more members").into());
        }
        Self { value: value.into(), count, is_cut }
    }
}

/// Returns the most that each of some values may have, so that all of them fit.
fn share<'v>(values: impl Iterator<Item = &'v Value>, mut left: usize) -> usize {
    let mut lengths: Vec<usize> = values.map(|value| bytes_up_to(value, left)).collect();
    lengths.sort_unstable();
    for (index, length) in lengths.iter().enumerate() {
        let each = left / (lengths.len() - index);
        if *length > each {
            return each;
        }
        left -= length;
    }
    usize::MAX
}

/// Returns the beginning of a text within a number of bytes: whole lines, if the last one is not too long.
pub(super) fn beginning(text: &str, room: usize, bytes: impl Fn(char) -> usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, char)| {
        taken += bytes(*char);
        taken > room
    });
    let Some((end, _)) = end else { return text };
    let shown = text.get(..end).unwrap_or_default();
    match shown.rfind('\n') {
        Some(line) if line > end / 2 => shown.get(..=line).unwrap_or(shown),
        _ => shown,
    }
}

/// Returns the length of a character in a text of JSON.
fn escaped(char: char) -> usize {
    match char {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => char.len_utf8(),
    }
}
