/// The MCP server `github`.
#[allow(
    dead_code,
    deprecated,
    clippy::type_complexity,
    clippy::disallowed_names,
    clippy::upper_case_acronyms
)]
pub mod github {
    ::mcp_bindgen::__format!(2);
    #[allow(unused_imports)]
    use ::mcp_bindgen::wire::prelude::*;
    /// The server, and how to reach it.
    pub const SERVER: ServerSpec = ServerSpec::new("github").tools(TOOLS);
    /// Every bound tool, as the server declared it.
    pub const TOOLS: &[ToolSpec] = &[
        *<GithubPingParams as Tool>::SPEC,
    ];
    /// A connection to `github`, with a method for every tool.
    #[derive(Clone, Debug)]
    pub struct Github<C = Client> {
        client: C,
    }
    impl Github {
        /// Connects as the configuration says: `MCP_SERVERS` in the environment, or what `mcp.toml` said when
        /// the bindings were made. Who connects again shares the connection.
        ///
        /// # Errors
        /// Where no connection can be made.
        pub async fn connect() -> Result<Self, ConnectError> {
            let client = Client::for_spec(&SERVER)?;
            client.connect().await?;
            Ok(Self { client })
        }
        /// Connects through the server of this name among those of a program.
        /// What that configuration demands of it holds, and not what the one of the bindings does.
        ///
        /// # Errors
        /// Where there is none, or no connection can be made.
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
    impl<C: CallTool> Github<C> {
        /// Calls the tools through `client`.
        pub const fn with(client: C) -> Self {
            Self { client }
        }
        /// What the tools are called through.
        pub const fn client(&self) -> &C {
            &self.client
        }
        /// The same with a time limit for every call, connecting included.
        pub fn within(
            &self,
            timeout: ::core::time::Duration,
        ) -> Github<::mcp_bindgen::WithOptions<&C>> {
            Github {
                client: CallTool::within(&self.client, timeout),
            }
        }
        /// Takes nothing.
        pub fn ping(
            &self,
            params: GithubPingParams,
        ) -> ::mcp_bindgen::TypedCall<'_, C, GithubPingParams> {
            ::mcp_bindgen::TypedCall::new(&self.client, params)
        }
    }
    /// A call of any tool of `github`, as a value.
    #[derive(Clone, Debug, PartialEq)]
    #[allow(clippy::large_enum_variant, clippy::enum_variant_names)]
    pub enum GithubCall {
        /// `ping`
        Ping(GithubPingParams),
    }
    impl GithubCall {
        /// Reads a call from a tool's name, as the server or as the bindings know it, and its arguments: JSON,
        /// text of it, or nothing.
        ///
        /// # Errors
        /// [`CallError::ToolNotFound`], and [`CallError::InvalidArguments`] where the arguments do not fit.
        pub fn parse(
            name: &str,
            arguments: impl ::mcp_bindgen::AsArguments,
        ) -> Result<Self, CallError> {
            let arguments = ::mcp_bindgen::AsArguments::as_arguments(&arguments);
            match ::mcp_bindgen::place_of(TOOLS, name) {
                Some(0) => ::mcp_bindgen::read_arguments(&arguments).map(Self::Ping),
                _ => Err(::mcp_bindgen::tool_not_found("github", name)),
            }
        }
        /// The tool's name, as the server knows it.
        #[must_use]
        pub const fn name(&self) -> &'static str {
            match self {
                Self::Ping(_) => <GithubPingParams as Tool>::NAME,
            }
        }
        /// The arguments as they go on the wire.
        #[must_use]
        pub fn arguments(&self) -> Value {
            match self {
                Self::Ping(params) => ::mcp_bindgen::print_arguments(params),
            }
        }
        /// Calls the tool, and gives its result as it came.
        ///
        /// # Errors
        /// See [`CallError`].
        pub async fn call(
            &self,
            client: &impl CallTool,
        ) -> Result<ToolResult, CallError> {
            match self {
                Self::Ping(params) => ::mcp_bindgen::call_untyped(client, params).await,
            }
        }
    }
    ::mcp_bindgen::__serde_call!(GithubCall);
    /// Parameters of `ping`.
    ///
    /// Takes nothing.
    #[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
    pub struct GithubPingParams {}
    impl GithubPingParams {
        /// With what is required, and nothing else.
        pub fn new() -> Self {
            Self {}
        }
    }
    ::mcp_bindgen::__object!(GithubPingParams {} deny);
    ::mcp_bindgen::__tool!(
        GithubPingParams of SERVER : ToolSpec::new("ping",
        r#"{"type":"object","properties":{},"additionalProperties":false}"#)
        .prefixed("github_ping").description("Takes nothing.")
    );
    ::mcp_bindgen::__json_schema!(
        GithubPingParams, input_schema of GithubPingParams
    );
    /// Takes nothing.
    pub async fn github_ping(
        client: &impl CallTool,
        params: GithubPingParams,
    ) -> Result<ToolResult, CallError> {
        ::mcp_bindgen::call(client, &params).await
    }
}
