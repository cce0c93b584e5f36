//! Finds the servers that Rust source binds, tokenized as by rustc, so that comments and strings do not count.

use std::vec::IntoIter;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The macros that take names of servers.
const MACROS: [&str; 2] = ["mcp_tools", "include_bindings"];
/// The name in build scripts that bind servers.
const BUILDER: &str = "build_script";

/// Returns the servers that `mcp_tools!("github", "git", mod = ..)`, `include_bindings!("github")` and the builder of a
/// build script name.
pub(super) fn bound(text: &str) -> Vec<String> {
    let has_builder = text.contains(BUILDER);
    if !has_builder && !MACROS.iter().any(|name| text.contains(name)) {
        return Vec::new();
    }
    // rustc reports invalid source.
    let Ok(tokens) = text.parse::<TokenStream>() else { return Vec::new() };
    let mut names = Vec::new();
    let mut open: Vec<IntoIter<TokenTree>> = vec![trees(tokens)];
    // The previous tokens: `mcp_tools !`, `. server`.
    let mut before = [String::new(), String::new()];
    while let Some(tree) = open.last_mut().map(Iterator::next) {
        let Some(tree) = tree else {
            open.pop();
            continue;
        };
        let word = match &tree {
            TokenTree::Group(group) => {
                let [first, second] = before.each_ref().map(String::as_str);
                if second == "!" && MACROS.contains(&first) {
                    names.extend(of_macro(group.stream()));
                } else if has_builder
                    && group.delimiter() == Delimiter::Parenthesis
                    && [first, second] == [".", "server"]
                {
                    names.extend(group.stream().into_iter().next().and_then(|tree| literal(&tree)));
                }
                open.push(trees(group.stream()));
                String::new()
            }
            tree => tree.to_string(),
        };
        before.rotate_left(1);
        if let Some(last) = before.last_mut() {
            *last = word;
        }
    }
    names
}

fn trees(tokens: TokenStream) -> IntoIter<TokenTree> {
    tokens.into_iter().collect::<Vec<_>>().into_iter()
}

/// Returns the names that a macro begins with. A path names a snapshot that no configuration has to know.
fn of_macro(tokens: TokenStream) -> Vec<String> {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let is_path = |tree: &TokenTree| matches!(tree, TokenTree::Ident(word) if word == "path");
    let mut names = Vec::new();
    for part in trees.split(|tree| matches!(tree, TokenTree::Punct(comma) if comma.as_char() == ',')) {
        match part {
            [name] => names.extend(literal(name)),
            [first, ..] if is_path(first) => return Vec::new(),
            _ => {}
        }
    }
    names
}

/// Returns the text of a literal without escapes, which no name has.
fn literal(tree: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = tree else { return None };
    let text = literal.to_string();
    let text = text.trim_start_matches('r').trim_matches('#');
    let inside = text.strip_prefix('"')?.strip_suffix('"')?;
    (!inside.contains('\\')).then(|| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use super::bound;

    #[test]
    fn servers_of_macro_calls_are_found() {
        let text = "mcp_bindgen::mcp_tools!(\"github\", tools = [\"list_*\"]);\n// mcp_tools!(\"no\");\nmcp_tools! { \"a\", r\"b\" }\n\
                    mcp_tools!(\"c\", path = \"x.json\"); mcp_tools!(); fn f() { { mcp_bindgen::include_bindings!(\"d\"); } }";
        assert_eq!(bound(text), ["github", "a", "b", "d"]);
    }

    #[test]
    fn comments_and_strings_are_not_macro_calls() {
        let text = "/* mcp_tools!(\"a\"); /* mcp_tools!(\"b\"); */ */ const T: &str = r#\"mcp_tools!(\"c\");\"#;\n\
                    /// mcp_tools!(\"d\");\nfn f() { g(\"mcp_tools!(\\\"e\\\")\"); }";
        assert!(bound(text).is_empty(), "{:?}", bound(text));
        assert!(bound("mcp_tools!(\"open").is_empty());
    }

    #[test]
    fn servers_of_build_scripts_are_found() {
        let text = "use mcp_bindgen_codegen::build_script::Builder;\nfn main() { Builder::new().server(\"a\").tools([\"x\"]).server(NAME); }";
        assert_eq!(bound(text), ["a"]);
        assert!(bound("fn f() { App::new().server(\"mcp_tools\"); }").is_empty());
    }
}
