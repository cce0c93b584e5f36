//! The Rust types of variables by their places in the arguments, and evaluated values as the schema wants them.

use std::collections::HashSet;

use mcp_bindgen_schema::{Kinds, Shape, Slot};
use serde_json::Value;

use super::accepts::takes;
use super::tools::{Arguments, Tool};
use crate::ast::{Action, Argument, Term};

/// The Rust type of a variable for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Takes {
    /// `String`
    Text,
    /// `i64`
    I64,
    /// `u64`
    U64,
    /// `f64`
    F64,
    /// `bool`
    Bool,
    /// Any JSON value: lists, objects, and values with several possible types.
    Json,
}

impl Tool {
    /// Returns the variables and expressions that are whole values of the action, also inside lists and objects, with
    /// their types: in the order of the text. Undeclared arguments have [`Takes::Json`].
    ///
    /// ```
    /// use mcp_bindgen_template::{SlotKind, Takes, Template, Tools};
    ///
    /// let schema = serde_json::json!({"type": "object", "properties": {"limit": {"type": "integer", "minimum": 0}}});
    /// let mut tools = Tools::new();
    /// tools.add("github", "list_commits", "github_list_commits", &schema);
    /// let template = Template::parse("[[@github_list_commits|limit=n, sha=s]]")?;
    /// let Some(SlotKind::Action(action)) = template.slots().next().map(|slot| slot.kind) else { panic!("an action") };
    /// let tool = tools.find(action).expect("it is there");
    /// assert_eq!(tool.passed(action), [("n", Takes::U64), ("s", Takes::Json)]);
    /// # Ok::<(), Vec<mcp_bindgen_template::Fault>>(())
    /// ```
    #[must_use]
    pub fn passed<'a>(&self, action: &'a Action) -> Vec<(&'a str, Takes)> {
        let arguments = self.arguments();
        let mut passed = Vec::new();
        for Argument { name, value, .. } in &action.arguments {
            arguments.passed(value, arguments.members(&[arguments.whole()], name).as_deref(), &mut passed);
        }
        passed
    }

    /// Converts the rendered value of an argument to the type in the schema.
    ///
    /// Text with expressions is a string. If the schema does not allow strings, but a number or a boolean whose JSON
    /// is exactly that text, it becomes that: `limit="{{ n }}"`. All other values are unchanged.
    ///
    /// ```
    /// use mcp_bindgen_template::{SlotKind, Template, Tools};
    ///
    /// let schema = serde_json::json!({"type": "object", "properties": {"limit": {"type": "integer"}}});
    /// let mut tools = Tools::new();
    /// tools.add("github", "list_commits", "github_list_commits", &schema);
    /// let template = Template::parse("[[@github_list_commits|limit=\"{{ n }}\"]]")?;
    /// let Some(SlotKind::Action(action)) = template.slots().next().map(|slot| slot.kind) else { panic!("an action") };
    /// let tool = tools.find(action).expect("it is there");
    /// assert_eq!(tool.fitted(&action.arguments[0], "10".into()), 10);
    /// assert_eq!(tool.fitted(&action.arguments[0], "ten".into()), "ten");
    /// # Ok::<(), Vec<mcp_bindgen_template::Fault>>(())
    /// ```
    #[must_use]
    pub fn fitted(&self, argument: &Argument, value: Value) -> Value {
        let arguments = self.arguments();
        match arguments.members(&[arguments.whole()], &argument.name) {
            Some(slots) => arguments.fitted(&argument.value, value, &slots),
            None => value,
        }
    }
}

impl Arguments {
    /// Returns the type of a variable; `None` means anything.
    fn taken(&self, slots: Option<&[Slot]>) -> Takes {
        let leaves = slots.map(|slots| self.leaves(slots)).unwrap_or_default();
        let taken: HashSet<Takes> = leaves.into_iter().map(taken).collect();
        let mut taken = taken.into_iter();
        match (taken.next(), taken.next()) {
            (Some(only), None) => only,
            _ => Takes::Json,
        }
    }

    fn passed<'a>(&self, term: &'a Term, slots: Option<&[Slot]>, passed: &mut Vec<(&'a str, Takes)>) {
        match term {
            Term::Variable(code) => passed.push((code, self.taken(slots))),
            Term::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.passed(item, slots.and_then(|slots| self.items(slots, index)).as_deref(), passed);
                }
            }
            Term::Object(fields) => {
                for (key, value) in fields {
                    self.passed(value, slots.and_then(|slots| self.members(slots, key)).as_deref(), passed);
                }
            }
            Term::Literal(_) | Term::Text(_) => {}
        }
    }

    fn fitted(&self, term: &Term, value: Value, slots: &[Slot]) -> Value {
        match (term, value) {
            (Term::Text(text), Value::String(spelling)) if text.plain().is_none() => self.respelled(spelling, slots),
            (Term::List(terms), Value::Array(items)) if terms.len() == items.len() => {
                let items =
                    terms.iter().zip(items).enumerate().map(|(index, (term, item))| match self.items(slots, index) {
                        Some(slots) => self.fitted(term, item, &slots),
                        None => item,
                    });
                items.collect()
            }
            (Term::Object(fields), Value::Object(mut members)) => {
                for (key, term) in fields {
                    if let (Some(member), Some(slots)) = (members.get_mut(key), self.members(slots, key)) {
                        *member = self.fitted(term, member.take(), &slots);
                    }
                }
                Value::Object(members)
            }
            (_, value) => value,
        }
    }

    fn respelled(&self, spelling: String, slots: &[Slot]) -> Value {
        let leaves = self.leaves(slots);
        if leaves.iter().any(|shape| shape.kinds().has(Kinds::STRING)) {
            return Value::String(spelling);
        }
        let parsed = serde_json::from_str::<Value>(&spelling);
        let is_exact = |value: &Value| {
            (value.is_number() || value.is_boolean()) && value.to_string().as_str() == spelling.as_str()
        };
        let is_taken = |value: &Value| leaves.iter().any(|shape| takes(shape, value));
        parsed.ok().filter(is_exact).filter(is_taken).unwrap_or(Value::String(spelling))
    }
}

fn taken(shape: &Shape) -> Takes {
    match shape {
        Shape::Text | Shape::TextEnum(_) => Takes::Text,
        Shape::I64 => Takes::I64,
        Shape::U64 => Takes::U64,
        Shape::Number => Takes::F64,
        Shape::Boolean => Takes::Bool,
        _ => Takes::Json,
    }
}
