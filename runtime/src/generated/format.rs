/// The first line of generated code: whether this library is the one that it was made for. As a macro it speaks before
/// anything else in the code can fail; bindings of every format look for it here, at the root.
#[doc(hidden)]
#[macro_export]
macro_rules! __format {
    (4) => {};
    (0) => {
        $crate::__format!(@older 0);
    };
    (1) => {
        $crate::__format!(@older 1);
    };
    (2) => {
        $crate::__format!(@older 2);
    };
    (3) => {
        $crate::__format!(@older 3);
    };
    (@older $format:literal) => {
        ::core::compile_error!(::core::concat!(
            "these bindings are of an older mcp-bindgen (format ",
            $format,
            ", this one takes 4): generate them again with `mcp-bindgen expand`",
        ));
    };
    ($format:literal) => {
        ::core::compile_error!(::core::concat!(
            "these bindings are of a newer mcp-bindgen (format ",
            $format,
            ", this one takes 4): update `mcp-bindgen` in Cargo.toml, or generate them again with the command line of its \
             version",
        ));
    };
}
