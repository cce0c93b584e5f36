//! `expand` gives what the macro and build scripts give: the generator's own tokens, formatted.

use crate::common;

use std::fs;

use common::{Project, fixtures};
use mcp_bindgen_codegen::{Bindings, Options, format};
use mcp_bindgen_model::Snapshot;

#[test]
fn expand_output_equals_the_generated_tokens() {
    let project = Project::empty();
    let mut count = 0;
    for folder in ["snapshots", "lists", "features", "hostile"] {
        for entry in fs::read_dir(fixtures().join(folder)).expect("the fixtures can be listed") {
            let path = entry.expect("the fixtures can be listed").path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let snapshot = Snapshot::load(&path).expect("the list can be read");
            let (tokens, _) = Bindings::generate(&snapshot, &Options::new("some-server"));
            let expected = format(tokens).expect("the bindings can be formatted");
            let file = path.to_str().expect("the path is text");
            let run = project.run(&["expand", "--snapshot", file, "--server", "some-server"]).exits_with(0);
            assert!(run.stdout == expected, "{file} expands to something else");
            count += 1;
        }
    }
    assert!(count > 55, "{count} lists");
}
