use std::collections::BTreeMap;

use serde_json::Value;

use super::{Input, Mismatch, Wire};

impl<T: Wire> Wire for Option<T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        if input.value().is_null() { Ok(None) } else { T::read(input).map(Some) }
    }

    fn write(&self) -> Result<Value, Mismatch> {
        self.as_ref().map_or(Ok(Value::Null), T::write)
    }

    fn undeclared(&self) -> usize {
        self.as_ref().map_or(0, T::undeclared)
    }
}

impl<T: Wire> Wire for Box<T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        T::read(input).map(Box::new)
    }

    fn write(&self) -> Result<Value, Mismatch> {
        (**self).write()
    }

    fn undeclared(&self) -> usize {
        (**self).undeclared()
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        input
            .items()?
            .iter()
            .enumerate()
            .map(|(index, item)| T::read(input.at(item)).map_err(|error| error.within(index.to_string())))
            .collect()
    }

    fn write(&self) -> Result<Value, Mismatch> {
        self.iter()
            .enumerate()
            .map(|(index, item)| item.write().map_err(|error| error.within(index.to_string())))
            .collect::<Result<Vec<_>, _>>()
            .map(Value::Array)
    }

    fn undeclared(&self) -> usize {
        self.iter().map(T::undeclared).sum()
    }
}

impl<T: Wire> Wire for BTreeMap<String, T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        input
            .members()?
            .iter()
            .map(|(key, value)| match T::read(input.at(value)) {
                Ok(value) => Ok((key.clone(), value)),
                Err(error) => Err(error.within(key.clone())),
            })
            .collect()
    }

    fn write(&self) -> Result<Value, Mismatch> {
        self.iter()
            .map(|(key, value)| match value.write() {
                Ok(value) => Ok((key.clone(), value)),
                Err(error) => Err(error.within(key.clone())),
            })
            .collect::<Result<_, _>>()
            .map(Value::Object)
    }

    fn undeclared(&self) -> usize {
        self.values().map(|value| 1 + value.undeclared()).sum()
    }
}

macro_rules! tuples {
    ($($length:literal: $($name:ident $field:tt),+;)*) => {$(
        impl<$($name: Wire),+> Wire for ($($name,)+) {
            fn read(input: Input<'_>) -> Result<Self, Mismatch> {
                let items = input.items()?;
                if items.len() != $length {
                    return Err(Mismatch::new(format!("expected {} items, found {}", $length, items.len())));
                }
                Ok(($({
                    let item = items.get($field).unwrap_or(&Value::Null);
                    $name::read(input.at(item)).map_err(|error| error.within(stringify!($field)))?
                },)+))
            }

            fn write(&self) -> Result<Value, Mismatch> {
                Ok(Value::Array(vec![$(
                    self.$field.write().map_err(|error| error.within(stringify!($field)))?
                ),+]))
            }

            fn undeclared(&self) -> usize {
                0 $(+ self.$field.undeclared())+
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
