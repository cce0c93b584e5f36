//! The module of a server.

use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream};
use quote::{TokenStreamExt, quote};

use super::{docs, offers};
use crate::names::ident;
use crate::options::Options;
use crate::plan::Plan;
use crate::rules::Switches;
use crate::typify::Replaced;

/// The version of the library's interface for generated code, which `__format!` in the runtime checks.
const FORMAT: u32 = 4;

pub(crate) fn module(
    plan: &Plan<'_>,
    replaced: &[Replaced],
    snapshot: &mcp_bindgen_model::Snapshot,
    options: &Options,
) -> TokenStream {
    let krate = &options.crate_path;
    let private = &options.private_path();
    let module = &plan.module;
    let doc = docs::lines(&[format!("The MCP server {}.", docs::code(&plan.server))]);
    let server = server_spec(snapshot, options);
    let params = params(plan);
    let mended = if snapshot.overridden.is_empty() { "" } else { " and overrides correct it" };
    let tools_doc = docs::lines(&[format!("Every bound tool, as the server declared it{mended}.")]);
    let client = client(plan, options);
    let call = call(plan, krate, private);
    let format = Literal::u32_unsuffixed(FORMAT);
    let mut items = quote! {
            #krate::__format!(#format);
            #[allow(unused_imports)]
            use #private::prelude::*;

            /// The server, and how to reach it.
            pub const SERVER: ServerSpec = #server;
            static SERVER_SPEC: ServerSpec = SERVER;

            #tools_doc
            pub const TOOLS: &[ToolSpec] = &[#(*<#params as Tool>::SPEC),*];

            #client
            #call
    };
    for (_, path) in plan.extern_types.used(&plan.tools) {
        items.extend(quote!(#private::__wire_through_serde!(#path);));
    }
    for (tool, replaced) in plan.tools.iter().zip(replaced) {
        tool.items(plan, replaced, private, &mut items);
    }
    offers::items(plan, &through(plan), options, &mut items);
    let mut lints = quote!(
        dead_code,
        deprecated,
        unreachable_pub,
        clippy::type_complexity,
        clippy::disallowed_names,
        clippy::upper_case_acronyms
    );
    let Switches { setters, named, .. } = plan.switches;
    if setters || named {
        lints = quote!(#lints, clippy::should_implement_trait, clippy::wrong_self_convention);
    }
    let written = module.to_string();
    if written.contains(char::is_uppercase) || written.trim_matches('_').contains("__") {
        lints = quote!(non_snake_case, #lints);
    }
    let mut tokens = quote! {
        #doc
        #[allow(#lints)]
        pub mod #module
    };
    tokens.append(Group::new(Delimiter::Brace, items));
    tokens
}

/// Returns the specification of a server, whose tools are `TOOLS`.
pub(crate) fn server_spec(snapshot: &mcp_bindgen_model::Snapshot, options: &Options) -> TokenStream {
    let name = &options.server.name;
    let config = options.config.as_ref().map(|config| {
        let config = config.to_string();
        quote!(.config(#config))
    });
    let folder = options.folder.as_ref().map(|folder| quote!(.folder(#folder)));
    let version = snapshot.protocol_version.as_ref().map(|version| quote!(.protocol_version(#version)));
    let capabilities = snapshot.client_capabilities.as_ref().map(|capabilities| {
        let capabilities = capabilities.to_string();
        quote!(.client_capabilities(#capabilities))
    });
    quote!(ServerSpec::new(#name) #config #folder #version #capabilities .tools(TOOLS))
}

/// Returns the transports that `connect()` needs from the library.
pub(crate) fn connect_bounds(servers: &[&Options], krate: &TokenStream) -> Option<TokenStream> {
    let mut bounds = vec!["OverHttp", "OverStdio"];
    bounds.retain(|bound| servers.iter().any(|options| options.connect_bound() == Some(*bound)));
    let bounds = bounds.iter().map(|bound| ident(bound));
    (bounds.len() > 0).then(|| quote!(where #(for<'call> #krate::Client: #krate::__private::#bounds<'call>),*))
}

/// The type parameter of the client type, unless that has the name itself.
const THROUGH: &str = "C";

fn through(plan: &Plan<'_>) -> Ident {
    ident(if plan.own.client_type == THROUGH { "Through" } else { THROUGH })
}

fn params(plan: &Plan<'_>) -> Vec<Ident> {
    plan.tools.iter().map(|tool| ident(&tool.idents.params)).collect()
}

fn client(plan: &Plan<'_>, options: &Options) -> TokenStream {
    let krate = &options.crate_path;
    let through = through(plan);
    let mut methods = TokenStream::new();
    plan.tools.iter().for_each(|tool| methods.extend(tool.method(&through, krate)));
    let client = ident(&plan.own.client_type);
    let doc = docs::lines(&[format!("A connection to {}, with a method for every tool.", docs::code(&plan.server))]);
    let bounds = connect_bounds(&[options], krate);
    quote! {
        #doc
        #[derive(Clone, Debug)]
        pub struct #client<#through = Client> {
            client: #through,
        }

        impl #client {
            /// Connects with the configuration: `MCP_SERVERS` in the environment, or `mcp.toml` as it was when
            /// the bindings were generated. Further calls share the connection.
            ///
            /// # Errors
            /// If the connection cannot be made.
            pub async fn connect() -> Result<Self, ConnectError> #bounds {
                let client = Client::for_spec(&SERVER)?;
                client.connect().await?;
                Ok(Self { client })
            }

            /// Uses the server with this name among those of the program.
            /// Its `approve`, `exclude`, `drift` and other rules apply, not those of the configuration of the bindings.
            ///
            /// # Errors
            /// If there is no such server, or the connection cannot be made.
            pub async fn connect_with(servers: &Servers) -> Result<Self, ConnectError> {
                let client = servers.client(SERVER.name)?;
                client.connect().await?;
                Ok(Self { client })
            }
        }

        #[allow(
            clippy::wrong_self_convention,
            clippy::should_implement_trait,
            clippy::new_ret_no_self,
            clippy::self_named_constructors
        )]
        impl<#through: CallTool> #client<#through> {
            /// Calls the tools through `client`.
            pub const fn with(client: #through) -> Self {
                Self { client }
            }

            /// Returns the client, with its layers, that calls the tools.
            pub const fn client(&self) -> &#through {
                &self.client
            }

            /// Sets a time limit for every call, including connecting.
            pub fn within(&self, timeout: ::core::time::Duration) -> #client<#krate::WithOptions<&#through>> {
                #client { client: CallTool::within(&self.client, timeout) }
            }

            #methods
        }
    }
}

fn call(plan: &Plan<'_>, krate: &TokenStream, private: &TokenStream) -> TokenStream {
    let params = params(plan);
    let call = ident(&plan.own.call_type);
    let doc = docs::lines(&[format!("A call of any tool of {}, as a value.", docs::code(&plan.server))]);
    let name = &plan.server;
    if plan.tools.is_empty() {
        return TokenStream::new();
    }
    let variants: Vec<Ident> = plan.tools.iter().map(|tool| ident(&tool.idents.variant)).collect();
    let arms = variants.iter().enumerate().map(|(place, variant)| {
        let place = Literal::usize_unsuffixed(place);
        quote!(Some(#place) => #private::read_arguments(&arguments).map(Self::#variant),)
    });
    let described =
        plan.tools.iter().map(|tool| docs::lines(&[docs::code(tool.wire)]).deprecated(tool.is_deprecated()));
    quote! {
        #doc
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::large_enum_variant, clippy::enum_variant_names)]
        pub enum #call {
            #(#described #variants(#params),)*
        }

        impl #call {
            /// Parses a call from a tool's name, on the wire or prefixed, and its arguments: JSON, JSON text,
            /// or nothing.
            ///
            /// # Errors
            /// [`CallError::ToolNotFound`], or [`CallError::InvalidArguments`] if the arguments are invalid.
            pub fn parse(name: &str, arguments: impl #krate::AsArguments) -> Result<Self, CallError> {
                let arguments = #krate::AsArguments::as_arguments(&arguments);
                match #private::place_of(TOOLS, name) {
                    #(#arms)*
                    _ => Err(CallError::tool_not_found(#name, name)),
                }
            }

            /// The tool's name on the wire.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    #(Self::#variants(_) => <#params as Tool>::NAME,)*
                }
            }

            /// The arguments as JSON.
            #[must_use]
            pub fn arguments(&self) -> Value {
                match self {
                    #(Self::#variants(params) => #private::print_arguments(params),)*
                }
            }

            /// Calls the tool and returns its untyped result.
            ///
            /// # Errors
            /// See [`CallError`].
            pub async fn call(&self, client: &impl CallTool) -> Result<ToolResult, CallError> {
                let call = match self {
                    #(Self::#variants(params) => ToolCall::of(params),)*
                };
                #private::send(client, call).await
            }
        }
        #private::__serde_call!(#call);
    }
}
