//! A toolset for the tests of each package.

use mcp_bindgen::agents::Toolset;

/// Creates a toolset with the function `add`.
pub(crate) fn toolset() -> Toolset {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Add {
        a: i64,
        // A strict model sends `null` for what it leaves out, and that does not reach the function.
        #[serde(default)]
        b: i64,
    }
    let add = async |add: Add| Ok::<_, String>(add.a + add.b);
    Toolset::builder().function("add", "Adds numbers.", add).build().expect("one function")
}
