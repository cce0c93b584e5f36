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
    let (krate, client) = (&options.crate_path, ident(&plan.own.client_type));
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
        let ([capability, argument, result], (_, about)) = (self.words(), self.about());
        let params = ident(&self.idents.params);
        self.params(plan, docs::lines(&[about]).and(&self.said), private, tokens);
        let call = match &self.kind {
            OfferKind::Prompt(_) => {
                let name = self.wire;
                quote!(#private::get_prompt(client, SERVER.name, #name, &arguments))
            }
            OfferKind::Template { uri_template, .. } => {
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
                });
                quote!(#private::read_resource(client, SERVER.name, variables.uri()?))
            }
        };
        let (doc, handler) = (self.doc(), ident(&self.idents.handler));
        tokens.extend(quote! {
            #doc
            pub async fn #handler(
                client: &impl #krate::#capability,
                #argument: #params,
            ) -> Result<#krate::#result, CallError> {
                #call.await
            }
        });
    }

    /// Returns the trait, the argument and the result of its handler.
    fn words(&self) -> [Ident; 3] {
        let words = match &self.kind {
            OfferKind::Prompt(_) => ["GetPrompt", "arguments", "PromptResult"],
            OfferKind::Template { .. } => ["ReadResource", "variables", "ResourceResult"],
        };
        words.map(ident)
    }

    /// Returns what its handler does and what its parameters are, for documentation, before its name or URI template.
    fn about(&self) -> (String, String) {
        let (does, lead, name) = match &self.kind {
            OfferKind::Prompt(_) => ("Gets the prompt", "Arguments of the prompt", self.wire),
            OfferKind::Template { uri_template, .. } => ("Reads the resource", "The variables of", *uri_template),
        };
        let name = docs::code(name);
        (format!("{does} {name}."), format!("{lead} {name}."))
    }

    /// Emits the type of the parameters.
    fn params(&self, plan: &Plan<'_>, root_doc: docs::Docs, private: &TokenStream, tokens: &mut TokenStream) {
        let nobody = &mut Reporter::new("", 0, "");
        let mut schema = SchemaPlan::new(&self.schema, Role::Input, &self.idents.params, &[], false, nobody);
        let root = schema.document.root;
        if schema.has_builder(root) {
            schema.builders.insert(root, self.idents.builder.clone());
        }
        let types = TypeEmitter::new(&schema, plan, private);
        TypeEmitter { root_doc, extra_derives: &Derives::default(), ..types }.types(tokens);
    }

    fn doc(&self) -> docs::Docs {
        docs::lines(self.summary.as_slice()).and(&[self.about().0])
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
        let [_, argument, result] = self.words();
        let OfferIdents { method, handler, params, .. } = &self.idents;
        let [method, handler, params] = [method, handler, params].map(|name| ident(name));
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
