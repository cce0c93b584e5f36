mcp_bindgen::mcp_tools!("shop", extern = { "#/$defs/Money" = "crate::Money" });

#[derive(Clone, Debug, PartialEq)]
pub struct Money;

fn main() {}
