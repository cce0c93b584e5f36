//! Skills of servers: instructions for tasks, with files (SEP-2640).

mod error;
mod frontmatter;
mod tools;

use mcp_bindgen_model::hex_digest;
use mcp_bindgen_runtime::{CallOptions, Client, ReadResource, ResourceContents, ResourceRequest};
use mcp_bindgen_schema::same;
use serde_json::{Map, Value};

pub use self::error::SkillError;
use crate::json::text;

/// The file of a skill that every skill has.
const MAIN: &str = "SKILL.md";
/// The limits of a skill that every host keeps (SEP-2640, Limits).
const MOST_FILES: usize = 512;
const LARGEST: u64 = 16 * 1024 * 1024;

/// A skill of a server: instructions for a task, which a model loads on demand. The content is untrusted:
/// [`ToolsetBuilder::skills`](crate::ToolsetBuilder::skills) offers skills to a model under approvals and policies.
///
/// An entry holds digests of all files. Later reads are checked against them: changed content and unlisted files are
/// errors. A digest comes from the server itself, so it proves only that nothing changed.
///
/// ```no_run
/// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_bindgen_agents::Skill;
///
/// for skill in Skill::list(&client).await? {
///     println!("{} ({}): {}", skill.name, skill.uri, skill.description);
/// }
/// let skill = Skill::get(&client, "skill://pdf-processing/SKILL.md").await?;
/// let instructions = skill.load(&client).await?;
/// let form = skill.read(&client, "references/FORMS.md").await?;
/// # drop((instructions, form));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Skill {
    /// The configured name of the server.
    pub server: String,
    /// The URI of its `SKILL.md`, which identifies it on the server.
    pub uri: String,
    /// Its name. Two skills of a server can have the same.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The metadata at the beginning of its `SKILL.md`.
    pub frontmatter: Map<String, Value>,
    /// The files; `None` if the server generates them, so that they cannot be checked.
    pub files: Option<Vec<SkillFile>>,
}

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillFile {
    /// Its URI.
    pub uri: String,
    /// The SHA-256 of its bytes: `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Its length in bytes.
    pub size: u64,
}

impl Skill {
    /// Lists the skills of a server; empty if it does not declare the extension. The list can be partial: others are
    /// found by [`get`](Self::get). Invalid entries are omitted and logged.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or returns no list.
    pub async fn list(client: &Client) -> Result<Vec<Self>, SkillError> {
        let listed = client.list_skills_raw().await?;
        let valid = listed.iter().filter_map(|entry| {
            let read = Self::from_entry(client.name(), entry);
            read.inspect_err(|why| tracing::warn!(server = client.name(), "a skill is left out: {why}")).ok()
        });
        Ok(valid.collect())
    }

    /// Returns the skill with this URI, also if the server does not list it.
    ///
    /// # Errors
    /// Fails if the server does not have it, cannot be reached, or gives an invalid entry.
    pub async fn get(client: &Client, uri: &str) -> Result<Self, SkillError> {
        let params = Map::from_iter([("uri".to_owned(), uri.into())]);
        let result = client.request("skills/get", params, CallOptions::new()).await?;
        let invalid = |why: String| SkillError::Invalid { uri: uri.to_owned(), why };
        let entry = result.get("skill").unwrap_or(&Value::Null);
        let skill = Self::from_entry(client.name(), entry).map_err(invalid)?;
        if skill.uri != uri { Err(invalid("the server returned another skill".to_owned())) } else { Ok(skill) }
    }

    /// Reads an entry of a server's list.
    ///
    /// # Errors
    /// Fails if it is invalid, or larger than the limits: why.
    fn from_entry(server: &str, entry: &Value) -> Result<Self, String> {
        let uri = text(entry, "uri").ok_or("it has no `uri`")?;
        let of = |what: &str| format!("`{}` {what}", mcp_bindgen_model::printable(uri));
        let frontmatter = entry.get("frontmatter").ok_or_else(|| of("has no `frontmatter`"))?;
        let name = text(frontmatter, "name").ok_or_else(|| of("has no name"))?;
        let description = text(frontmatter, "description").ok_or_else(|| of("has no description"))?;
        let root = uri
            .strip_suffix(MAIN)
            .filter(|root| root.ends_with('/'))
            .ok_or_else(|| of("does not end in `/SKILL.md`"))?;
        if !root.trim_end_matches('/').ends_with(&format!("/{name}")) {
            return Err(of("does not have its name in its URI"));
        }
        let files = match entry.get("resources") {
            Some(Value::String(word)) if word == "dynamic" => None,
            Some(Value::Array(files)) => Some(files_of(files, uri, root).map_err(|why| of(&why))?),
            _ => return Err(of("has neither `resources` nor `\"dynamic\"`")),
        };
        let frontmatter = frontmatter.as_object().cloned().unwrap_or_default();
        let (server, uri) = (server.to_owned(), uri.to_owned());
        Ok(Self { server, uri, name: name.to_owned(), description: description.to_owned(), frontmatter, files })
    }

    /// Returns its path on the server: its URI without `skill://` and `/SKILL.md`. Unlike its name, it is unique.
    #[must_use]
    pub fn path(&self) -> &str {
        let path = self.root().trim_end_matches('/');
        path.strip_prefix("skill://").unwrap_or(path)
    }

    /// Returns its folder, with a slash at the end.
    fn root(&self) -> &str {
        self.uri.strip_suffix(MAIN).unwrap_or(&self.uri)
    }

    /// Reads its instructions: the text of `SKILL.md`. Size, digest and metadata are checked against this entry.
    ///
    /// # Errors
    /// Fails if the content does not match this entry, or cannot be read.
    pub async fn load(&self, client: &Client) -> Result<String, SkillError> {
        let contents = self.read(client, MAIN).await?;
        let invalid = |why: &str| SkillError::Invalid { uri: self.uri.clone(), why: why.to_owned() };
        let text = contents.as_text().ok_or_else(|| invalid("its `SKILL.md` is not text"))?;
        let found = frontmatter::parse(text).map_err(|why| invalid(&why))?;
        match same(&Value::Object(self.frontmatter.clone()), &found) {
            true => Ok(text.to_owned()),
            false => Err(SkillError::Changed { uri: self.uri.clone(), file: MAIN.to_owned() }),
        }
    }

    /// Reads a file by its path in the skill, as its instructions name it: `references/FORMS.md`. Size and digest are checked
    /// against this entry.
    ///
    /// # Errors
    /// Fails if this entry does not list the file, if its content does not match, or if it cannot be read.
    pub async fn read(&self, client: &Client, path: &str) -> Result<ResourceContents, SkillError> {
        let unlisted = || SkillError::Unlisted { uri: self.uri.clone(), file: path.to_owned() };
        let is_inner = |part: &str| !matches!(part, "" | "." | "..");
        let path = path.strip_prefix("./").unwrap_or(path);
        if !path.split('/').all(is_inner) || path.contains(['?', '#', '\\']) {
            return Err(unlisted());
        }
        let uri = format!("{}{path}", self.root());
        let listed = match &self.files {
            Some(files) => Some(files.iter().find(|file| file.uri == uri).ok_or_else(unlisted)?),
            None => None,
        };
        let request = ResourceRequest::new(self.server.clone(), uri.clone());
        let result = client.read_resource(request).await?;
        let changed = || SkillError::Changed { uri: self.uri.clone(), file: path.to_owned() };
        let contents = result.contents.into_iter().find(|contents| contents.uri() == Some(&uri)).ok_or_else(changed)?;
        let bytes = contents.bytes().ok_or_else(changed)?;
        let is_it = match listed {
            Some(file) => bytes.len() as u64 == file.size && format!("sha256:{}", hex_digest(&bytes)) == file.digest,
            None => bytes.len() as u64 <= LARGEST,
        };
        drop(bytes);
        if is_it { Ok(contents) } else { Err(changed()) }
    }
}

fn files_of(files: &[Value], main: &str, root: &str) -> Result<Vec<SkillFile>, String> {
    if files.len() > MOST_FILES {
        return Err(format!("has {} files; at most {MOST_FILES} are supported", files.len()));
    }
    let file = |file: &Value| {
        let (uri, digest, size) = (text(file, "uri")?, text(file, "digest")?, file.get("size")?.as_u64()?);
        let hex = digest.strip_prefix("sha256:")?;
        let is_digest = hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let file = SkillFile { uri: uri.to_owned(), digest: digest.to_owned(), size };
        (is_digest && uri.starts_with(root)).then_some(file)
    };
    let files: Option<Vec<SkillFile>> = files.iter().map(file).collect();
    let files = files.ok_or("has a file without a valid `uri`, `digest` or `size`")?;
    let size = files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
    if size > LARGEST {
        return Err(format!("has {size} bytes; at most {LARGEST} are supported"));
    }
    if !files.iter().any(|file| file.uri == main) {
        return Err("does not list its `SKILL.md`".to_owned());
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
