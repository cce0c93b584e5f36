//! The code of a tool besides its types: specification, handler, method, variant.

use mcp_bindgen_model::Hint;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use serde_json::Value;

use super::offers::titles;
use super::{TypeEmitter, docs};
use crate::names::ident;
use crate::plan::{Plan, ToolPlan};
use crate::typify::Replaced;
use mcp_bindgen_schema::{Shape, Slot, wrapped_field};

impl ToolPlan<'_> {
    /// Types, `impl Tool` and handler.
    pub(crate) fn items(&self, plan: &Plan<'_>, replaced: &Replaced, private: &TokenStream, tokens: &mut TokenStream) {
        let params = ident(&self.idents.params);
        let handler = ident(&self.idents.handler);
        let types = TypeEmitter::new(&self.input, plan, private);
        TypeEmitter { replacement: replaced.input.as_ref(), root_doc: self.params_doc(), ..types }.types(tokens);
        if let Some(schema) = &self.output {
            let root_doc = docs::lines(&[format!("Structured result of {}.", docs::code(self.wire))]);
            let root_doc = root_doc.and(self.output_said().as_slice());
            let types = TypeEmitter::new(schema, plan, private);
            TypeEmitter { replacement: replaced.output.as_ref(), root_doc, ..types }.types(tokens);
        }
        let spec = self.spec();
        let (output, decoding) = self.decoding(plan, replaced, private);
        let schemas = self.schema_impls(private);
        let doc = self.call_doc();
        tokens.extend(quote! {
            #private::__tool!(#params #decoding of SERVER_SPEC: #spec);
            #schemas
            #doc
            pub async fn #handler(client: &impl CallTool, params: #params) -> Result<#output, CallError> {
                #private::call(client, &params).await
            }
        });
    }

    /// Returns the method of the client type, whose type parameter is `through`.
    pub(super) fn method(&self, through: &Ident, krate: &TokenStream) -> TokenStream {
        let params = ident(&self.idents.params);
        let method = ident(&self.idents.method);
        let doc = self.call_doc();
        quote! {
            #doc
            pub fn #method(&self, params: #params) -> #krate::TypedCall<'_, #through, #params> {
                #krate::TypedCall::new(&self.client, params)
            }
        }
    }

    /// Returns the specification of the tool.
    pub(crate) fn spec(&self) -> TokenStream {
        let (wire, prefixed) = (self.wire, &self.idents.prefixed);
        let input = json_literal(self.input_schema);
        let prefixed = (prefixed != wire).then(|| quote!(.prefixed(#prefixed)));
        let titles = titles(self.title, self.description);
        let output = self.output_schema.map(|schema| {
            let schema = json_literal(schema);
            quote!(.output_schema(#schema))
        });
        let hints = self.hints();
        let hints = hints.iter().map(|(hint, value)| {
            let setter = ident(hint.name());
            quote!(.#setter(#value))
        });
        let view = self.declared.viewed.map(|viewed| {
            let (view, texts) = (json_literal(&viewed.view.to_json()), json_literal(&viewed.declared_texts()));
            quote!(.viewed(#view, #texts))
        });
        let declared_input = self.declared.input_schema().map(|schema| {
            let schema = json_literal(schema);
            quote!(.with_declared_input_schema(#schema))
        });
        let declared_output = self.declared.output.map(|schema| match schema.map(json_literal) {
            Some(schema) => quote!(.with_declared_output_schema(Option::Some(#schema))),
            None => quote!(.with_declared_output_schema(Option::None)),
        });
        quote! {
            ToolSpec::new(#wire, #input) #prefixed #titles #output #(#hints)* #declared_input #declared_output #view
        }
    }

    fn hints(&self) -> Vec<(Hint, bool)> {
        let value = |hint: Hint| Some((hint, self.annotations?.get(hint.wire())?.as_bool()?));
        Hint::ALL.into_iter().filter_map(value).collect()
    }

    /// Returns the type that handler and method return, as text.
    #[cfg(feature = "format")]
    pub(crate) fn returned(&self, plan: &Plan<'_>, replaced: &Replaced) -> String {
        let output = self.decoding(plan, replaced, &TokenStream::new()).0.to_string();
        output.replace(' ', "").replace(',', ", ").replace(", )", ",)")
    }

    /// Returns the type of the output, and the code that decodes it from a result.
    fn decoding(&self, plan: &Plan<'_>, replaced: &Replaced, private: &TokenStream) -> (TokenStream, TokenStream) {
        let Some(schema) = &self.output else {
            return (quote!(ToolResult), TokenStream::new());
        };
        let output = ident(&self.idents.output);
        let Some((field, slot)) = self.wrapped() else { return (quote!(#output), quote!(-> #output)) };
        let field = ident(&field);
        match replaced.output.as_ref().map(|replacement| &replacement.wrapped) {
            None => {
                let inner = TypeEmitter::new(schema, plan, private).slot_type(slot);
                (inner.clone(), quote!(-> #inner = #output.#field))
            }
            Some(Some(inner)) => (inner.clone(), quote!(-> #inner = #output::new(#field))),
            Some(None) => (quote!(#output), quote!(-> #output)),
        }
    }

    /// Returns the only field of the wrapper that FastMCP, or the official Python SDK, adds to a result that is not an
    /// object.
    fn wrapped(&self) -> Option<(String, Slot)> {
        let schema = self.output.as_ref()?;
        let root = schema.document.root;
        let field = wrapped_field(self.output_schema?, &schema.document)?;
        let Shape::Struct(object) = schema.document.shapes.get(root) else { return None };
        let name = schema.field_names(root, object).pop()?;
        // A shared type boxes its fields like the type that it replaces.
        Some((name, field.slot)).filter(|_| !schema.is_boxed(root, field.slot.shape))
    }

    fn schema_impls(&self, private: &TokenStream) -> TokenStream {
        let params = ident(&self.idents.params);
        let output = self.output.as_ref().filter(|schema| schema.is_described).map(|_| {
            let output = ident(&self.idents.output);
            quote!(#private::__json_schema!(#output, output_schema of #params);)
        });
        quote! {
            #private::__json_schema!(#params, input_schema of #params);
            #output
        }
    }

    /// Returns the origin of the result's type, if it is not the server.
    fn output_said(&self) -> Option<String> {
        let learned = match self.declared.learned_from {
            Some(1) => ", learned from 1 result".to_owned(),
            Some(count) => format!(", learned from {count} results"),
            None => String::new(),
        };
        self.declared.output.map(|declared| match declared {
            Some(_) => format!("The type comes from an override{learned}: the server declares another."),
            None => format!("The type comes from an override{learned}: the server declares none."),
        })
    }

    fn params_doc(&self) -> docs::Docs {
        let viewed = self.declared.viewed;
        let overridden =
            self.declared.input.map(|_| "An override changes what the server declares of them.".to_owned());
        let hidden: Vec<String> =
            viewed.iter().flat_map(|viewed| viewed.view.hidden_arguments()).map(docs::code).collect();
        let hidden = (!hidden.is_empty()).then(|| format!("The configuration decides about {}.", hidden.join(", ")));
        let is_changed = viewed.is_some_and(|viewed| !viewed.view.hints.is_empty());
        let whose = if is_changed { "Hints" } else { "The server says" };
        let hint = |(hint, value): &(Hint, bool)| {
            format!("{}: {}", hint.name().replace('_', "-"), if *value { "yes" } else { "no" })
        };
        let hints: Vec<String> = self.hints().iter().map(hint).collect();
        docs::lines(&[format!("Parameters of {}.", docs::code(self.wire))])
            .and(overridden.as_slice())
            .and(hidden.as_slice())
            .and(&self.said)
            .and(&docs::facts_of(&self.input.document.schemas, self.input.origin(self.input.document.root)))
            .and((!hints.is_empty()).then(|| format!("{whose}: {}.", hints.join(", "))).as_slice())
    }

    /// Returns a short description of the method; the parameters have the whole description.
    fn call_doc(&self) -> docs::Docs {
        let says_so = self.summary.is_some() && self.wire == self.idents.method;
        let call = (!says_so).then(|| format!("Calls {}.", docs::code(self.wire)));
        docs::lines(self.summary.as_slice()).and(call.as_slice()).deprecated(self.is_deprecated())
    }

    /// Returns `true` if the server says not to use the tool any more: MCP has no word for it, but the schema of its
    /// arguments.
    pub(super) fn is_deprecated(&self) -> bool {
        self.input.document.schemas.is_deprecated(self.input.origin(self.input.document.root))
    }
}

/// Formats JSON text as a literal, which is raw if possible.
fn json_literal(value: &Value) -> Literal {
    let text = value.to_string();
    let fence = "#".repeat(1 + longest_fence(&text));
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let raw = is_plain.then(|| format!("r{fence}\"{text}\"{fence}").parse().ok()).flatten();
    raw.unwrap_or_else(|| Literal::string(&text))
}

/// Returns the longest run of `#` after a quote, which would end a raw string.
fn longest_fence(text: &str) -> usize {
    text.split('"').skip(1).map(|rest| rest.len() - rest.trim_start_matches('#').len()).max().unwrap_or(0)
}
