//! Objects of JSON with optional members, and the size of values.

use std::io;

use serde::Serialize;
use serde_json::{Map, Value};

/// Returns the object of the members that have a value.
pub(crate) fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Map<String, Value> {
    members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// Returns the text under a key.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// Returns the name of a listed tool.
pub(crate) fn name(tool: &Value) -> Option<&str> {
    text(tool, "name")
}

/// Returns the names of listed tools, without those of items that have none.
pub(crate) fn names(tools: &[Value]) -> impl Iterator<Item = &str> {
    tools.iter().filter_map(name)
}

/// Returns the length of a value as compact JSON.
pub(crate) fn bytes<T: Serialize + ?Sized>(value: &T) -> usize {
    bytes_up_to(value, usize::MAX)
}

/// Returns the length of a value as compact JSON, or some length above `most`: long values are not counted to their
/// end.
pub(crate) fn bytes_up_to<T: Serialize + ?Sized>(value: &T, most: usize) -> usize {
    let mut counter = Counter { count: 0, most };
    // Counting cannot fail, because the value was parsed from JSON.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.count
}

struct Counter {
    count: usize,
    most: usize,
}

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.count += bytes.len();
        if self.count > self.most { Err(io::ErrorKind::Other.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_compact_json() {
        let value = serde_json::json!({ "a": [1, "課題"] });
        assert_eq!(bytes(&value), value.to_string().len());
        assert!((5..value.to_string().len()).contains(&bytes_up_to(&value, 4)));
    }
}
