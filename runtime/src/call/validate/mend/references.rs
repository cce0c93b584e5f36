//! References, as far as they must be known to say what is wrong with them.

/// A `$ref`.
#[derive(Clone, Debug)]
pub(in super::super) struct Reference {
    /// Where it stands in the schema.
    pub(in super::super) pointer: String,
    /// Where it leads.
    pub(in super::super) target: String,
}

impl Reference {
    /// The place in the same document that it leads to, where it says so by a JSON pointer.
    pub(in super::super) fn local_pointer(&self) -> Option<String> {
        Self::local(&self.target)
    }

    /// The place in the same document that a text leads to, where it says so by a JSON pointer.
    pub(in super::super) fn local(target: &str) -> Option<String> {
        let pointer = target.strip_prefix('#')?;
        (pointer.is_empty() || pointer.starts_with('/')).then(|| decoded(pointer))
    }

    /// Whether a validator's complaint is about this reference.
    pub(in super::super) fn explains(&self, complaint: &str) -> bool {
        let target = self.target.trim_start_matches('#');
        !target.is_empty() && (complaint.contains(target) || complaint.contains(&decoded(target)))
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hex(*high).zip(hex(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_and_the_rest_is_kept() {
        for (text, expected) in [("/a%20b", "/a b"), ("/%C3%A9", "/é"), ("/100%", "/100%"), ("/%zz", "/%zz")] {
            assert_eq!(decoded(text), expected);
        }
    }
}
