//! The doors that calls come through.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use mcp_bindgen::agents::proxy::Proxy;
use mcp_bindgen::agents::{
    ModelCall, Prompt, PromptParams, PromptState, Section, SectionServer, Template, TemplateError, Toolset,
};
use mcp_bindgen::middleware::ApprovalAnswer;
use mcp_bindgen::model::Snapshot;
use mcp_bindgen::{
    CallError, CallOptions, CallTool, Client, ClientOptions, ElicitationAnswer, ServerSpec, ToolCall, ToolReply,
};
use serde_json::{Map, Value, json};

use super::{Approver, Bound, Calls, Layers, Outcome, Row, Site, before, fixture};

type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A way from a program or a model to the server.
#[derive(Clone, Copy)]
pub(crate) struct Door {
    pub(crate) name: &'static str,
    /// `true` if the caller knows the tool's annotations, from bindings or from the list.
    pub(crate) knows_hints: bool,
    /// `true` if no cache answers, because the client itself must judge the caller. A request for progress, which
    /// clients over rmcp always make, is not a reason.
    pub(crate) passes_caches: bool,
    /// `true` if the calls come from a template that is not from a local file.
    pub(crate) is_remote: bool,
    open: Open,
}

type Open = fn(Behind) -> Later<Caller>;

impl Door {
    pub(crate) async fn open(self, row: &Row, site: &Arc<Site>) -> Caller {
        let (layers, bound, approver) = (row.layers.clone(), row.bound, row.approver);
        // Others are marked by hand, as if they were such a template's.
        let layers = if row.is_remote && !self.is_remote { marked(layers) } else { layers };
        (self.open)(Behind { site: site.clone(), layers, bound, approver }).await
    }
}

fn marked(layers: Layers) -> Layers {
    Arc::new(move |client| -> Calls { Arc::new(layers(client).with_call_options(CallOptions::new().remote())) })
}

/// The parts behind a door.
struct Behind {
    site: Arc<Site>,
    layers: Layers,
    bound: Bound,
    approver: Approver,
}

impl Behind {
    /// A client as the program has it, which is asked itself, and the layers around it.
    fn calls(&self) -> (Client, Calls) {
        let options = match self.approver {
            Approver::Nobody => ClientOptions::new(),
            Approver::Yes => ClientOptions::new().on_approval(async |_| ApprovalAnswer::Approve),
            Approver::No => ClientOptions::new().on_approval(async |_| ApprovalAnswer::Decline("not now".to_owned())),
        };
        let client = self.site.client(options);
        (client.clone(), (self.layers)(client))
    }

    fn spec(&self) -> &'static ServerSpec {
        match self.bound {
            Bound::AsItIs => &fixture::SERVER,
            Bound::AsItWas => &before::fixture::SERVER,
        }
    }

    fn snapshot(&self) -> Snapshot {
        let text = std::fs::read_to_string(self.site.folder.path().join("mcp/fixture.json")).unwrap();
        Snapshot::parse(&text).unwrap()
    }
}

/// An open door.
pub(crate) struct Caller {
    call: Box<dyn Fn(&'static str, Value) -> Later<Outcome> + Send + Sync>,
    /// The names of the tools that it tells of, where it does.
    listed: Option<Vec<String>>,
    close: Box<dyn FnOnce() -> Later<()> + Send + Sync>,
}

impl Caller {
    fn new<F>(client: Client, call: impl Fn(&'static str, Value) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        Self {
            call: Box::new(move |tool, arguments| Box::pin(call(tool, arguments))),
            listed: None,
            close: Box::new(move || Box::pin(async move { client.close().await })),
        }
    }

    pub(crate) fn lists(&self) -> Option<&[String]> {
        self.listed.as_deref()
    }

    pub(crate) async fn call(&self, tool: &'static str, arguments: Value) -> Outcome {
        (self.call)(tool, arguments).await
    }

    pub(crate) async fn close(self) {
        (self.close)().await;
    }
}

pub(crate) fn all() -> Vec<Door> {
    let door = |name, knows_hints, open: Open| Door { name, knows_hints, passes_caches: false, is_remote: false, open };
    vec![
        door("a typed handler", true, |behind| Box::pin(typed(behind))),
        door("a call as a value", true, |behind| Box::pin(parsed(behind))),
        door("an untyped call", false, |behind| Box::pin(untyped(behind))),
        door("a toolset of bindings", true, |behind| Box::pin(bound_toolset(behind))),
        door("a toolset of a server", true, |behind| Box::pin(toolset(behind))),
        door("a turn of a model", true, |behind| Box::pin(turn(behind))),
        door("`call_tool` of a deferred list", true, |behind| Box::pin(deferred(behind))),
        door("the toolset of a prompt's sections", true, |behind| Box::pin(sections(behind))),
        door("an action of a template", true, |behind| Box::pin(template(behind, Template::new))),
        Door {
            is_remote: true,
            passes_caches: true,
            ..door("an action of a template from elsewhere", true, |behind| {
                Box::pin(template(behind, Template::remote))
            })
        },
        door("the proxy, 2025-11-25", true, |behind| Box::pin(proxy(behind, "2025-11-25"))),
        door("the proxy, 2026-07-28", true, |behind| Box::pin(proxy(behind, "2026-07-28"))),
    ]
}

fn said<T>(outcome: Result<T, CallError>) -> Outcome {
    outcome.map(drop).map_err(|error| error.to_string())
}

fn object(arguments: Value) -> Map<String, Value> {
    arguments.as_object().unwrap().clone()
}

async fn typed(behind: Behind) -> Caller {
    let (client, calls) = behind.calls();
    let bound = behind.bound;
    Caller::new(client, move |tool, arguments| {
        let calls = calls.clone();
        async move {
            let number = |key: &str| arguments[key].as_i64().unwrap();
            if bound == Bound::AsItWas {
                use before::fixture::*;
                let fixture = Fixture::with(calls);
                return match tool {
                    "add" => said(fixture.add(FixtureAddParams::new(Some(number("a")), number("b"))).await),
                    "make_report" => said(fixture.make_report(FixtureMakeReportParams::default()).await),
                    other => panic!("no step calls `{other}`"),
                };
            }
            use fixture::*;
            let fixture = Fixture::with(calls);
            let text = |key: &str| arguments[key].as_str().unwrap().to_owned();
            match tool {
                "add" => said(fixture.add(FixtureAddParams::new(number("a"), number("b"))).await),
                "always_fails" => said(fixture.always_fails(FixtureAlwaysFailsParams::new(text("reason"))).await),
                "count_slowly" => {
                    let (steps, pause) = (number("steps").try_into().unwrap(), number("pause_ms").try_into().unwrap());
                    said(fixture.count_slowly(FixtureCountSlowlyParams::new(steps, pause)).await)
                }
                "echo_arguments" => {
                    said(fixture.echo_arguments(FixtureEchoArgumentsParams::new(text("text"), None)).await)
                }
                "list_labels" => said(fixture.list_labels(FixtureListLabelsParams::default()).await),
                "make_report" => said(fixture.make_report(FixtureMakeReportParams::default()).await),
                other => panic!("no step calls `{other}`"),
            }
        }
    })
}

async fn parsed(behind: Behind) -> Caller {
    let (client, calls) = behind.calls();
    let bound = behind.bound;
    Caller::new(client, move |tool, arguments| {
        let calls = calls.clone();
        async move {
            let name = format!("fixture_{tool}");
            match bound {
                Bound::AsItIs => said(fixture::FixtureCall::parse(&name, arguments).unwrap().call(&calls).await),
                Bound::AsItWas => {
                    said(before::fixture::FixtureCall::parse(&name, arguments).unwrap().call(&calls).await)
                }
            }
        }
    })
}

async fn untyped(behind: Behind) -> Caller {
    let (client, calls) = behind.calls();
    Caller::new(client, move |tool, arguments| {
        let calls = calls.clone();
        async move {
            let call = ToolCall::new("fixture", tool, object(arguments));
            said(calls.call_tool(call).await.and_then(mcp_bindgen::ToolResult::success))
        }
    })
}

fn replied(reply: ToolReply) -> Outcome {
    if reply.success { Ok(()) } else { Err(reply.message) }
}

fn through_toolset<F>(
    client: Client,
    toolset: &Toolset,
    call: impl Fn(String, Value) -> F + Send + Sync + 'static,
) -> Caller
where
    F: Future<Output = ToolReply> + Send + 'static,
{
    let listed = Some(toolset.names().map(str::to_owned).collect());
    let caller = Caller::new(client, move |tool, arguments| {
        let called = call(format!("fixture_{tool}"), arguments);
        async move { replied(called.await) }
    });
    Caller { listed, ..caller }
}

fn dispatching(client: Client, toolset: Toolset) -> Caller {
    through_toolset(client, &toolset.clone(), move |name, arguments| {
        let toolset = toolset.clone();
        async move { toolset.dispatch(&name, arguments).await }
    })
}

/// All that the bindings know, and what calls it.
fn of_bindings(behind: &Behind) -> (Client, Toolset) {
    let (client, calls) = behind.calls();
    (client, Toolset::builder().bindings(behind.spec(), calls).build().unwrap())
}

async fn bound_toolset(behind: Behind) -> Caller {
    let (client, toolset) = of_bindings(&behind);
    dispatching(client, toolset)
}

async fn toolset(behind: Behind) -> Caller {
    let (client, calls) = behind.calls();
    let toolset = Toolset::builder().server("fixture", &behind.snapshot().tools, calls).build().unwrap();
    dispatching(client, toolset)
}

async fn turn(behind: Behind) -> Caller {
    let (client, toolset) = of_bindings(&behind);
    through_toolset(client, &toolset.clone(), move |name, arguments| {
        let toolset = toolset.clone();
        async move {
            let answers = toolset.turn(vec![ModelCall::new("1", name, arguments)]).await;
            answers[0].reply.clone()
        }
    })
}

async fn deferred(behind: Behind) -> Caller {
    let (client, toolset) = of_bindings(&behind);
    through_toolset(client, &toolset.clone(), move |name, arguments| {
        let deferred = toolset.deferred();
        async move { deferred.dispatch("call_tool", json!({ "name": name, "arguments": arguments })).await }
    })
}

async fn sections(behind: Behind) -> Caller {
    let (client, calls) = behind.calls();
    let server = SectionServer::bound(behind.spec(), calls).snapshot(behind.snapshot());
    let prompt = Prompt::new().section(Section::new("fixture", "Fixture").server(server)).build().unwrap();
    let rendered = prompt.render(&PromptParams::new(), &PromptState::new()).unwrap();
    let (toolset, failed) = rendered.toolset().await.unwrap();
    assert!(failed.is_empty(), "{failed:?}");
    dispatching(client, toolset)
}

async fn template(behind: Behind, read: fn(&'static str, &str) -> Result<Template, TemplateError>) -> Caller {
    let (client, toolset) = of_bindings(&behind);
    let listed = Some(toolset.names().map(str::to_owned).collect());
    let caller = Caller::new(client, move |tool, arguments| {
        let toolset = toolset.clone();
        async move {
            let arguments = object(arguments).into_iter().map(|(name, value)| format!(", \"{name}\"={value}"));
            let arguments: String = arguments.collect();
            let text = format!("[[@mcp:result|server=\"fixture\", tool=\"{tool}\"{arguments}]]");
            let template = read("doors.md", &text).unwrap();
            template.run(&toolset).await.map(drop).map_err(|error| error.to_string())
        }
    });
    Caller { listed, ..caller }
}

/// A client of another program, which has nothing but what the proxy serves.
async fn proxy(behind: Behind, version: &str) -> Caller {
    let Behind { site, layers, bound, approver } = behind;
    let builder = match bound {
        Bound::AsItIs => Proxy::builder().server_with(site.config.clone(), move |client| layers(client)),
        // It is the snapshot that says what the server was.
        Bound::AsItWas => {
            Proxy::builder().connecting("fixture", move |options| site.client(options), move |client| layers(client))
        }
    };
    let proxy = builder.build().unwrap();
    let (near, far) = tokio::io::duplex(64 * 1024);
    let serving = proxy.clone();
    let served = tokio::spawn(async move { serving.serve_over(far).await });
    let options = ClientOptions::new().protocol_version(version);
    let options = match approver {
        Approver::Nobody => options,
        Approver::Yes => {
            options.on_elicitation(async |_| ElicitationAnswer::Accept(object(json!({ "approve": true }))))
        }
        Approver::No => options.on_elicitation(async |_| ElicitationAnswer::Decline),
    };
    let (read, write) = tokio::io::split(near);
    let client = Client::over_with_options("proxy", read, write, options);
    assert_eq!(client.declared().await.unwrap().protocol_version, version);
    let listed = client.list_tools_raw().await.unwrap();
    let listed = Some(listed.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect());
    let caller = client.clone();
    let close = move || -> Later<()> {
        Box::pin(async move {
            client.close().await;
            served.await.unwrap().unwrap();
            proxy.close().await;
        })
    };
    let opened = Caller::new(caller.clone(), move |tool, arguments| {
        let client = caller.clone();
        async move {
            let result = client.call(format!("fixture_{tool}"), object(arguments)).await;
            said(result.and_then(mcp_bindgen::ToolResult::success))
        }
    });
    Caller { listed, close: Box::new(close), ..opened }
}
