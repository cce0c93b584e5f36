//! The conversation with one client.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, ErrorData, ProtocolVersion, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, Service};

use super::Shared;
use super::client_state::ClientState;
use super::requests::Request;

/// The session of one client. It is cheap to make: nothing is reached before something is asked for.
#[derive(Debug)]
pub(crate) struct Session {
    inner: Arc<ClientState>,
}

impl Session {
    pub(super) fn new(proxy: Arc<Shared>) -> Self {
        Self { inner: Arc::new(ClientState::new(proxy)) }
    }
}

impl Service<RoleServer> for Session {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let handler = Request::new(self.inner.clone());
        // rmcp checks requests; results bypass its types.
        let result = Service::handle_request(&handler, request, context).await?;
        Ok(match handler.into_raw() {
            Some(raw) => ServerResult::CustomResult(CustomResult::new(raw)),
            None => result,
        })
    }

    async fn handle_notification(
        &self,
        _notification: ClientNotification,
        _context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Cancellation is rmcp's, and of the rest nothing is for servers.
        Ok(())
    }

    fn get_info(&self) -> ServerConfig {
        self.inner.proxy.info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }
}
