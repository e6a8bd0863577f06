//! The connection to Redis: one, shared by all requests, and replaced when lost.
//!
//! While Redis is unavailable every call fails at once, and a task reconnects. A call without an
//! answer in time counts as a lost connection. It may have been executed or not, but never partly:
//! each call is one script.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, FromRedisValue, InfoDict, IntoConnectionInfo};
use redis::{RedisError, RedisResult, Script, cmd};

use crate::api_error::{ApiError, unavailable};

/// Time limit for an answer or a connection.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// First pause between attempts to reconnect; it doubles each time up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// A failed attempt is cheap, and a longer pause would extend the outage.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// A connection, and the server at its other end.
#[derive(Debug, Clone)]
pub(super) struct LiveConnection {
    connection: MultiplexedConnection,
    /// Identifies one run of one Redis: another run may have lost its last changes.
    pub(super) run: Arc<str>,
    /// Version as Redis reports it, `7.0.15`.
    pub(super) version: Arc<str>,
    /// Whether Redis appends each change to a file.
    pub(super) is_appending: bool,
}

#[derive(Debug)]
enum ConnectionState {
    Up(LiveConnection),
    Away(ApiError),
}

/// State shared by all users of one Redis.
#[derive(Debug)]
pub(super) struct RedisConnection {
    client: Client,
    state: Mutex<ConnectionState>,
    me: Weak<RedisConnection>,
}

impl RedisConnection {
    /// Connects to an address such as `redis://127.0.0.1:6379/0`.
    ///
    /// Errors: `UNAVAILABLE` if the address is invalid or does not answer
    pub(super) async fn connect(url: &str) -> Result<Arc<Self>, ApiError> {
        // The message omits the address: it may contain a password.
        let unusable = |error| unavailable(format!("the address of Redis: {error}"));
        let info = url.into_connection_info().map_err(unusable)?;
        // Many requests share the connection, so none should wait for another's answer.
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        let client = Client::open(info).map_err(unusable)?;
        let live = reach(&client).await.map_err(|error| away(&client, &error))?;
        let state = Mutex::new(ConnectionState::Up(live));
        Ok(Arc::new_cyclic(|me| Self { client, state, me: me.clone() }))
    }

    /// The address of Redis, as `127.0.0.1:6379`.
    pub(super) fn address(&self) -> String {
        self.client.get_connection_info().addr().to_string()
    }

    /// The current connection.
    ///
    /// Errors: `UNAVAILABLE` while there is none
    pub(super) fn live(&self) -> Result<LiveConnection, ApiError> {
        match &*self.state() {
            ConnectionState::Up(live) => Ok(live.clone()),
            ConnectionState::Away(error) => Err(error.clone()),
        }
    }

    /// Runs a script on a connection.
    pub(super) async fn run<T: FromRedisValue>(
        &self,
        live: &LiveConnection,
        script: &Script,
        keys: &[&str],
        arguments: &[&str],
    ) -> Result<T, ApiError> {
        let mut call = script.prepare_invoke();
        call.key(keys).arg(arguments);
        let answer = call.invoke_async(&mut live.connection.clone()).await;
        answer.map_err(|error| self.failed(live, &error))
    }

    /// Reads some fields of a hash, and returns the next cursor; start with cursor 0, and stop when
    /// it is 0 again.
    pub(super) async fn scan(
        &self,
        live: &LiveConnection,
        hash: &str,
        cursor: u64,
    ) -> Result<(u64, Vec<(String, Vec<u8>)>), ApiError> {
        let mut call = cmd("HSCAN");
        call.arg(hash).arg(cursor).arg("COUNT").arg(1_000);
        let answer = call.query_async(&mut live.connection.clone()).await;
        answer.map_err(|error| self.failed(live, &error))
    }

    /// The API error for a failed call; also gives up a broken connection.
    fn failed(&self, live: &LiveConnection, error: &RedisError) -> ApiError {
        let lost = away(&self.client, error);
        if error.is_io_error() || error.is_unrecoverable_error() {
            self.mark_lost(live, lost.clone());
        }
        lost
    }

    /// Gives a connection up, once, and starts to reconnect.
    fn mark_lost(&self, lost: &LiveConnection, why: ApiError) {
        let mut state = self.state();
        let is_ours =
            matches!(&*state, ConnectionState::Up(live) if Arc::ptr_eq(&live.run, &lost.run));
        if is_ours {
            *state = ConnectionState::Away(why);
            tokio::spawn(reconnect(self.me.clone(), self.client.clone()));
        }
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Retries until Redis answers or the last user has gone.
async fn reconnect(connection: Weak<RedisConnection>, client: Client) {
    let mut pause = FIRST_PAUSE;
    while connection.strong_count() > 0 {
        let reached = reach(&client).await;
        let Some(connection) = connection.upgrade() else { return };
        match reached {
            Ok(live) => {
                *connection.state() = ConnectionState::Up(live);
                return;
            }
            Err(error) => *connection.state() = ConnectionState::Away(away(&client, &error)),
        }
        drop(connection);
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

async fn reach(client: &Client) -> RedisResult<LiveConnection> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    let about: InfoDict = cmd("INFO").query_async(&mut connection).await?;
    let fact = |key| about.get::<String>(key).unwrap_or_default();
    let (run, version) = (fact("run_id").into(), fact("redis_version").into());
    Ok(LiveConnection { connection, run, version, is_appending: fact("aof_enabled") == "1" })
}

fn away(client: &Client, error: &RedisError) -> ApiError {
    let address = client.get_connection_info().addr();
    let what = if error.is_io_error() { "does not answer" } else { "refuses" };
    unavailable(format!("the store, Redis at {address}, {what}: {error}"))
}
