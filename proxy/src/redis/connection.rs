//! A connection to one server or to a cluster.

use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::{Client, Cmd, FromRedisValue};

use super::RedisStateError;

const TIME_TO_CONNECT: Duration = Duration::from_secs(2);
const CLUSTER: &str = "+cluster://";

/// A connection that reopens automatically.
pub(super) struct Connection {
    link: Link,
    patience: Duration,
}

enum Link {
    Single(ConnectionManager),
    Cluster(ClusterConnection),
}

impl Connection {
    /// Opens a connection whose commands are answered within a time.
    pub(super) async fn open(url: &str, patience: Duration) -> Result<Self, RedisStateError> {
        let invalid = |_| RedisStateError::new("the URL is not valid");
        let link = if let Some((scheme, rest)) = url.split_once(CLUSTER) {
            // Commands are not retried automatically: a message that arrives twice would make two calls.
            let client = ClusterClientBuilder::new([format!("{scheme}://{rest}")])
                .retries(0)
                .connection_timeout(TIME_TO_CONNECT)
                .response_timeout(patience)
                .build()
                .map_err(invalid)?;
            Link::Cluster(client.get_async_connection().await?)
        } else {
            let config = ConnectionManagerConfig::new()
                .set_connection_timeout(Some(TIME_TO_CONNECT))
                .set_response_timeout(Some(patience))
                .set_number_of_retries(1)
                .set_max_delay(Duration::from_millis(500));
            Link::Single(Client::open(url).map_err(invalid)?.get_connection_manager_with_config(config).await?)
        };
        Ok(Self { link, patience })
    }

    /// Runs a command.
    pub(super) async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisStateError> {
        let run = async {
            match &self.link {
                Link::Single(manager) => command.query_async(&mut manager.clone()).await,
                Link::Cluster(connection) => command.query_async(&mut connection.clone()).await,
            }
        };
        match tokio::time::timeout(self.patience * 2, run).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(RedisStateError::new("no answer in time")),
        }
    }
}
