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
