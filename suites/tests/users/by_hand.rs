//! The same types as somebody writes them with serde's derives.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CreateIssue {
    owner: String,
    repo: String,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assignees: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    milestone: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
    Point {},
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Closed {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WithExtra {
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(flatten)]
    extra: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Points {
    points: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Label {
    labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<BTreeMap<String, Points>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    free: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    none: Option<Nothing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lists: Option<BTreeMap<String, Vec<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patterned: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    named: Option<BTreeMap<String, f64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Node {
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<Node>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum Expression {
    Not { of: Box<Expression> },
    And { all: Vec<Expression> },
    Is { name: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Grow {
    tree: Node,
    #[serde(skip_serializing_if = "Option::is_none")]
    expression: Option<Expression>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Count {
    pub(crate) plain: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unsigned_64: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) or_number: Option<f64>,
}
