//! Arrays with typed first items, of variable length.

use std::convert::Infallible;

use super::input::{Fill, Sink};
use super::print::{Form, Parts, Print, Printing};
use super::{Input, Mismatch, Wire};

/// An array whose first items have their own types and may be missing at the end: `prefixItems` of JSON Schema
/// without `minItems`. Arrays of a fixed length are tuples.
///
/// `P` is a tuple of options, one for each of the first items. `T` is the type of further items; by default there are
/// none.
///
/// ```
/// use mcp_bindgen_runtime::Prefixed;
///
/// type Range = Prefixed<(Option<String>, Option<i64>)>;
/// let range: Range = serde_json::from_str(r#"["rows", 3]"#)?;
/// assert_eq!(range.prefix, (Some("rows".to_owned()), Some(3)));
/// assert_eq!(serde_json::to_string(&Range::new((Some("rows".to_owned()), None)))?, r#"["rows"]"#);
/// assert!(serde_json::from_str::<Range>("[3]").is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Prefixed<P, T = Infallible> {
    /// The first items. `None` is a missing item; only `None` may follow it.
    pub prefix: P,
    /// The items after them.
    pub rest: Vec<T>,
}

impl<P, T> Prefixed<P, T> {
    /// Creates an array of these items alone.
    pub const fn new(prefix: P) -> Self {
        Self { prefix, rest: Vec::new() }
    }
}

impl<P: Default, T> Default for Prefixed<P, T> {
    fn default() -> Self {
        Self::new(P::default())
    }
}

impl<P, T> From<P> for Prefixed<P, T> {
    fn from(prefix: P) -> Self {
        Self::new(prefix)
    }
}

/// The first items of an array: a tuple of options.
pub trait Prefix: Default {
    /// The number of first items.
    const LENGTH: usize;

    /// Reads the item at an index.
    ///
    /// # Errors
    /// Fails if it does not fit.
    fn read(&mut self, index: usize, item: Input<'_>) -> Result<(), Mismatch>;

    /// Returns the items; `None` is a missing one.
    fn items(&self) -> impl IntoIterator<Item = Option<&dyn Print>>;
}

/// Reads the first items of an array, passes the others on, and counts all of them.
fn read_items<P: Prefix>(input: Input<'_>, others: &mut dyn Fill) -> Result<(P, usize), Mismatch> {
    let (mut prefix, mut count) = (P::default(), 0);
    input.give(Sink::Items(&mut |item: Input<'_>| {
        count += 1;
        if count <= P::LENGTH { prefix.read(count - 1, item) } else { others.fill(item) }
    }))?;
    Ok((prefix, count))
}

impl<P: Prefix, T: Wire> Wire for Prefixed<P, T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let mut rest = Vec::new();
        let (prefix, _) = read_items(input, &mut |item: Input<'_>| {
            rest.push(T::read(item)?);
            Ok(())
        })?;
        Ok(Self { prefix, rest })
    }
}

impl<P: Prefix, T: Print> Print for Prefixed<P, T> {
    fn form(&self) -> Form<'_> {
        let mut items = self.prefix.items().into_iter();
        let length = items.by_ref().take_while(Option::is_some).count();
        if items.any(|item| item.is_some()) || (length < P::LENGTH && !self.rest.is_empty()) {
            return Form::Invalid(Mismatch::new(format!("item {length} is missing, and others follow it")));
        }
        Form::Array(self, length + self.rest.len())
    }

    fn parts(&self, to: &mut Parts<'_>) -> Printing {
        self.prefix.items().into_iter().flatten().try_for_each(|item| to.item(item.form()))?;
        self.rest.parts(to)
    }
}

impl Wire for Infallible {
    fn read(_: Input<'_>) -> Result<Self, Mismatch> {
        Err(Mismatch::new("expected no more items"))
    }
}

impl Print for Infallible {
    fn form(&self) -> Form<'_> {
        match *self {}
    }
}

impl<P: Prefix, T: Print> serde::Serialize for Prefixed<P, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        super::serialize(self, serializer)
    }
}

impl<'de, P: Prefix, T: Wire> serde::Deserialize<'de> for Prefixed<P, T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::deserialize(deserializer)
    }
}

/// Tuples, and the options of the same types.
macro_rules! tuples {
    ($($length:literal: $($name:ident $field:tt),+;)*) => {$(
        impl<$($name: Wire),+> Prefix for ($(Option<$name>,)+) {
            const LENGTH: usize = $length;

            fn read(&mut self, index: usize, item: Input<'_>) -> Result<(), Mismatch> {
                match index {
                    $($field => self.$field = Some($name::read(item)?),)+
                    _ => {}
                }
                Ok(())
            }

            fn items(&self) -> impl IntoIterator<Item = Option<&dyn Print>> {
                [$(self.$field.as_ref().map(|item| item as &dyn Print)),+]
            }
        }

        impl<$($name: Wire),+> Wire for ($($name,)+) {
            #[allow(non_snake_case)]
            fn read(input: Input<'_>) -> Result<Self, Mismatch> {
                match read_items(input, &mut |item: Input<'_>| item.value().map(drop))? {
                    (($(Some($name),)+), $length) => Ok(($($name,)+)),
                    (_, found) => Err(Mismatch::new(format!("expected {} items, found {found}", $length))),
                }
            }
        }

        impl<$($name: Print),+> Print for ($($name,)+) {
            fn form(&self) -> Form<'_> {
                Form::Array(self, $length)
            }

            fn parts(&self, to: &mut Parts<'_>) -> Printing {
                $(to.item(self.$field.form())?;)+
                Ok(())
            }
        }
    )*};
}

tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
    7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
}
