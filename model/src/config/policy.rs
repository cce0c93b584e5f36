//! Reads `[[policy]]`: rules about calls.

use std::collections::BTreeMap;

use serde_json::Value;

use super::key::Form;
use super::keys::{self, ServerConfig};
use super::node::{Entry, Kind, Node};
use super::read::{Reader, tool_of_server};
use super::table::{ConfigValue, Table};
use super::view::value;
use crate::FileError;
use crate::secrets::quoted;
use crate::server::{Condition, Pattern, PolicyEffect, PolicyRule};

/// The rules of one server.
impl ConfigValue for Vec<PolicyRule> {
    const FORM: Form = Form::Tables(PolicyRule::KEYS);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let nodes = reader.list(node, what, "an array of tables")?;
        nodes.iter().map(|node| rule(reader, node, &format!("an element of {what}"))).collect()
    }

    fn to_json(&self) -> Value {
        // A rule without a rate needs `then`, whatever the default is.
        let rule = |rule: &PolicyRule| {
            let mut members = rule.members();
            members.insert("then".to_owned(), rule.then.name().into());
            Value::Object(members)
        };
        self.iter().map(rule).collect()
    }

    fn is_default(&self) -> bool {
        self.is_empty()
    }
}

/// Reads the rules of the whole file, and adds each to the servers whose tools it names.
pub(super) fn read_all(
    reader: &Reader<'_>,
    node: &Node,
    servers: &mut BTreeMap<String, ServerConfig>,
) -> Result<(), FileError> {
    for node in reader.list(node, "`policy`", "an array of tables")? {
        let rule = rule(reader, node, "an element of `policy`")?;
        let mut by_server: BTreeMap<&str, PolicyRule> = BTreeMap::new();
        for written in &rule.tools {
            let (not, name) = written.strip_prefix('!').map_or(("", written.as_str()), |name| ("!", name));
            let place = rule.place(&format!("tools/{written}"));
            let (server, tool) = tool_of_server(servers, &place, "`tools` of a policy", name)?;
            let own = by_server.entry(server).or_insert_with(|| PolicyRule { tools: Vec::new(), ..rule.clone() });
            let glob = format!("{not}{tool}");
            own.places.add(format!("tools/{glob}"), place);
            own.tools.push(glob);
        }
        for (server, rule) in by_server {
            servers.entry(server.to_owned()).and_modify(|server| server.policies.push(rule));
        }
    }
    Ok(())
}

fn rule(reader: &Reader<'_>, node: &Node, what: &str) -> Result<PolicyRule, FileError> {
    let mut rule = PolicyRule { places: reader.places(node), ..PolicyRule::default() };
    rule.fill(reader, node, what, "in")?;
    let has = |key: &str| reader.table(node, what).is_ok_and(|all| all.iter().any(|entry| entry.key == key));
    let fault = |key: &str, message: String, help: &str| Err(rule.place(key).error(message).with_help(help));
    if rule.callers.is_empty() && has("for") {
        let help = "name principals, or remove it for a rule about all callers";
        return fault("for", format!("`for` in {what} is empty"), help);
    }
    if rule.tools.is_empty() {
        let help = "name the tools: `tools = [\"github/merge_*\"]`";
        return fault("tools", format!("{what} has no `tools`"), help);
    }
    if rule.rate.is_none() && !has("then") {
        let help = "add `then = \"allow\"`, `\"approve\"` or `\"deny\"`";
        return fault("then", format!("{what} has no `then`"), help);
    }
    if rule.then == PolicyEffect::Deny && rule.rate.is_some() {
        let help = "remove `rate`: a denied call is never made";
        return fault("rate", format!("{what} has both `then = \"deny\"` and `rate`"), help);
    }
    Ok(rule)
}

impl ConfigValue for BTreeMap<String, Condition> {
    const FORM: Form = Form::TableMap(&keys::CONDITION);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let mut conditions = Self::new();
        for argument in reader.table(node, what)? {
            let what = format!("`{}` in {what}", quoted(&argument.key));
            let mut condition = Condition::default();
            for entry in reader.table(&argument.value, &what)? {
                reader.check_key(entry, &what, &keys::CONDITION)?;
                let inner = format!("`{}` of {what}", entry.key);
                part(reader, entry, &inner, &argument.key, &mut condition)?;
            }
            if condition == Condition::default() {
                let error = reader.error(argument.value.at, format!("{what} is empty"));
                return Err(error.with_help("add a condition: `{ equals = \"main\" }`"));
            }
            conditions.insert(argument.key.clone(), condition);
        }
        Ok(conditions)
    }

    fn to_json(&self) -> Value {
        self.iter().map(|(argument, condition)| (argument.clone(), condition.to_json())).collect()
    }

    fn is_default(&self) -> bool {
        self.is_empty()
    }
}

fn part(
    reader: &Reader<'_>,
    entry: &Entry,
    what: &str,
    argument: &str,
    condition: &mut Condition,
) -> Result<(), FileError> {
    let node = &entry.value;
    let number = || match &node.kind {
        Kind::Number(Some(number)) => Ok(Some(number.clone())),
        _ => Err(reader.error(node.at, format!("{what} must be a number, not {}", node.what()))),
    };
    match entry.key.as_str() {
        "equals" => condition.equals = Some(value(reader, node, what, argument)?),
        "prefix" => condition.prefix = Some(reader.text(node, what)?),
        "pattern" => {
            let text = reader.text(node, what)?;
            let pattern = Pattern::parse(&text);
            let error = |why| reader.error(node.at, format!("{what} is not a regular expression: {why}"));
            condition.pattern = Some(pattern.map_err(error)?);
        }
        "min" => condition.min = number()?,
        "max" => condition.max = number()?,
        "present" => condition.present = Some(reader.boolean(node, what)?),
        _ => {}
    }
    Ok(())
}
