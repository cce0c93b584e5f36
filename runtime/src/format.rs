/// The first line of generated code: whether this library is the one that it was made for. As a macro it speaks before
/// anything else in the code can fail.
#[doc(hidden)]
#[macro_export]
macro_rules! __format {
    (1) => {};
    (0) => {
        ::core::compile_error!(
            "these bindings are of an older mcp-bindgen (format 0, this one takes 1): generate them again with \
             `mcp-bindgen expand`"
        );
    };
    ($format:literal) => {
        ::core::compile_error!(::core::concat!(
            "these bindings are of a newer mcp-bindgen (format ",
            $format,
            ", this one takes 1): update `mcp-bindgen` in Cargo.toml, or generate them again with the command line of \
             its version",
        ));
    };
}
