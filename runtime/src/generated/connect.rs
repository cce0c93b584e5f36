//! Bounds of `connect()` in bindings: they hold if this build has the server's transport, so that otherwise a call
//! does not compile. Their lifetime makes rustc check them at the call instead of the definition.

use std::convert::Infallible;

#[cfg(any(feature = "http", feature = "stdio"))]
use crate::Client;

/// A client that reaches servers over HTTP.
#[diagnostic::on_unimplemented(
    message = "this server uses HTTP, which requires feature `http` of mcp-bindgen",
    label = "feature `http` is off",
    note = "run `cargo add mcp-bindgen --features http`"
)]
pub trait OverHttp<'call> {}

/// A client that starts servers as child processes.
#[diagnostic::on_unimplemented(
    message = "this server is a child process, which requires feature `stdio` of mcp-bindgen",
    label = "feature `stdio` is off",
    note = "run `cargo add mcp-bindgen --features stdio`"
)]
pub trait OverStdio<'call> {}

#[cfg(feature = "http")]
impl OverHttp<'_> for Client {}

#[cfg(feature = "stdio")]
impl OverStdio<'_> for Client {}

// For a trait without implementations, rustc suggests adding one.
#[diagnostic::do_not_recommend]
impl OverHttp<'_> for Infallible {}

#[diagnostic::do_not_recommend]
impl OverStdio<'_> for Infallible {}
