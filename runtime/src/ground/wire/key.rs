//! The keys of objects.

use std::borrow::Cow;

use serde::Deserialize;

/// The key of an object, which is a text in JSON.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Key<'k>(#[serde(borrow)] pub(super) Cow<'k, str>);

impl Key<'_> {
    /// Returns `true` if an object with this key is a number: `serde_json` with `arbitrary_precision` gives its digits
    /// under the key. Without that feature it is a key like others.
    #[inline]
    pub(super) fn is_number(&self) -> bool {
        self.0 == "$serde_json::private::Number" && keeps_digits()
    }
}

#[cold]
fn keeps_digits() -> bool {
    "1.00".parse::<serde_json::Number>().is_ok_and(|number| number.to_string() == "1.00")
}
