use std::collections::BTreeMap;

use super::input::Sink;
use super::print::{Form, Items, Members, Print, Stopped};
use super::{Input, Mismatch, Wire};

impl<T: Wire> Wire for Option<T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let mut place = None;
        input.give(Sink::Nullable(&mut place))?;
        Ok(place)
    }
}

impl<T: Print> Print for Option<T> {
    #[inline]
    fn form(&self) -> Form<'_> {
        self.as_ref().map_or(Form::Null, T::form)
    }
}

impl<T: Wire> Wire for Box<T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        T::read(input).map(Self::new)
    }
}

impl<T: Print> Print for Box<T> {
    fn form(&self) -> Form<'_> {
        (**self).form()
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let mut items = Self::new();
        input.give(Sink::Items(&mut |item| {
            items.push(T::read(item)?);
            Ok(())
        }))?;
        Ok(items)
    }
}

impl<T: Print> Print for Vec<T> {
    #[inline]
    fn form(&self) -> Form<'_> {
        Form::Array(self, self.len())
    }

    fn items(&self, to: &mut Items<'_>) -> Result<(), Stopped> {
        self.iter().try_for_each(|item| to.item(item.form()))
    }
}

impl<T: Wire> Wire for BTreeMap<String, T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let mut map = Self::new();
        input.give(Sink::Members(&mut map))?;
        Ok(map)
    }
}

impl<T: Print> Print for BTreeMap<String, T> {
    #[inline]
    fn form(&self) -> Form<'_> {
        Form::object(self, self.len())
    }

    fn members(&self, to: &mut Members<'_>) -> Result<(), Stopped> {
        self.iter().try_for_each(|(key, value)| to.member(key, value.form()))
    }
}

/// A value or an explicit `null`, if `null` differs from a missing property: an optional nullable property that does
/// not default to `null` has the type `Option<Nullable<T>>`.
///
/// ```
/// use mcp_bindgen_runtime::Nullable;
///
/// let cleared: Option<Nullable<String>> = Some(Nullable::Null); // sent as `null`
/// let set: Option<Nullable<String>> = Some("done".to_owned().into()); // sent as `"done"`
/// let untouched: Option<Nullable<String>> = None; // not sent
/// # assert_ne!(cleared, set);
/// # assert_ne!(cleared, untouched);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Nullable<T> {
    /// An explicit `null`.
    #[default]
    Null,
    /// A value.
    Value(T),
}

impl<T> Nullable<T> {
    /// Returns the value, if it is not `null`.
    pub fn as_option(&self) -> Option<&T> {
        match self {
            Self::Null => None,
            Self::Value(value) => Some(value),
        }
    }

    /// Returns the value, if it is not `null`.
    pub fn into_option(self) -> Option<T> {
        match self {
            Self::Null => None,
            Self::Value(value) => Some(value),
        }
    }
}

impl<T> From<T> for Nullable<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl<T> From<Option<T>> for Nullable<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Self::Value)
    }
}

impl From<&str> for Nullable<String> {
    fn from(value: &str) -> Self {
        Self::Value(value.to_owned())
    }
}

impl<T: Wire> Wire for Nullable<T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        Option::read(input).map(Self::from)
    }
}

impl<T: Print> Print for Nullable<T> {
    fn form(&self) -> Form<'_> {
        self.as_option().map_or(Form::Null, T::form)
    }
}
