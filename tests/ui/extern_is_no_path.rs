mcp_bindgen::mcp_tools!("shop", extern = { "#/$defs/Money" = "Money" });

fn main() {}
