//! Changes to tools as a whole: they come, go, and begin or cease to say what they answer.

use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::Role;
use mcp_samples::Random;
use serde_json::{Value, json};

use crate::drift::called::{Class, differences};
use crate::drift::case::Subject;
use crate::drift::report::Report;

const CASES: usize = 50;

/// The expected class of a change to a tool.
#[derive(Clone, Copy)]
enum Expected {
    Breaking,
    /// Code that is generated anew has another API; nothing else happens.
    Source,
    NotBreaking,
}

/// Tries each of them on some tools.
pub(crate) fn judge(subjects: &[Subject], random: &mut Random, report: &mut Report) {
    let outputs: Vec<&Value> =
        subjects.iter().filter(|subject| subject.role == Role::Output).map(|subject| &subject.tool).collect();
    let mut done = 0;
    for _ in 0..CASES {
        let Some(tool) = random.pick(&outputs) else { break };
        let plain = edited(tool, &|tool| drop(tool.shift_remove("outputSchema")));
        let said = edited(tool, &|tool| drop(tool.insert("description".to_owned(), json!("Other words."))));
        let renamed = edited(tool, &|tool| drop(tool.insert("name".to_owned(), json!("another_name"))));
        let typed = *tool;
        for (what, old, new, expected) in [
            ("outputSchema added", vec![&plain], vec![typed], Expected::Source),
            ("outputSchema removed", vec![typed], vec![&plain], Expected::Breaking),
            ("tool added", vec![typed], vec![typed, &renamed], Expected::NotBreaking),
            ("tool removed", vec![typed, &renamed], vec![&renamed], Expected::Breaking),
            ("tool renamed", vec![typed], vec![&renamed], Expected::Breaking),
            ("tool described otherwise", vec![typed], vec![&said], Expected::NotBreaking),
        ] {
            let worst = differences(&snapshot(&old), &snapshot(&new)).iter().map(|called| called.class).max();
            let holds = match expected {
                Expected::Breaking => worst == Some(Class::Breaking),
                Expected::Source => worst == Some(Class::Source),
                Expected::NotBreaking => worst < Some(Class::Source),
            };
            done += 1;
            if !holds {
                let name = tool.get("name").unwrap_or(&Value::Null);
                report.failure(format!("{what}, {name}: called {worst:?}"));
            }
        }
    }
    report.line(format!("{done} changes to tools as a whole"));
}

fn edited(tool: &Value, edit: &dyn Fn(&mut serde_json::Map<String, Value>)) -> Value {
    let mut tool = tool.clone();
    if let Value::Object(tool) = &mut tool {
        edit(tool);
    }
    tool
}

fn snapshot(tools: &[&Value]) -> Snapshot {
    Snapshot { tools: tools.iter().map(|tool| (*tool).clone()).collect(), ..Snapshot::default() }
}
