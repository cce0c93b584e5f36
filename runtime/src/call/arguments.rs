use std::borrow::Cow;

use serde_json::{Error, Map, Value};

/// The arguments of a tool in any form: JSON, JSON text, or nothing, which means no arguments.
///
/// ```
/// use mcp_bindgen_runtime::AsArguments;
/// use serde_json::json;
///
/// assert_eq!(*r#"{"n": 1}"#.as_arguments()?, json!({"n": 1}));
/// for nothing in [json!(null), json!({})] {
///     assert_eq!(*nothing.as_arguments()?, json!({}));
/// }
/// assert_eq!(*().as_arguments()?, json!({}));
/// assert!("{n: 1}".as_arguments().is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait AsArguments {
    /// Returns the arguments as JSON: `{}` for `null`, for empty text and for nothing.
    ///
    /// # Errors
    /// Fails if text is not JSON.
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error>;
}

fn none<'a>() -> Cow<'a, Value> {
    Cow::Owned(Value::Object(Map::new()))
}

impl AsArguments for Value {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        Ok(if self.is_null() { none() } else { Cow::Borrowed(self) })
    }
}

impl AsArguments for Map<String, Value> {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        Ok(Cow::Owned(Value::Object(self.clone())))
    }
}

impl AsArguments for str {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        if self.trim().is_empty() {
            return Ok(none());
        }
        let read: Value = serde_json::from_str(self)?;
        Ok(if read.is_null() { none() } else { Cow::Owned(read) })
    }
}

impl AsArguments for String {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        self.as_str().as_arguments()
    }
}

impl AsArguments for () {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        Ok(none())
    }
}

impl<T: AsArguments> AsArguments for Option<T> {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        self.as_ref().map_or_else(|| Ok(none()), T::as_arguments)
    }
}

impl<T: AsArguments + ?Sized> AsArguments for &T {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        (**self).as_arguments()
    }
}
