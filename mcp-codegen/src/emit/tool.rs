//! What a tool has beside its types: its specification, its handler, its method, its variant.

use mcp_model::Types;
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use serde_json::Value;

use super::{TypeEmitter, docs};
use crate::markdown::sanitized;
use crate::names::ident;
use crate::plan::ToolPlan;
use crate::typify::Replaced;
use mcp_schema::{Shape, Slot};

/// The key by which FastMCP says that it has wrapped a result in an object with one field.
const WRAPPER_KEY: &str = "x-fastmcp-wrap-result";
const WRAPPER_FIELD: &str = "result";

impl ToolPlan<'_> {
    /// Types, `impl Tool` and handler.
    pub(super) fn items(&self, replaced: &Replaced, krate: &TokenStream, tokens: &mut TokenStream) {
        let params = ident(&self.idents.params);
        let handler = ident(&self.idents.handler);
        TypeEmitter { schema: &self.input, replacement: replaced.input.as_ref(), krate, root_doc: self.params_doc() }
            .types(tokens);
        if let Some(schema) = &self.output {
            let root_doc = docs::lines(vec![format!("Structured result of {}.", docs::code(self.wire))]);
            TypeEmitter { schema, replacement: replaced.output.as_ref(), krate, root_doc }.types(tokens);
        }
        let spec = self.spec();
        let (output, decoding) = self.decoding(replaced, krate);
        let schemas = self.schema_impls(krate);
        let doc = self.call_doc();
        tokens.extend(quote! {
            #krate::__tool!(#params #decoding of SERVER: #spec);
            #schemas
            #doc
            pub async fn #handler(client: &impl CallTool, params: #params) -> Result<#output, CallError> {
                #krate::call(client, &params).await
            }
        });
    }

    /// The method of the client type.
    pub(super) fn method(&self, replaced: &Replaced) -> TokenStream {
        let params = ident(&self.idents.params);
        let method = ident(&self.idents.method);
        let handler = ident(&self.idents.handler);
        let output = self.decoding(replaced, &TokenStream::new()).0;
        let doc = self.call_doc();
        quote! {
            #doc
            pub async fn #method(&self, params: #params) -> Result<#output, CallError> {
                self::#handler(&self.client, params).await
            }
        }
    }

    fn spec(&self) -> TokenStream {
        let wire = self.wire;
        let input = json_literal(self.input_schema);
        let title = self.title.map(|title| quote!(.title(#title)));
        let description = self.description.map(|description| quote!(.description(#description)));
        let output = self.output_schema.map(|schema| {
            let schema = json_literal(schema);
            quote!(.output_schema(#schema))
        });
        let hints = [
            ("readOnlyHint", quote!(read_only)),
            ("destructiveHint", quote!(destructive)),
            ("idempotentHint", quote!(idempotent)),
            ("openWorldHint", quote!(open_world)),
        ];
        let hints = hints.into_iter().filter_map(|(key, setter)| {
            let hint = self.hint(key)?;
            Some(quote!(.#setter(#hint)))
        });
        quote!(ToolSpec::new(#wire, #input) #title #description #output #(#hints)*)
    }

    fn hint(&self, key: &str) -> Option<bool> {
        self.annotations?.get(key)?.as_bool()
    }

    /// The type that handler and method return, as text. `None` where another backend makes it, of what is in a wrapper.
    pub(crate) fn returned(&self, types: Types) -> Option<String> {
        if types != Types::Native && self.wrapped().is_some() {
            return None;
        }
        let output = self.decoding(&Replaced::default(), &TokenStream::new()).0.to_string();
        Some(output.replace(' ', "").replace(',', ", ").replace(", )", ",)"))
    }

    /// The type of the output, and how it is made of a result.
    fn decoding(&self, replaced: &Replaced, krate: &TokenStream) -> (TokenStream, TokenStream) {
        let Some(schema) = &self.output else {
            return (quote!(ToolResult), TokenStream::new());
        };
        let output = ident(&self.idents.output);
        let own =
            |slot| TypeEmitter { schema, replacement: None, krate, root_doc: docs::Docs::default() }.slot_type(slot);
        let wrapped = self.wrapped().and_then(|(field, slot)| match &replaced.output {
            Some(replacement) => Some((field, replacement.wrapped.clone()?)),
            None => Some((field, own(slot))),
        });
        match wrapped {
            Some((field, inner)) => {
                let field = ident(&field);
                (inner.clone(), quote!(-> #inner = #output.#field))
            }
            None => (quote!(#output), quote!(-> #output)),
        }
    }

    /// The only field of FastMCP's wrapper.
    fn wrapped(&self) -> Option<(String, Slot)> {
        self.output_schema?.get(WRAPPER_KEY).filter(|flag| **flag == Value::Bool(true))?;
        let schema = self.output.as_ref()?;
        match schema.document.shapes.get(schema.document.root) {
            Shape::Struct(object) => match object.fields.as_slice() {
                [field] if field.wire == WRAPPER_FIELD && field.presence == mcp_schema::Presence::Required => {
                    let name = schema.field_names(schema.document.root, object).pop()?;
                    Some((name, field.slot)).filter(|_| !schema.is_boxed(schema.document.root, field.slot.shape))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn schema_impls(&self, krate: &TokenStream) -> TokenStream {
        let params = ident(&self.idents.params);
        let output = self.output.as_ref().filter(|schema| schema.is_described).map(|_| {
            let output = ident(&self.idents.output);
            quote!(#krate::__json_schema!(#output, output_schema of #params);)
        });
        quote! {
            #krate::__json_schema!(#params, input_schema of #params);
            #output
        }
    }

    fn params_doc(&self) -> docs::Docs {
        let mut lines = vec![format!("Parameters of {}.", docs::code(self.wire))];
        if !self.said.is_empty() {
            lines.push(String::new());
            lines.extend(self.said.iter().cloned());
        }
        lines.extend(docs::facts_of(&self.input.document.schemas, self.input.origin(self.input.document.root)));
        let hints = [
            ("readOnlyHint", "read-only"),
            ("destructiveHint", "destructive"),
            ("idempotentHint", "idempotent"),
            ("openWorldHint", "open-world"),
        ];
        let hints: Vec<String> = hints
            .into_iter()
            .filter_map(|(key, name)| self.hint(key).map(|hint| format!("{name}: {}", if hint { "yes" } else { "no" })))
            .collect();
        if !hints.is_empty() {
            lines.push(String::new());
            lines.push(format!("The server says: {}.", hints.join(", ")));
        }
        docs::lines(lines)
    }

    /// One line, for it stands twice: the parameters have the whole description.
    fn call_doc(&self) -> docs::Docs {
        let title = self.title.map(sanitized).unwrap_or_default();
        let is_sentence = |line: &&String| !line.is_empty() && !line.starts_with("- ");
        let said = title.iter().chain(&self.said).find(is_sentence);
        let call = format!("Calls {}", docs::code(self.wire));
        docs::lines(vec![match said {
            Some(said) => format!("{call}: {said}"),
            None => format!("{call}."),
        }])
    }
}

/// JSON text as a literal: raw where that reads as it is, which is nearly always.
fn json_literal(value: &Value) -> Literal {
    let text = value.to_string();
    let fence = "#".repeat(1 + longest_fence(&text));
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let raw = is_plain.then(|| format!("r{fence}\"{text}\"{fence}").parse().ok()).flatten();
    raw.unwrap_or_else(|| Literal::string(&text))
}

/// The longest run of `#` after a quote, which would end a raw string.
fn longest_fence(text: &str) -> usize {
    text.split('"').skip(1).map(|rest| rest.len() - rest.trim_start_matches('#').len()).max().unwrap_or(0)
}
