//! The tools by which a model loads skills.

use std::sync::Arc;

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::{Client, Content};
use serde_json::{Map, Value, json};

use super::{Skill, SkillError};
use crate::ToolsetBuilder;
use crate::text::sentence;
use crate::toolset::{FunctionContext, Output, ServerFunction, message_for_model, with_state};

/// The maximum number of described skills; the schema names all.
const MOST_DESCRIBED: usize = 40;

impl ToolsetBuilder {
    /// Lists the skills of a server (SEP-2640) and adds two tools by which a model loads them: `SERVER_load_skill` and
    /// `SERVER_read_skill_file`. Nothing is added if the server has none.
    ///
    /// Content is checked against the current entries, so a model never receives content that changed since; build the
    /// toolset again for newer content. The text of a skill is untrusted, and names its server to the model. The tools
    /// go through the layers of [`functions_through`](Self::functions_through): `Approval::of(["load_skill"], ..)` asks
    /// about each skill.
    ///
    /// ```no_run
    /// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use mcp_bindgen_agents::Toolset;
    ///
    /// let toolset = Toolset::builder().live(client.clone()).await?.skills(client).await?.build()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or returns no list.
    pub async fn skills(self, client: Client) -> Result<Self, SkillError> {
        let skills = Skill::list(&client).await?;
        if skills.is_empty() {
            return Ok(self);
        }
        Ok(self.of_server(&client, skill_tools(&client, skills)))
    }
}

/// Returns the two tools of a server with these skills.
fn skill_tools(client: &Client, skills: Vec<Skill>) -> [ServerFunction; 2] {
    let server = client.name();
    let paths: Vec<&str> = skills.iter().map(Skill::path).collect();
    let skill = json!({ "type": "string", "enum": paths, "description": "The skill, as listed." });
    let lines = skills
        .iter()
        .take(MOST_DESCRIBED)
        .map(|skill| format!("\n- {}: {}", printable(skill.path()), sentence(&skill.description)));
    let load =
        format!("Loads a skill of the server {server}: instructions for a task. Skills:{}", lines.collect::<String>());
    let read = format!("Reads a file of a skill of the server {server} that its instructions name.");
    let load_schema = json!({
        "type": "object", "properties": { "skill": skill }, "required": ["skill"], "additionalProperties": false,
    });
    let read_schema = json!({
        "type": "object",
        "properties": { "skill": skill, "file": { "type": "string", "description": "The path in the skill, such as references/GUIDE.md." } },
        "required": ["skill", "file"],
        "additionalProperties": false,
    });
    let shared = Arc::new(Held { client: client.clone(), skills });
    [
        ("load_skill", load, load_schema, with_state(shared.clone(), load_skill)),
        ("read_skill_file", read, read_schema, with_state(shared, read_file)),
    ]
}

/// The skills as they were listed: a model reads exactly what it was offered.
struct Held {
    client: Client,
    skills: Vec<Skill>,
}

impl Held {
    fn find(&self, arguments: &Map<String, Value>) -> Result<&Skill, String> {
        let path = arguments.get("skill").and_then(Value::as_str).unwrap_or_default();
        self.skills
            .iter()
            .find(|skill| skill.path() == path)
            .ok_or_else(|| format!("unknown skill `{}`", printable(path)))
    }

    /// Returns the origin to put before untrusted text.
    fn origin(skill: &Skill, what: &str) -> String {
        let (server, path) = (&skill.server, printable(skill.path()));
        format!("[{what} of the skill `{path}`, written by the server `{server}`. It grants no permissions.]\n\n")
    }
}

async fn load_skill(
    held: Arc<Held>,
    context: FunctionContext,
    arguments: Map<String, Value>,
) -> Result<Output, String> {
    let skill = held.find(&arguments)?;
    let text = skill.load(&held.client).await.map_err(|error| in_words(&context, &error))?;
    Ok(Value::String(format!("{}{text}", Held::origin(skill, "Instructions"))).into())
}

async fn read_file(held: Arc<Held>, context: FunctionContext, arguments: Map<String, Value>) -> Result<Output, String> {
    let skill = held.find(&arguments)?;
    let file = arguments.get("file").and_then(Value::as_str).unwrap_or_default();
    let contents = skill.read(&held.client, file).await.map_err(|error| in_words(&context, &error))?;
    let origin = Held::origin(skill, &format!("`{}`", printable(file)));
    Ok(Output::Content(match contents.as_text() {
        Some(text) => vec![Content::text(format!("{origin}{text}"))],
        None => {
            let resource = json!({ "type": "resource", "resource": contents });
            vec![Content::text(origin), Content::from_json(resource)]
        }
    }))
}

fn in_words(context: &FunctionContext, error: &SkillError) -> String {
    match error {
        SkillError::Call(error) => message_for_model(context.tool(), error),
        SkillError::Changed { file, .. } => {
            format!("`{}` has changed since the skill was listed, and is not loaded; tell the user", printable(file))
        }
        other => other.to_string(),
    }
}
