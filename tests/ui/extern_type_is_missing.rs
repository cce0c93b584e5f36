mcp_bindgen::mcp_tools!("shop", extern = { "#/$defs/Money" = "crate::Mony" });

pub struct Money;

fn main() {}
