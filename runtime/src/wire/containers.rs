use std::collections::BTreeMap;

use super::print::{Form, Items, Members, Print, Stopped};
use super::{Input, Mismatch, Wire};

impl<T: Wire> Wire for Option<T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        if input.is_null() { Ok(None) } else { T::read(input).map(Some) }
    }
}

impl<T: Print> Print for Option<T> {
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
        let items = input.items()?;
        let mut read = Self::with_capacity(items.len());
        for (index, item) in items.enumerate() {
            read.push(T::read(item).map_err(|error| error.within_item(index))?);
        }
        Ok(read)
    }
}

impl<T: Print> Print for Vec<T> {
    fn form(&self) -> Form<'_> {
        Form::Array(self, self.len())
    }

    fn items(&self, to: &mut Items<'_>) -> Result<(), Stopped> {
        self.iter().try_for_each(|item| to.item(item))
    }
}

impl<T: Wire> Wire for BTreeMap<String, T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let read = |(key, value): (&str, Input<'_>)| {
            input.note_undeclared(1);
            match T::read(value) {
                Ok(value) => Ok((key.to_owned(), value)),
                Err(error) => Err(error.within(key.to_owned())),
            }
        };
        input.members()?.map(read).collect()
    }
}

impl<T: Print> Print for BTreeMap<String, T> {
    fn form(&self) -> Form<'_> {
        Form::Object(self)
    }

    fn members(&self, to: &mut Members<'_>) -> Result<(), Stopped> {
        self.iter().try_for_each(|(key, value)| to.member(key, value))
    }
}

macro_rules! tuples {
    ($($length:literal: $($name:ident $field:tt),+;)*) => {$(
        impl<$($name: Wire),+> Wire for ($($name,)+) {
            fn read(input: Input<'_>) -> Result<Self, Mismatch> {
                let mut items = input.items()?;
                let found = items.len();
                let wrong_length = || Mismatch::new(format!("expected {} items, found {found}", $length));
                if found != $length {
                    return Err(wrong_length());
                }
                Ok(($({
                    let item = items.next().ok_or_else(wrong_length)?;
                    $name::read(item).map_err(|error| error.within_item($field))?
                },)+))
            }
        }

        impl<$($name: Print),+> Print for ($($name,)+) {
            fn form(&self) -> Form<'_> {
                Form::Array(self, $length)
            }

            fn items(&self, to: &mut Items<'_>) -> Result<(), Stopped> {
                $(to.item(&self.$field)?;)+
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
