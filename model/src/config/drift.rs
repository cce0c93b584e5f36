//! Reads `drift` of a server: a word, or the table `[servers.x.drift]`.

use super::keys;
use super::node::{Kind, Node};
use super::read::{Reader, suggestion};
use crate::secrets::quoted;
use crate::server::{Acceptance, Drift, DriftRules};
use crate::{ChangeKind, Class, Date, FileError};

pub(super) fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<(Option<Drift>, DriftRules), FileError> {
    let mut rules = DriftRules::default();
    let Kind::Table(_) = &node.kind else { return Ok((Some(reader.word(node, what)?), rules)) };
    let mut mode = None;
    for entry in reader.table(node, what)? {
        reader.check_key(entry, what, &keys::DRIFT)?;
        let inner = format!("`{}` in {what}", quoted(&entry.key));
        match entry.key.as_str() {
            "mode" => mode = Some(reader.word(&entry.value, &inner)?),
            "accept" => {
                let list = reader.list(&entry.value, &inner, "an array of tables")?;
                rules.accept = list.iter().map(|node| acceptance(reader, node, &inner)).collect::<Result<_, _>>()?;
            }
            "class" => {
                for member in reader.table(&entry.value, &inner)? {
                    let rule = kind(reader, member.at, &member.key)?;
                    let inner = format!("`{}` in {inner}", rule.id());
                    let word = reader.text(&member.value, &inner)?;
                    let classes = Class::ALL.map(|class| (class.name(), class));
                    rules = rules.class(rule, reader.one_of(&member.value, &inner, &word, &classes)?);
                }
            }
            _ => {}
        }
    }
    Ok((mode, rules))
}

fn acceptance(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Acceptance, FileError> {
    let what = format!("an element of {what}");
    let mut rule = None;
    let mut reason = None;
    let (mut tool, mut at, mut until) = (None, None, None);
    for entry in reader.table(node, &what)? {
        reader.check_key(entry, &what, &keys::ACCEPTANCE)?;
        let inner = format!("`{}` in {what}", entry.key);
        let text = reader.text(&entry.value, &inner)?;
        match entry.key.as_str() {
            "rule" => rule = Some(kind(reader, entry.value.at, &text)?),
            "tool" => tool = Some(text),
            "at" => at = Some(pointer(reader, &entry.value, &inner, text)?),
            "until" => until = Some(date(reader, &entry.value, &inner, &text)?),
            "reason" => reason = Some(text).filter(|text| !text.trim().is_empty()),
            _ => {}
        }
    }
    let missing = |key: &str, help: &str| reader.error(node.at, format!("{what} has no `{key}`")).with_help(help);
    let rule = rule.ok_or_else(|| missing("rule", "add the id that `check` prints: `rule = \"MCPD0012\"`"))?;
    let reason = reason.ok_or_else(|| missing("reason", "add the reason for reviewers: `reason = \"..\"`"))?;
    Ok(Acceptance { rule, tool, at, until, reason, place: reader.place(node.at) })
}

fn kind(reader: &Reader<'_>, at: usize, id: &str) -> Result<ChangeKind, FileError> {
    let unknown = || {
        let ids = ChangeKind::ALL.iter().map(|kind| kind.id());
        let help = match suggestion(id, ids, "") {
            near if near.starts_with("did") => near,
            _ => "expected an id such as `MCPD0012`; `check` prints them, and the book lists them".to_owned(),
        };
        reader.error(at, format!("unknown rule `{}`", quoted(id))).with_help(help)
    };
    ChangeKind::by_id(id).ok_or_else(unknown)
}

fn pointer(reader: &Reader<'_>, node: &Node, what: &str, text: String) -> Result<String, FileError> {
    let is_escaped = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if is_escaped && (text.is_empty() || text.starts_with('/')) {
        return Ok(text);
    }
    let help = if is_escaped {
        "start it with `/`, as `check` prints it"
    } else {
        "write `~` as `~0`, and `/` in a name as `~1`"
    };
    Err(reader.error(node.at, format!("{what} is not a JSON pointer")).with_help(help))
}

fn date(reader: &Reader<'_>, node: &Node, what: &str, text: &str) -> Result<Date, FileError> {
    let error = || reader.error(node.at, format!("{what} is not a date")).with_help("write it as `\"2027-01-31\"`");
    Date::parse(text).ok_or_else(error)
}
