mod a {
    mcp_bindgen::mcp_tools!("github", tools = "create_issue");
}
mod b {
    mcp_bindgen::mcp_tools!("github", prefix = true);
}
mod c {
    mcp_bindgen::mcp_tools!("github", prefix = "");
}
mod d {
    mcp_bindgen::mcp_tools!("github", tools = []);
}
mod e {
    mcp_bindgen::mcp_tools!(github);
}

fn main() {}
