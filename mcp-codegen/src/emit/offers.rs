//! The code of prompts and resource templates: a type for the arguments, a handler, a method.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{TypeEmitter, docs};
use crate::names::ident;
use crate::options::Options;
use crate::plan::{Derives, Offer, OfferIdents, OfferKind, Plan, SchemaPlan};
use mcp_bindgen_schema::Role;
use mcp_bindgen_schema::diagnostics::{Listed, Reporter};

/// Emits the items of prompts and resource templates, if there are any.
pub(super) fn items(plan: &Plan<'_>, through: &Ident, options: &Options, tokens: &mut TokenStream) {
    let (krate, client) = (&options.crate_path, ident(&plan.client_type));
    let mut list = |listed, constant: TokenStream, capability: TokenStream| {
        let offers: Vec<&Offer<'_>> = plan.offers.iter().filter(|offer| offer.listed() == listed).collect();
        if offers.is_empty() {
            return;
        }
        let specs = offers.iter().map(|offer| offer.spec(krate));
        let methods = offers.iter().map(|offer| offer.method(krate));
        tokens.extend(quote! {
            #constant = &[#(#specs),*];

            impl<#through: #krate::#capability> #client<#through> {
                #(#methods)*
            }
        });
    };
    let constant = quote! {
        /// Every prompt that is bound, as the server declared it.
        pub const PROMPTS: &[#krate::PromptSpec]
    };
    list(Listed::Prompt, constant, quote!(GetPrompt));
    let constant = quote! {
        /// Every resource template that is bound, as the server declared it.
        pub const RESOURCE_TEMPLATES: &[#krate::ResourceTemplateSpec]
    };
    list(Listed::ResourceTemplate, constant, quote!(ReadResource));
    plan.offers.iter().for_each(|offer| offer.items(plan, options, tokens));
}

impl Offer<'_> {
    /// Emits the type of the parameters, and the handler.
    fn items(&self, plan: &Plan<'_>, options: &Options, tokens: &mut TokenStream) {
        let (krate, private) = (&options.crate_path, &options.private_path());
        self.params(plan, private, tokens);
        let doc = self.doc();
        let [handler, params] = [&self.idents.handler, &self.idents.params].map(|name| ident(name));
        tokens.extend(match &self.kind {
            OfferKind::Prompt(_) => {
                let name = self.wire;
                quote! {
                    #doc
                    pub async fn #handler(
                        client: &impl #krate::GetPrompt,
                        arguments: #params,
                    ) -> Result<#krate::PromptResult, CallError> {
                        #private::get_prompt(client, SERVER.name, #name, &arguments).await
                    }
                }
            }
            OfferKind::Template { uri_template, .. } => quote! {
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
            },
        });
    }

    /// Emits the type of the parameters.
    fn params(&self, plan: &Plan<'_>, private: &TokenStream, tokens: &mut TokenStream) {
        let mut lines = vec![match &self.kind {
            OfferKind::Prompt(_) => format!("Arguments of the prompt {}.", docs::code(self.wire)),
            OfferKind::Template { uri_template, .. } => format!("The variables of {}.", docs::code(uri_template)),
        }];
        if !self.said.is_empty() {
            lines.push(String::new());
            lines.extend(self.said.iter().cloned());
        }
        let nobody = &mut Reporter::new("", 0, "");
        let mut schema = SchemaPlan::new(&self.schema, Role::Input, &self.idents.params, &[], false, nobody);
        let root = schema.document.root;
        if schema.has_builder(root) {
            schema.builders.insert(root, self.idents.builder.clone());
        }
        let types = TypeEmitter::new(&schema, plan, private);
        TypeEmitter { root_doc: docs::lines(lines), extra_derives: &Derives::default(), ..types }.types(tokens);
    }

    fn doc(&self) -> docs::Docs {
        let does = match &self.kind {
            OfferKind::Prompt(_) => format!("Gets the prompt {}.", docs::code(self.wire)),
            OfferKind::Template { uri_template, .. } => format!("Reads the resource {}.", docs::code(uri_template)),
        };
        docs::lines(match &self.summary {
            Some(summary) => vec![summary.clone(), String::new(), does],
            None => vec![does],
        })
    }

    fn spec(&self, krate: &TokenStream) -> TokenStream {
        let (name, titles) = (self.wire, titles(self.title, self.description));
        match &self.kind {
            OfferKind::Prompt(arguments) => {
                let arguments = arguments.iter().map(|argument| {
                    let (name, titles) = (argument.name, self::titles(argument.title, argument.description));
                    let required = argument.is_required.then(|| quote!(.required()));
                    quote!(#krate::PromptArgumentSpec::new(#name) #titles #required)
                });
                quote!(#krate::PromptSpec::new(#name) #titles .arguments(&[#(#arguments),*]))
            }
            OfferKind::Template { uri_template, mime_type } => {
                let mime_type = mime_type.map(|mime_type| quote!(.mime_type(#mime_type)));
                quote!(#krate::ResourceTemplateSpec::new(#name, #uri_template) #titles #mime_type)
            }
        }
    }

    /// Returns the method of the client type.
    fn method(&self, krate: &TokenStream) -> TokenStream {
        let (argument, result) = match &self.kind {
            OfferKind::Prompt(_) => ("arguments", "PromptResult"),
            OfferKind::Template { .. } => ("variables", "ResourceResult"),
        };
        let OfferIdents { method, handler, params, .. } = &self.idents;
        let [method, handler, params, argument, result] =
            [method.as_str(), handler, params, argument, result].map(ident);
        let doc = self.doc();
        quote! {
            #doc
            pub async fn #method(&self, #argument: #params) -> Result<#krate::#result, CallError> {
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
