//! The JSON form of a call that is a value: `{"name": .., "arguments": {..}}`, the `params` of MCP's `tools/call`.

use serde_json::Value;

use crate::CallError;
use crate::ground::wire::{Form, Input, Mismatch, Parts, Print, Printing, Wire};

/// Prints the members of a call.
///
/// # Errors
/// Fails for arguments with a number that JSON cannot hold.
pub fn print_call(to: &mut Parts<'_>, name: &str, arguments: &Value) -> Printing {
    to.member("name", Form::Text(name))?;
    let invalid = || Form::Invalid(Mismatch::new(format!("the arguments of `{name}` have no JSON form")));
    to.member("arguments", if arguments.is_object() { arguments.form() } else { invalid() })
}

/// Reads a call; other members of the request (`_meta`) are ignored.
///
/// # Errors
/// Fails if the value is no call, and where `parse` fails.
pub fn read_call<T>(
    input: Input<'_>,
    parse: impl FnOnce(&str, Option<&Value>) -> Result<T, CallError>,
) -> Result<T, Mismatch> {
    let call = CallParams::read(input)?;
    parse(&call.name, call.arguments.as_ref()).map_err(|error| Mismatch::new(error.to_string()))
}

struct CallParams {
    name: String,
    arguments: Option<Value>,
}

crate::__object!(CallParams { name: required "name", arguments: optional "arguments", });

/// `Serialize` and `Deserialize` for the type of a server's calls.
#[doc(hidden)]
#[macro_export]
macro_rules! __serde_call {
    ($type:ident) => {
        $crate::__wire! {
            $type: input => $crate::__private::read_call(input, |name, arguments| Self::parse(name, arguments)),
            [::core::option::Option::Some(&["name", "arguments"])],
            call => $crate::__private::Form::Object(call),
            to => $crate::__private::print_call(to, call.name(), &call.arguments()),
        }
    };
}
