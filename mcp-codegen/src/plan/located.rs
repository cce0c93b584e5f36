//! Resolves the places of the user's rules in a plan.

use mcp_bindgen_model::{nearest, printable};

use super::ToolPlan;
use crate::place::{Found, Lost, Place, escaped};

/// The shapes at a place.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) place: Place,
    /// Which of the plan's tools it is in.
    pub(crate) tool: usize,
    /// The shapes, in the document of the place's role; never empty.
    pub(crate) found: Vec<Found>,
}

/// Why a place leads nowhere, and what to do about it.
#[derive(Clone, Debug)]
pub(crate) struct Nowhere {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// Finds a place. `every` names the tools of the snapshot, bound or not.
pub(crate) fn locate(tools: &[ToolPlan<'_>], every: &[&str], text: &str) -> Result<Located, Nowhere> {
    let shown = printable(text);
    let place: Place = text.parse().map_err(|reason| Nowhere {
        message: format!("invalid place `{shown}`: {reason}"),
        help: "expected `TOOL`, `TOOL/PROPERTY/*/PROPERTY` or `TOOL/$output/PROPERTY`".to_owned(),
    })?;
    let Some((index, tool)) = tools.iter().enumerate().find(|(_, tool)| tool.wire == place.tool) else {
        return Err(no_tool(&place, text, every));
    };
    let Some(schema) = tool.schema(place.role) else {
        return Err(Nowhere {
            message: format!("`{shown}` not found: tool `{}` declares no `outputSchema`", printable(tool.wire)),
            help: "its result has no types of its own".to_owned(),
        });
    };
    match place.find(&schema.document) {
        Ok(found) => Ok(Located { place, tool: index, found }),
        Err(lost) => Err(no_place(&place, &lost)),
    }
}

fn no_tool(place: &Place, text: &str, every: &[&str]) -> Nowhere {
    let (tool, shown) = (printable(&place.tool), printable(text));
    if every.contains(&place.tool.as_str()) {
        return Nowhere {
            message: format!("`{shown}` not found: tool `{tool}` is not bound"),
            help: "it is excluded by `tools` or `exclude`".to_owned(),
        };
    }
    let whole = every
        .iter()
        .find(|name| text.strip_prefix(**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
    let help = match (whole, nearest(&place.tool, every.iter().copied()).first()) {
        (Some(name), _) => format!("the tool `{}` is written `{}` here", printable(name), printable(&escaped(name))),
        (None, Some(near)) => format!("did you mean `{}`?", printable(&escaped(near))),
        (None, None) => "`mcp-bindgen list` shows the tools of a snapshot".to_owned(),
    };
    Nowhere { message: format!("`{shown}` not found: unknown tool `{tool}`"), help }
}

fn no_place(place: &Place, lost: &Lost) -> Nowhere {
    let step = place.steps.get(lost.followed).map(ToString::to_string).unwrap_or_default();
    let before = printable(&place.up_to(lost.followed).to_string());
    let near = nearest(&step, lost.known.iter().map(String::as_str));
    let help = match (near.is_empty(), lost.known.is_empty()) {
        (false, _) => format!("did you mean {}?", listed(&near, near.len())),
        (true, false) => format!("there is {}", listed(&lost.known, MOST_NAMED)),
        (true, true) => "it has no named parts".to_owned(),
    };
    Nowhere {
        message: format!("`{}` not found: no `{}` in `{before}`", printable(&place.to_string()), printable(&step)),
        help,
    }
}

/// Lists at most `most` names.
pub(super) fn listed(names: &[impl AsRef<str>], most: usize) -> String {
    let shown: Vec<String> = names.iter().take(most).map(|name| format!("`{}`", printable(name.as_ref()))).collect();
    format!("{}{}", shown.join(", "), if names.len() > most { ", .." } else { "" })
}

/// The maximum number of listed names if no name is near.
const MOST_NAMED: usize = 12;
