//! The code of prompts and resource templates: a type for the arguments, a handler, a method.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{TypeEmitter, docs};
use crate::names::ident;
use crate::options::Options;
use crate::plan::{Offer, OfferIdents, Plan, PromptPlan, SchemaPlan, TemplatePlan};
use mcp_bindgen_schema::Role;
use mcp_bindgen_schema::diagnostics::Reporter;

/// Emits the items of prompts and resource templates, if there are any.
pub(super) fn items(plan: &Plan<'_>, through: &Ident, options: &Options, tokens: &mut TokenStream) {
    let (krate, client) = (&options.crate_path, ident(&plan.client_type));
    let mut list = |constant: TokenStream, capability: &str, specs: Vec<TokenStream>, methods: Vec<TokenStream>| {
        if !specs.is_empty() {
            let capability = ident(capability);
            tokens.extend(quote! {
                #constant = &[#(#specs),*];

                impl<#through: #krate::#capability> #client<#through> {
                    #(#methods)*
                }
            });
        }
    };
    let constant = quote! {
        /// Every prompt that is bound, as the server declared it.
        pub const PROMPTS: &[#krate::PromptSpec]
    };
    let (specs, methods) = plan.prompts.iter().map(|prompt| (prompt.spec(krate), prompt.method(krate))).unzip();
    list(constant, "GetPrompt", specs, methods);
    let constant = quote! {
        /// Every resource template that is bound, as the server declared it.
        pub const RESOURCE_TEMPLATES: &[#krate::ResourceTemplateSpec]
    };
    let (specs, methods) = plan.templates.iter().map(|template| (template.spec(krate), template.method(krate))).unzip();
    list(constant, "ReadResource", specs, methods);
    plan.prompts.iter().for_each(|prompt| prompt.items(options, tokens));
    plan.templates.iter().for_each(|template| template.items(options, tokens));
}

impl Offer<'_> {
    /// Emits the type of the parameters.
    fn params(&self, what: String, options: &Options, tokens: &mut TokenStream) {
        let mut lines = vec![what];
        if !self.said.is_empty() {
            lines.push(String::new());
            lines.extend(self.said.iter().cloned());
        }
        let nobody = &mut Reporter::new("", 0, "");
        let mut schema = SchemaPlan::new(&self.schema, Role::Input, &self.idents.params, nobody);
        schema.switches = options.rules.switches();
        let root = schema.document.root;
        if schema.has_builder(root) {
            schema.builders.insert(root, self.idents.builder.clone());
        }
        let private = &options.private_path();
        TypeEmitter { schema: &schema, replacement: None, private, root_doc: docs::lines(lines) }.types(tokens);
    }

    fn doc(&self, does: String) -> docs::Docs {
        docs::lines(match &self.summary {
            Some(summary) => vec![summary.clone(), String::new(), does],
            None => vec![does],
        })
    }

    /// Returns the method of the client type.
    fn method(&self, doc: &docs::Docs, argument: &str, result: &TokenStream) -> TokenStream {
        let OfferIdents { method, handler, params, .. } = &self.idents;
        let [method, handler, params, argument] = [method.as_str(), handler, params, argument].map(ident);
        quote! {
            #doc
            pub async fn #method(&self, #argument: #params) -> Result<#result, CallError> {
                #handler(&self.client, #argument).await
            }
        }
    }
}

/// Returns the title and the description of a specification.
pub(super) fn titles(title: Option<&str>, description: Option<&str>) -> TokenStream {
    let title = title.map(|title| quote!(.title(#title)));
    let description = description.map(|description| quote!(.description(#description)));
    quote!(#title #description)
}

impl PromptPlan<'_> {
    fn doc(&self) -> docs::Docs {
        self.offer.doc(format!("Gets the prompt {}.", docs::code(self.offer.wire)))
    }

    fn spec(&self, krate: &TokenStream) -> TokenStream {
        let (name, about) = (self.offer.wire, titles(self.offer.title, self.offer.description));
        let arguments = self.arguments.iter().map(|argument| {
            let (name, about) = (argument.name, titles(argument.title, argument.description));
            let required = argument.is_required.then(|| quote!(.required()));
            quote!(#krate::PromptArgumentSpec::new(#name) #about #required)
        });
        quote!(#krate::PromptSpec::new(#name) #about .arguments(&[#(#arguments),*]))
    }

    fn items(&self, options: &Options, tokens: &mut TokenStream) {
        let (krate, private) = (&options.crate_path, options.private_path());
        self.offer.params(format!("Arguments of the prompt {}.", docs::code(self.offer.wire)), options, tokens);
        let (doc, name) = (self.doc(), self.offer.wire);
        let [handler, params] = [&self.offer.idents.handler, &self.offer.idents.params].map(|name| ident(name));
        tokens.extend(quote! {
            #doc
            pub async fn #handler(
                client: &impl #krate::GetPrompt,
                arguments: #params,
            ) -> Result<#krate::PromptResult, CallError> {
                #private::get_prompt(client, SERVER.name, #name, &arguments).await
            }
        });
    }

    fn method(&self, krate: &TokenStream) -> TokenStream {
        self.offer.method(&self.doc(), "arguments", &quote!(#krate::PromptResult))
    }
}

impl TemplatePlan<'_> {
    fn doc(&self) -> docs::Docs {
        self.offer.doc(format!("Reads the resource {}.", docs::code(self.uri_template)))
    }

    fn spec(&self, krate: &TokenStream) -> TokenStream {
        let (name, titles, uri_template) =
            (self.offer.wire, titles(self.offer.title, self.offer.description), self.uri_template);
        let mime_type = self.mime_type.map(|mime_type| quote!(.mime_type(#mime_type)));
        quote!(#krate::ResourceTemplateSpec::new(#name, #uri_template) #titles #mime_type)
    }

    fn items(&self, options: &Options, tokens: &mut TokenStream) {
        let (krate, private) = (&options.crate_path, options.private_path());
        self.offer.params(format!("The variables of {}.", docs::code(self.uri_template)), options, tokens);
        let (doc, uri_template) = (self.doc(), self.uri_template);
        let [handler, params] = [&self.offer.idents.handler, &self.offer.idents.params].map(|name| ident(name));
        tokens.extend(quote! {
            impl #params {
                /// The URI, with every value percent-encoded as RFC 6570 says.
                ///
                /// # Errors
                /// [`CallError::InvalidArguments`] where a value would make a segment of the path `.` or `..`.
                pub fn uri(&self) -> Result<String, CallError> {
                    #private::fill_in(SERVER.name, #uri_template, self)
                }
            }

            #doc
            pub async fn #handler(
                client: &impl #krate::ReadResource,
                variables: #params,
            ) -> Result<#krate::ResourceResult, CallError> {
                #private::read_resource(client, SERVER.name, variables.uri()?).await
            }
        });
    }

    fn method(&self, krate: &TokenStream) -> TokenStream {
        self.offer.method(&self.doc(), "variables", &quote!(#krate::ResourceResult))
    }
}
