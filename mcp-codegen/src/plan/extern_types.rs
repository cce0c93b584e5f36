//! Types of the user's in place of definitions.

use mcp_bindgen_model::{nearest, pointer_segment, printable};
use mcp_bindgen_schema::{Shape, ShapeId};
use proc_macro2::{Span, TokenStream};
use serde_json::Value;

use super::place::listed;
use super::{SchemaPlan, ToolPlan, schemas};
use crate::rules::{Rule, RuleFault};
use crate::rust_path::RustPath;
use crate::table::distinct;

/// The user's types in place of definitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExternTypes(Vec<ExternType>);

#[derive(Clone, Debug)]
struct ExternType {
    rule: Rule,
    /// The JSON pointer of the definition.
    pointer: String,
    path: TokenStream,
}

/// The maximum number of listed definitions if no name is near.
const MOST_NAMED: usize = 8;

impl ExternTypes {
    /// Reads the rules; invalid rules are reported and skipped.
    pub(super) fn new(rules: Vec<&Rule>, faults: &mut Vec<RuleFault>) -> Self {
        let mut types = Vec::new();
        for rule in rules {
            let Some(pointer) = rule.key.strip_prefix('#').filter(|pointer| pointer.starts_with('/')) else {
                let message = format!("`{}` is not a pointer to a definition", printable(&rule.key));
                faults.push(rule.fault_of_key(message, "write `\"#/$defs/Money\" = \"crate::Money\"`"));
                continue;
            };
            let Some(path) = type_path(&rule.value, rule.span()) else {
                let message = format!("`{}` is not a path to a type of this crate", printable(&rule.value));
                let help = "use a path from the crate root, such as `crate::Money`; wrap a type of another crate in a \
                            newtype";
                faults.push(rule.fault_of_value(message, help));
                continue;
            };
            types.push(ExternType { rule: rule.clone(), pointer: pointer.to_owned(), path });
        }
        Self(types)
    }

    /// Returns the pointers of the definitions.
    pub(super) fn pointers(&self) -> Vec<&str> {
        self.0.iter().map(|found| found.pointer.as_str()).collect()
    }

    /// Returns the type in place of a shape.
    pub(crate) fn of(&self, schema: &SchemaPlan<'_>, id: ShapeId) -> Option<&TokenStream> {
        self.0.iter().find(|found| found.is_at(schema, id)).map(|found| &found.path)
    }

    /// Returns the types that these tools use, each once, sorted by their text.
    pub(crate) fn used(&self, tools: &[ToolPlan<'_>]) -> Vec<(String, &TokenStream)> {
        let mut used: Vec<(String, &TokenStream)> = Vec::new();
        for found in self.0.iter().filter(|found| found.stands_in(tools)) {
            let text = found.path.to_string();
            if let Err(place) = used.binary_search_by(|(known, _)| known.cmp(&text)) {
                used.insert(place, (text, &found.path));
            }
        }
        used
    }

    /// Reports rules whose definition is missing or unused.
    pub(super) fn report_idle(&self, tools: &[ToolPlan<'_>], faults: &mut Vec<RuleFault>) {
        for ExternType { rule, pointer, .. } in self.0.iter().filter(|found| !found.stands_in(tools)) {
            let shown = printable(&rule.key);
            if declared(tools).iter().any(|schema| schema.pointer(pointer).is_some()) {
                let message = format!("no bound value has exactly the definition `{shown}`");
                let help = "if other keywords narrow a definition, its type is still generated";
                faults.push(rule.fault_of_key(message, help));
                continue;
            }
            let known = definitions(tools);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let help = match (nearest(&rule.key, known.iter().copied()).first(), known.is_empty()) {
                (Some(near), _) => format!("did you mean `{}`?", printable(near)),
                (None, false) => format!("there is {}", listed(&known, MOST_NAMED)),
                (None, true) => "no schema of these tools has `$defs` or `definitions`".to_owned(),
            };
            faults.push(rule.fault_of_key(format!("no bound tool has the definition `{shown}`"), help));
        }
    }
}

impl ExternType {
    fn stands_in(&self, tools: &[ToolPlan<'_>]) -> bool {
        let is_in = |schema: &&SchemaPlan<'_>| schema.document.shapes.ids().any(|id| self.is_at(schema, id));
        schemas(tools).iter().any(is_in)
    }

    /// Returns `true` if a shape is the definition, which the schema was read around.
    fn is_at(&self, schema: &SchemaPlan<'_>, id: ShapeId) -> bool {
        let origin = || schema.origin(id).first().map(|origin| schema.document.schemas.pointer(*origin));
        matches!(schema.document.shapes.get(id), Shape::Opaque) && origin() == Some(&*self.pointer)
    }
}

/// Returns the schemas as the tools declare them.
fn declared<'t>(tools: &'t [ToolPlan<'_>]) -> Vec<&'t Value> {
    tools.iter().flat_map(|tool| [Some(tool.input_schema), tool.output_schema]).flatten().collect()
}

/// Returns the definitions of the schemas, as they are written in a rule.
fn definitions(tools: &[ToolPlan<'_>]) -> Vec<String> {
    let mut all = Vec::new();
    for schema in declared(tools) {
        for keyword in ["$defs", "definitions"] {
            if let Some(Value::Object(definitions)) = schema.get(keyword) {
                for name in definitions.keys() {
                    all.push(format!("#/{keyword}/{}", pointer_segment(name)));
                }
            }
        }
    }
    distinct(all)
}

/// Returns a path that leads from the crate's root, or from the module around the bindings, to a type; every token at
/// `span`.
fn type_path(text: &str, span: Span) -> Option<TokenStream> {
    let path = RustPath::parse(text)?;
    ["crate", "super"].contains(&path.first()?.as_str()).then(|| path.tokens(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extern_paths_name_types_of_the_crate() {
        for path in ["crate::Money", "crate::money::Money", "super::Money", "super::super::Money", "crate::r#type::T"] {
            assert!(type_path(path, Span::call_site()).is_some(), "{path}");
        }
        for path in ["Money", "crate", "::dep::Money", "std::string::String", "crate::Money<u8>", "self::Money"] {
            assert!(type_path(path, Span::call_site()).is_none(), "{path}");
        }
    }
}
