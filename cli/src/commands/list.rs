//! `list`: lists the tools of servers with the names of their bindings, from snapshots.

use std::path::Path;

use mcp_bindgen_codegen::{AlikeShapes, Bindings};
use mcp_bindgen_model::{printable, write_if_changed};
use serde_json::{Value, json};

use super::check::since_at;
use crate::args::{Format, List};
use crate::diagnostics;
use crate::exit::{Exit, Result};
use crate::inventory::{self, Server};
use crate::output::Output;
use crate::report::Since;
use crate::source::{self, Bound};
use crate::text::columns;

pub(crate) fn run(config: Option<&Path>, wanted: &List, output: &mut Output) -> Result<Exit> {
    let (mut exits, mut servers) = (Vec::new(), Vec::new());
    let mut listed = source::listed(config, wanted, output)?.into_iter();
    while let Some(bound) = listed.next() {
        let taken = bound.and_then(|bound| Ok((since(&bound, wanted)?, bound)));
        let Some((since, bound)) = output.settled(taken, &mut exits) else { continue };
        let planned = Bindings::plan(&bound.snapshot, &bound.options);
        let mut server = Server::new(&bound, &planned, since, output.format);
        let is_last = listed.len() == 0;
        // On a terminal the answer comes as it is found.
        if output.is_text() && wanted.output.is_none() {
            print(std::slice::from_mut(&mut server), None, output)?;
            leave(server, is_last);
        } else {
            servers.push(server);
        }
        if diagnostics::show(planned.diagnostics(), &bound, output) {
            exits.push(Exit::Failed);
        }
        leave(planned, is_last);
        leave(bound, is_last);
    }
    match wanted.output.as_deref() {
        // The old file is better than an incomplete one.
        Some(file) if !exits.is_empty() => output.error(&format!(
            "nothing was written because of this failure\n --> {}\n  = help: fix the failures, or specify the servers \
             to list",
            file.display()
        )),
        None if output.is_text() => {}
        // A list of nothing does not say that something failed; what ends the program does.
        None if output.json() && servers.is_empty() && !exits.is_empty() => {}
        file => print(&mut servers, file, output)?,
    }
    leave(servers, true);
    Ok(Exit::of_all(exits))
}

/// Leaks a value shortly before the process ends, because freeing a long list takes time.
fn leave<T>(value: T, is_last: bool) {
    if is_last {
        std::mem::forget(value);
    }
}

fn since(bound: &Bound, wanted: &List) -> Result<Option<Since>> {
    let rules = bound.server.as_ref().map(|server| &server.drift_rules);
    wanted.base.as_deref().map(|revision| since_at(rules, &bound.path, &bound.text, revision)).transpose()
}

fn print(servers: &mut [Server], file: Option<&Path>, output: &mut Output) -> Result<()> {
    // The width for results, of the terminal or from `COLUMNS`; files have none.
    let columns = columns().filter(|columns| *columns > 0 && file.is_none());
    let text = match output.format {
        Format::Json => format!("{:#}", inventory::to_json(servers)),
        Format::Markdown => inventory::document(servers).trim_end().to_owned(),
        Format::Html => inventory::page(servers),
        _ => servers.iter().flat_map(|server| inventory::lines(server, columns)).collect::<Vec<_>>().join("\n"),
    };
    match file {
        None if output.json() => output.json_text(&text)?,
        None => output.data(&text)?,
        Some(file) => {
            let is_new = write_if_changed(file, format!("{}\n", text.trim_end()).as_bytes())?;
            output.status(if is_new { "Wrote" } else { "Unchanged" }, &file.display().to_string());
        }
    }
    Ok(())
}

/// Runs `list --shapes`: lists equal shapes of a server, with names for `shared`.
pub(crate) fn shapes(config: Option<&Path>, wanted: &List, output: &mut Output) -> Result<Exit> {
    let (mut exits, mut listed) = (Vec::new(), Vec::new());
    for bound in source::listed(config, wanted, output)? {
        let Some(bound) = output.settled(bound, &mut exits) else { continue };
        let server = bound.options.server_name();
        let shapes = Bindings::alike_shapes(&bound.snapshot, &bound.options);
        if output.json() {
            listed.extend(shapes.iter().map(|shape| shape_to_json(server, shape)));
        } else if shapes.is_empty() {
            output.status("Finished", &format!("`{server}`: no repeated shapes"));
        } else {
            let shapes: Vec<String> = shapes.iter().map(|shape| shape_text(server, shape)).collect();
            output.data(&shapes.join("\n"))?;
        }
    }
    output.report(&Value::Array(listed))?;
    Ok(Exit::of_all(exits))
}

fn shape_to_json(server: &str, shape: &AlikeShapes) -> Value {
    json!({
        "server": server,
        "name": shape.name,
        "suggested": shape.suggested,
        "places": shape.places.iter().map(|at| json!({"place": at.place, "type": at.type_name})).collect::<Value>(),
    })
}

/// Returns the line for the configuration, and below it the places with their types now.
fn shape_text(server: &str, shape: &AlikeShapes) -> String {
    let places: Vec<String> = shape.places.iter().map(|at| printable(&at.place)).collect();
    let width = places.iter().map(|place| place.chars().count()).max().unwrap_or_default();
    let first = shape.places.first().map(|at| printable(&json!(at.place).to_string())).unwrap_or_default();
    let is_shared = if shape.name.is_some() { "  # shared" } else { "" };
    let mut lines = vec![format!("{server}: {} = {first}{is_shared}", shape.suggested)];
    lines.extend(places.iter().zip(&shape.places).map(|(place, at)| format!("    {place:<width$}  {}", at.type_name)));
    lines.join("\n")
}
