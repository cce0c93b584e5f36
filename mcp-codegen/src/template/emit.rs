//! The module of a template.

use mcp_bindgen_template::Takes;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::calls::{Checked, Field, UsedServer};
use crate::emit::{connect_bounds, docs, server_spec};
use crate::names::{Style, ident, identifiers};

/// The input of a template's module.
pub(crate) struct Module<'m> {
    pub(crate) ident: Ident,
    /// The path of the template's file, as it is shown.
    pub(crate) path: &'m str,
    pub(crate) text: &'m str,
    pub(crate) checked: &'m Checked<'m>,
    pub(crate) completes: bool,
    pub(crate) crate_path: &'m TokenStream,
}

/// A server, as the module knows it.
struct Caller<'c> {
    server: &'c UsedServer<'c>,
    field: Ident,
    type_name: Ident,
    constant: Ident,
}

/// The names that type parameters may not have.
const TYPES: &[&str] = &["Clients", "Self", "Vars"];
/// The names that the constants of servers may not have: the module's own.
const CONSTANTS: &[&str] = &["template"];

pub(crate) fn module(module: &Module<'_>) -> TokenStream {
    let Module { ident: name, path, text, checked, crate_path: krate, .. } = module;
    let private = &quote!(#krate::agents::__private);
    let callers = callers(&checked.servers);
    let doc = docs::lines(&[format!("The template {}.", docs::code(path))]);
    let specs = callers.iter().map(|caller| caller.spec(krate));
    let (vars, clients) = (vars(&checked.fields, private), clients(&callers, krate, private));
    let run = run(module, &callers, private);
    let written = name.to_string();
    let is_snake = !written.contains(char::is_uppercase) && !written.trim_matches('_').contains("__");
    let case = (!is_snake).then(|| quote!(non_snake_case,));
    quote! {
        #doc
        #[allow(#case dead_code, clippy::disallowed_names)]
        pub mod #name {
            /// The text of the template.
            pub const TEMPLATE: &str = #text;

            #(#specs)*
            #vars
            #clients
            #run
        }
    }
}

/// Returns the names in the module of every template.
pub(crate) fn names() -> TokenStream {
    quote! {
        pub const TEMPLATE: &str = "";
        pub struct Vars;
        pub struct Clients;
        pub async fn run() {}
        pub fn prepare() {}
    }
}

fn callers<'c>(servers: &'c [UsedServer<'c>]) -> Vec<Caller<'c>> {
    let names: Vec<&str> = servers.iter().map(|server| server.known.name()).collect();
    let fields = identifiers(Style::Snake, &names, &[], "client");
    let types = identifiers(Style::Pascal, &names, TYPES, "client");
    let constants = identifiers(Style::Snake, &names, CONSTANTS, "server");
    let named = servers.iter().zip(fields).zip(types.into_iter().zip(constants));
    named
        .map(|((server, field), (type_name, constant))| Caller {
            server,
            field: ident(&field),
            type_name: ident(&type_name),
            constant: ident(&constant.to_uppercase()),
        })
        .collect()
}

impl Caller<'_> {
    /// Returns the specification of the server, with the tools that the template calls.
    fn spec(&self, krate: &TokenStream) -> TokenStream {
        let (constant, server) = (&self.constant, self.server);
        let spec = server_spec(server.known.snapshot, server.known.options);
        let tools = server.tools.iter().map(|tool| tool.spec());
        quote! {
            const #constant: &#krate::ServerSpec = {
                #[allow(unused_imports)]
                use #krate::__private::prelude::{Option, ServerSpec, ToolSpec};
                const TOOLS: &[ToolSpec] = &[#(#tools),*];
                const SERVER: ServerSpec = #spec;
                &SERVER
            };
        }
    }
}

/// Returns the identifiers of the variables, in their order.
fn field_idents(fields: &[Field]) -> Vec<Ident> {
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    identifiers(Style::Snake, &names, &[], "var").iter().map(|name| ident(name)).collect()
}

fn vars(fields: &[Field], private: &TokenStream) -> TokenStream {
    let idents = field_idents(fields);
    let types = fields.iter().map(|field| match (type_of(field.takes, private), field.is_optional) {
        (taken, false) => taken,
        (taken, true) => quote!(#private::Option<#taken>),
    });
    let said = fields.iter().map(|field| docs::lines(&[field.said()]));
    let derive_default = fields.iter().all(|field| field.is_optional).then(|| quote!(#[derive(#private::Default)]));
    quote! {
        /// The variables of the template.
        #[derive(#private::Clone, #private::Debug, #private::PartialEq)]
        #derive_default
        pub struct Vars {
            #(#said pub #idents: #types,)*
        }
    }
}

fn type_of(takes: Takes, private: &TokenStream) -> TokenStream {
    match takes {
        Takes::Text => quote!(#private::String),
        Takes::I64 => quote!(i64),
        Takes::U64 => quote!(u64),
        Takes::F64 => quote!(f64),
        Takes::Bool => quote!(bool),
        _ => quote!(#private::Value),
    }
}

fn clients(callers: &[Caller<'_>], krate: &TokenStream, private: &TokenStream) -> TokenStream {
    let fields: Vec<&Ident> = callers.iter().map(|caller| &caller.field).collect();
    let types: Vec<&Ident> = callers.iter().map(|caller| &caller.type_name).collect();
    let constants: Vec<&Ident> = callers.iter().map(|caller| &caller.constant).collect();
    let said = callers.iter().map(|caller| {
        let (server, first) = (docs::code(caller.server.known.name()), "Calls the tools of the server");
        docs::lines(&[format!("{first} {server}.")])
    });
    let generics = (!types.is_empty()).then(|| quote!(<#(#types = #krate::Client),*>));
    let derive_default = types.is_empty().then(|| quote!(#[derive(#private::Default)]));
    let options: Vec<_> = callers.iter().map(|caller| caller.server.known.options).collect();
    let bounds = connect_bounds(&options, krate);
    let connect = (!types.is_empty()).then(|| {
        quote! {
            impl Clients {
                /// Connects to every server as the configuration says: `MCP_SERVERS` in the environment, or what
                /// `mcp.toml` said when the template was checked. Who connects again shares the connections.
                ///
                /// # Errors
                /// Where a connection cannot be made.
                pub async fn connect() -> #private::Result<Self, #krate::ConnectError> #bounds {
                    let clients = Self { #(#fields: #krate::Client::for_spec(#constants)?,)* };
                    #private::connected([#(&clients.#fields),*]).await?;
                    #private::Ok(clients)
                }
            }
        }
    });
    quote! {
        /// The clients that call the tools: one for each server that the template names, layers around one (in an `Arc` where
        /// they cannot be cloned), or a stand-in for it.
        #[derive(#private::Clone, #private::Debug)]
        #derive_default
        pub struct Clients #generics {
            #(#said pub #fields: #types,)*
        }

        #connect
    }
}

fn run(module: &Module<'_>, callers: &[Caller<'_>], private: &TokenStream) -> TokenStream {
    let Module { path, crate_path: krate, checked, .. } = module;
    let types: Vec<&Ident> = callers.iter().map(|caller| &caller.type_name).collect();
    let fields: Vec<&Ident> = callers.iter().map(|caller| &caller.field).collect();
    let constants: Vec<&Ident> = callers.iter().map(|caller| &caller.constant).collect();
    let generics = (!types.is_empty()).then(|| quote!(<#(#types: #krate::CallTool + #private::Clone + 'static),*>));
    let arguments = (!types.is_empty()).then(|| quote!(<#(#types),*>));
    let idents = field_idents(&checked.fields);
    let given = checked.fields.iter().zip(&idents).map(|(field, ident)| {
        let (name, setter) = (&field.name, if field.is_optional { quote!(with_some) } else { quote!(with) });
        quote!(let run = #private::#setter(run, #name, vars.#ident);)
    });
    let clients = if callers.is_empty() { quote!(_clients) } else { quote!(clients) };
    let vars = if idents.is_empty() { quote!(_vars) } else { quote!(vars) };
    let completer = module.completes.then(|| quote!(completer: impl #krate::agents::Completer + 'static,));
    let (passed, completed) = match module.completes {
        true => (quote!(, completer), quote!(.completer(completer))),
        false => (TokenStream::new(), TokenStream::new()),
    };
    let fills = if module.completes { " `completer` fills its slots." } else { "" };
    let run_doc = docs::lines(&[format!("Runs the template and returns its text.{fills}")]);
    quote! {
        #run_doc
        ///
        /// # Errors
        /// Where a call fails and the template has nothing to say of it, or a value is not what it takes: with the line.
        pub async fn run #generics (
            clients: &Clients #arguments,
            vars: Vars,
            #completer
        ) -> #private::Result<#krate::agents::RenderedTemplate, #krate::agents::TemplateError> {
            prepare(clients, vars #passed)?.await
        }

        /// The run of the template, for limits of its own: `prepare(..)?.timeout(..).await`.
        ///
        /// # Errors
        /// Where the tools of the clients cannot be one set.
        pub fn prepare #generics (
            #clients: &Clients #arguments,
            #vars: Vars,
            #completer
        ) -> #private::Result<#krate::agents::TemplateRun, #krate::agents::TemplateError> {
            let tools = #krate::agents::Toolset::builder()
                #(.bindings(#constants, #private::Clone::clone(&clients.#fields)))*;
            let run = #private::run(#path, TEMPLATE, tools)?;
            #(#given)*
            #private::Ok(run #completed)
        }
    }
}
