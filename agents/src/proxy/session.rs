//! The conversation with one client.

use rmcp::model::{
    ClientNotification, ClientRequest, ErrorCode, ErrorData, ServerCapabilities, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, Service};

/// What speaks with one client.
#[derive(Debug)]
pub(crate) struct Session {}

impl Service<RoleServer> for Session {
    async fn handle_request(
        &self,
        _request: ClientRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "method not found", None))
    }

    async fn handle_notification(
        &self,
        _notification: ClientNotification,
        _context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::default())
    }
}
