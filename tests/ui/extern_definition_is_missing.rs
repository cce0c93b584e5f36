mcp_bindgen::mcp_tools!("shop", extern = { "#/$defs/Mony" = "crate::Money" });

fn main() {}
