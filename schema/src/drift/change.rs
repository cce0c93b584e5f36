//! One difference between two snapshots, and its texts.

use std::collections::HashMap;
use std::fmt;

use mcp_bindgen_model::{Acceptance, Date, DriftRules, printable};
pub use mcp_bindgen_model::{ChangeKind, Class};
use serde_json::Value;

use crate::texts::shortened;

/// A JSON value that was valid and no longer is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Witness {
    /// Arguments that the old bindings may send, and that are refused now.
    Sent(Value),
    /// A structured result that the server may answer now, and that the old bindings do not read.
    Answered(Value),
}

impl Witness {
    /// Returns the arguments, or the structured result.
    #[must_use]
    pub fn value(&self) -> &Value {
        match self {
            Self::Sent(value) | Self::Answered(value) => value,
        }
    }
}

/// `may be sent, and is refused now: {"n":-1}`; long values are cut.
impl fmt::Display for Witness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match self {
            Self::Sent(_) => "may be sent, and is refused now",
            Self::Answered(_) => "may be answered now, and is not read",
        };
        write!(formatter, "{said}: {}", cut(&self.value().to_string()))
    }
}

/// An item of regenerated code before and after: `new(from: impl Into<String>, to: impl Into<String>)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Signatures {
    /// The item in bindings of the old snapshot.
    pub old: String,
    /// The item in bindings of the new snapshot.
    pub new: String,
}

/// `was new(a: i64, b: i64), is new(b: i64, a: i64)`; long signatures are cut.
impl fmt::Display for Signatures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "was {}, is {}", cut(&self.old), cut(&self.new))
    }
}

fn cut(text: &str) -> String {
    const MOST_CHARS: usize = 400;
    printable(&shortened(text, MOST_CHARS))
}

/// A difference between two snapshots.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The tool's name on the server; empty for changes of the server itself.
    pub tool: String,
    /// The kind of change.
    pub kind: ChangeKind,
    /// Its effect on code with bindings of the old snapshot.
    pub class: Class,
    /// The position in the tool, as a JSON pointer.
    pub pointer: String,
    /// A description, safe to print.
    pub detail: String,
    /// The proof of a breaking change. A change whose effect cannot be decided counts as breaking, without a proof.
    pub witness: Option<Witness>,
    /// The proof of a silent change.
    pub signatures: Option<Signatures>,
    /// The entry of the configuration that accepts it.
    pub accepted: Option<Acceptance>,
}

impl Change {
    pub(super) fn new(
        tool: &str,
        class: Class,
        kind: ChangeKind,
        pointer: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        let (pointer, detail) = (pointer.into(), detail.into());
        Self { tool: tool.to_owned(), kind, class, pointer, detail, witness: None, signatures: None, accepted: None }
    }

    /// Returns the proof for people: the witness of a breaking change, or the signatures of a silent one.
    #[must_use]
    pub fn proof(&self) -> Option<String> {
        let witness = self.witness.as_ref().map(ToString::to_string);
        witness.or_else(|| self.signatures.as_ref().map(ToString::to_string))
    }

    /// Returns the lines below the change in a report: its proof, and the entry that accepts it.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.proof().into_iter().chain(self.accepted.as_ref().map(ToString::to_string))
    }

    /// Returns the position, the change, its proof and its id, for messages that already name the tool.
    ///
    /// ```
    /// use mcp_bindgen_model::Snapshot;
    /// use mcp_bindgen_schema::drift;
    ///
    /// let old = Snapshot::parse(r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#)?;
    /// let new = Snapshot::parse(r#"{"tools":[{"name":"find","inputSchema":{"type":"object","required":["q"]}}]}"#)?;
    /// let words = "/inputSchema/properties/q: new required property; may be sent, and is refused now: {} [MCPD0011]";
    /// assert_eq!(drift::diff(&old, &new)[0].in_words(), words);
    /// # Ok::<(), mcp_bindgen_model::FileError>(())
    /// ```
    #[must_use]
    pub fn in_words(&self) -> String {
        let place = if self.pointer.is_empty() { String::new() } else { format!("{}: ", printable(&self.pointer)) };
        let notes: String = self.notes().map(|note| format!("; {note}")).collect();
        format!("{place}{}{notes} [{}]", self.detail, self.kind.id())
    }
}

/// Applies `[servers.x.drift]` to changes: sets the classes of rules, then marks the changes that are accepted on a
/// day.
///
/// ```
/// use mcp_bindgen_model::{Acceptance, ChangeKind, Date, DriftRules, Snapshot};
/// use mcp_bindgen_schema::drift::{self, Class};
///
/// let old = Snapshot::parse(r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#)?;
/// let new = Snapshot::parse(r#"{"tools":[]}"#)?;
/// let rules = DriftRules::default().accept(Acceptance::new(ChangeKind::ToolRemoved, "no caller is left"));
/// let mut changes = drift::diff(&old, &new);
/// drift::apply(&rules, &mut changes, Date::today());
/// assert_eq!(changes[0].class, Class::Accepted);
/// # Ok::<(), mcp_bindgen_model::FileError>(())
/// ```
pub fn apply(rules: &DriftRules, changes: &mut [Change], today: Date) {
    for change in changes {
        let is_moot = rules.named && change.kind == ChangeKind::ArgumentMeaning && !change.tool.is_empty();
        let class = if is_moot { Class::Compatible } else { change.class };
        change.class = rules.class_of(change.kind).unwrap_or(class);
        if let Some(accepted) = rules.accepted(change.kind, &change.tool, &change.pointer, today) {
            change.class = Class::Accepted;
            change.accepted = Some(accepted.clone());
        }
    }
}

/// Groups equal changes of several tools, in the order of their first occurrence: a report has one line for each
/// group, with the proof of its first change.
#[must_use]
pub fn grouped(changes: &[Change]) -> Vec<Vec<&Change>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Vec<&Change>> = Vec::new();
    for change in changes {
        let reason = change.accepted.as_ref().map(ToString::to_string);
        let key = (change.class, change.kind, &change.pointer, &change.detail, &change.signatures, reason);
        let place = *places.entry(format!("{key:?}")).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(change),
            None => groups.push(vec![change]),
        }
    }
    groups
}

/// Formats up to `at_most` changes: a line for each, followed by one for its witness. Equal changes of several tools
/// share a line, which names the tools. [`untold`] counts the rest.
///
/// ```
/// use mcp_bindgen_model::Snapshot;
/// use mcp_bindgen_schema::drift;
///
/// let old = Snapshot::parse(r#"{"tools":[{"name":"find","inputSchema":{"type":"object","properties":{"n":{}}}}]}"#)?;
/// let new = Snapshot::parse(r#"{"tools":[]}"#)?;
/// let lines = drift::told(&drift::diff(&old, &new), 10);
/// assert_eq!(lines, ["breaking    find: the tool was removed [MCPD0002]", "            = may be sent, and is refused now: {}"]);
/// # Ok::<(), mcp_bindgen_model::FileError>(())
/// ```
#[must_use]
#[inline]
pub fn told(changes: &[Change], at_most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for group in grouped(changes).into_iter().take(at_most) {
        let Some(change) = group.first() else { continue };
        let line = match group.as_slice() {
            [only] => only.to_string(),
            several => {
                let names: Vec<String> = several.iter().map(|change| printable(&change.tool)).collect();
                let all = Change { tool: format!("{} tools", several.len()), ..(*change).clone() };
                format!("{all}: {}", names.join(", "))
            }
        };
        lines.push(format!("{line} [{}]", change.kind.id()));
        lines.extend(change.notes().map(|note| format!("{:12}= {note}", "")));
    }
    lines
}

/// Returns the number of changes that [`told`] omits.
#[must_use]
#[inline]
pub fn untold(changes: &[Change], at_most: usize) -> usize {
    grouped(changes).iter().skip(at_most).map(Vec::len).sum()
}

/// Prints two columns: the class, and the change.
impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = if self.tool.is_empty() { "server".to_owned() } else { printable(&self.tool) };
        write!(formatter, "{:<10}  {tool}", self.class)?;
        if !self.pointer.is_empty() {
            write!(formatter, " {}", printable(&self.pointer))?;
        }
        write!(formatter, ": {}", self.detail)
    }
}
