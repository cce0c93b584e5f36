use std::collections::BTreeMap;

use super::print::{Form, Items, Members, Print, Stopped};
use super::sink::Sink;
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

macro_rules! tuples {
    ($($length:literal: $($name:ident $field:tt),+;)*) => {$(
        impl<$($name: Wire),+> Wire for ($($name,)+) {
            #[allow(non_snake_case)]
            fn read(input: Input<'_>) -> Result<Self, Mismatch> {
                let mut places: ($(Option<$name>,)+) = Default::default();
                let mut found = 0;
                input.give(Sink::Items(&mut |item| {
                    match found {
                        $($field => places.$field = Some($name::read(item)?),)+
                        _ => drop(item.value()?),
                    }
                    found += 1;
                    Ok(())
                }))?;
                match places {
                    ($(Some($name),)+) if found == $length => Ok(($($name,)+)),
                    _ => Err(Mismatch::new(format!("expected {} items, found {found}", $length))),
                }
            }
        }

        impl<$($name: Print),+> Print for ($($name,)+) {
            fn form(&self) -> Form<'_> {
                Form::Array(self, $length)
            }

            fn items(&self, to: &mut Items<'_>) -> Result<(), Stopped> {
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
