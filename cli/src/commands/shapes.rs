//! `list --shapes`: lists equal shapes of a server, with names for `shared`.

use std::path::Path;

use mcp_bindgen_codegen::{AlikeShapes, Bindings};
use mcp_bindgen_model::printable;
use serde_json::{Value, json};

use super::source;
use crate::args::List;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(config: Option<&Path>, wanted: &List, output: &mut Output) -> Result<Exit, Failure> {
    let mut exits = Vec::new();
    let mut listed = Vec::new();
    for bound in source::listed(config, wanted, output)? {
        let bound = match bound {
            Ok(bound) => bound,
            Err(failure) => {
                output.error(&failure.message);
                exits.push(failure.exit);
                continue;
            }
        };
        let server = bound.options.server_name();
        let shapes = Bindings::alike_shapes(&bound.snapshot, &bound.options);
        if output.json() {
            listed.extend(shapes.iter().map(|shape| to_json(server, shape)));
        } else if shapes.is_empty() {
            output.status("Finished", &format!("`{server}`: no repeated shapes"));
        } else {
            let shapes: Vec<String> = shapes.iter().map(|shape| text(server, shape)).collect();
            output.data(&shapes.join("\n"))?;
        }
    }
    if output.json() {
        output.data_json(&Value::Array(listed))?;
    }
    Ok(Exit::of_all(exits))
}

fn to_json(server: &str, shape: &AlikeShapes) -> Value {
    json!({
        "server": server,
        "name": shape.name,
        "suggested": shape.suggested,
        "places": shape.places.iter().map(|at| json!({"place": at.place, "type": at.type_name})).collect::<Value>(),
    })
}

/// Returns the line for the configuration, and below it the places with their types now.
fn text(server: &str, shape: &AlikeShapes) -> String {
    let places: Vec<String> = shape.places.iter().map(|at| printable(&at.place)).collect();
    let width = places.iter().map(|place| place.chars().count()).max().unwrap_or_default();
    let first = shape.places.first().map(|at| printable(&Value::from(at.place.as_str()).to_string()));
    let first = first.unwrap_or_default();
    let is_shared = if shape.name.is_some() { "  # shared" } else { "" };
    let mut lines = vec![format!("{server}: {} = {first}{is_shared}", shape.suggested)];
    lines.extend(places.iter().zip(&shape.places).map(|(place, at)| format!("    {place:<width$}  {}", at.type_name)));
    lines.join("\n")
}
