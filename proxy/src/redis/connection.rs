//! A connection to one server or to a cluster.

use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue};

use super::RedisStateError;

const PATIENCE: Duration = Duration::from_secs(2);
/// A connection that waits for messages.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const CLUSTER: &str = "+cluster://";

/// A connection that reopens automatically.
pub(super) enum Connection {
    Single { client: Box<Client>, manager: ConnectionManager },
    Cluster { client: Box<ClusterClient>, connection: ClusterConnection },
}

/// A connection for commands that wait.
pub(super) enum Waiting {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl Connection {
    pub(super) async fn open(url: &str) -> Result<Self, RedisStateError> {
        if let Some((scheme, rest)) = url.split_once(CLUSTER) {
            let url = format!("{scheme}://{rest}");
            let client = cluster(&url, PATIENCE)?;
            let connection = client.get_async_connection().await?;
            return Ok(Self::Cluster { client: Box::new(cluster(&url, LONGEST_WAIT)?), connection });
        }
        let client = Client::open(url).map_err(|_| RedisStateError::new("the URL is not valid"))?;
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE))
            .set_number_of_retries(1)
            .set_max_delay(Duration::from_millis(500));
        let manager = client.get_connection_manager_with_config(config).await?;
        Ok(Self::Single { client: Box::new(client), manager })
    }

    /// Runs a command.
    pub(super) async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisStateError> {
        let run = async {
            match self {
                Self::Single { manager, .. } => command.query_async(&mut manager.clone()).await,
                Self::Cluster { connection, .. } => command.query_async(&mut connection.clone()).await,
            }
        };
        match tokio::time::timeout(PATIENCE * 2, run).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(RedisStateError::new("no answer in time")),
        }
    }

    /// Opens a connection for commands that wait for up to a few seconds.
    pub(super) async fn waiting(&self) -> Result<Waiting, RedisStateError> {
        let opening = async {
            match self {
                Self::Single { client, .. } => {
                    let config = AsyncConnectionConfig::new()
                        .set_connection_timeout(Some(PATIENCE))
                        .set_response_timeout(Some(LONGEST_WAIT));
                    Ok(Waiting::Single(client.get_multiplexed_async_connection_with_config(&config).await?))
                }
                Self::Cluster { client, .. } => Ok(Waiting::Cluster(client.get_async_connection().await?)),
            }
        };
        let opened = tokio::time::timeout(PATIENCE * 2, opening).await;
        opened.unwrap_or_else(|_| Err(RedisStateError::new("no answer in time")))
    }
}

impl Waiting {
    pub(super) async fn run<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, RedisStateError> {
        Ok(match self {
            Self::Single(connection) => command.query_async(connection).await?,
            Self::Cluster(connection) => command.query_async(connection).await?,
        })
    }
}

// Commands are not retried automatically: a message that arrives twice would make two calls.
fn cluster(url: &str, patience: Duration) -> Result<ClusterClient, RedisStateError> {
    let builder = ClusterClientBuilder::new([url]).retries(0).connection_timeout(PATIENCE).response_timeout(patience);
    builder.build().map_err(|_| RedisStateError::new("the URL is not valid"))
}
