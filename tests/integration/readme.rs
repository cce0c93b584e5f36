//! What the README shows of features that its doctests do not have is what is compiled elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

const README: &str = include_str!("../../README.md");
const COMPILED: &str = include_str!("../../src/agents.md");

fn blocks(text: &str, fence: &str) -> Vec<String> {
    let opening = format!("```{fence}\n");
    let blocks = text.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks
        .map(|block| block.lines().filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect())
        .collect()
}

#[test]
fn what_is_said_of_agents_compiles() {
    let section = README.split("\n## Agents\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let shown = blocks(section, "rust,ignore");
    assert_eq!((shown.len(), blocks(section, "rust").len()), (3, 0));
    assert_eq!(shown, blocks(COMPILED, "rust"), "README.md and src/agents.md show the same code");
}
