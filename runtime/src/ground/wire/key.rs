//! The keys of objects.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Visitor};

/// Returns `true` if an object with this key is a number: `serde_json` with `arbitrary_precision` gives its digits
/// under the key. Without that feature it is a key like others.
#[inline]
pub(super) fn is_number(key: &str) -> bool {
    key == "$serde_json::private::Number" && keeps_digits()
}

#[cold]
fn keeps_digits() -> bool {
    "1.00".parse::<serde_json::Number>().is_ok_and(|number| number.to_string() == "1.00")
}

/// The key of an object, which is a text in JSON.
pub(super) struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Cow<'de, str>;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text as the key of an object")
    }

    #[inline]
    fn visit_str<E>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    #[inline]
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    #[inline]
    fn visit_string<E>(self, text: String) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text))
    }
}
