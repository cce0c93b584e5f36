//! The size of values as JSON.

use std::io;

use serde::Serialize;

/// The length of a value as compact JSON.
pub(crate) fn bytes<T: Serialize + ?Sized>(value: &T) -> usize {
    bytes_up_to(value, usize::MAX)
}

/// The length of a value as compact JSON, or some length above `most`: long values are not counted to their end.
pub(crate) fn bytes_up_to<T: Serialize + ?Sized>(value: &T, most: usize) -> usize {
    let mut counter = Counter { count: 0, most };
    // What is counted was JSON before.
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
