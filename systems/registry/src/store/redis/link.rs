//! The connection to Redis: one, shared by all that goes on at a time, and made anew when lost.
//!
//! While Redis is away every call fails at once, and a task of its own tries to reach it again. A
//! call that got no answer in time counts as a loss, too. What was asked may then have been done or
//! not, but never by halves: each call is one script.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, FromRedisValue, InfoDict, IntoConnectionInfo};
use redis::{RedisError, RedisResult, Script, cmd};

use crate::fault::Fault;

/// How long an answer, or a connection, may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// First pause between attempts to reach Redis again; doubled each time up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// An attempt where nobody listens costs next to nothing, and a longer pause is time away.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// A connection and whom it leads to.
#[derive(Debug, Clone)]
pub(super) struct Live {
    connection: MultiplexedConnection,
    /// One run of one Redis: another run may have lost its last changes.
    pub(super) run: Arc<str>,
    /// As Redis says it, `7.0.15`.
    pub(super) version: Arc<str>,
    /// Whether Redis appends each change to a file.
    pub(super) is_appending: bool,
}

#[derive(Debug)]
enum State {
    Up(Live),
    Away(Fault),
}

/// What all share who talk to one Redis.
#[derive(Debug)]
pub(super) struct Link {
    client: Client,
    state: Mutex<State>,
    me: Weak<Link>,
}

impl Link {
    /// Connects to an address such as `redis://127.0.0.1:6379/0`.
    ///
    /// Errors: `UNAVAILABLE` if the address is none or nobody answers there
    pub(super) async fn connect(url: &str) -> Result<Arc<Self>, Fault> {
        // The address itself is not told: it may hold a password.
        let unusable = |error| Fault::unavailable(format!("the address of Redis: {error}"));
        let info = url.into_connection_info().map_err(unusable)?;
        // Many share the connection: what one asks does not wait for the answers of the others.
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        let client = Client::open(info).map_err(unusable)?;
        let live = reach(&client).await.map_err(|error| away(&client, &error))?;
        let state = Mutex::new(State::Up(live));
        Ok(Arc::new_cyclic(|me| Self { client, state, me: me.clone() }))
    }

    /// Where Redis is, as `127.0.0.1:6379`.
    pub(super) fn address(&self) -> String {
        self.client.get_connection_info().addr().to_string()
    }

    /// The connection that there is now.
    ///
    /// Errors: `UNAVAILABLE` while there is none
    pub(super) fn live(&self) -> Result<Live, Fault> {
        match &*self.state() {
            State::Up(live) => Ok(live.clone()),
            State::Away(fault) => Err(fault.clone()),
        }
    }

    /// Runs a script on a connection.
    pub(super) async fn run<T: FromRedisValue>(
        &self,
        live: &Live,
        script: &Script,
        keys: &[&str],
        arguments: &[&str],
    ) -> Result<T, Fault> {
        let mut call = script.prepare_invoke();
        call.key(keys).arg(arguments);
        let answer = call.invoke_async(&mut live.connection.clone()).await;
        answer.map_err(|error| self.failed(live, &error))
    }

    /// Some fields of a hash and where to go on, beginning with cursor 0 and ending when it is 0
    /// again.
    pub(super) async fn scan(
        &self,
        live: &Live,
        hash: &str,
        cursor: u64,
    ) -> Result<(u64, Vec<(String, Vec<u8>)>), Fault> {
        let mut call = cmd("HSCAN");
        call.arg(hash).arg(cursor).arg("COUNT").arg(1_000);
        let answer = call.query_async(&mut live.connection.clone()).await;
        answer.map_err(|error| self.failed(live, &error))
    }

    /// What a failure means for whoever asked, and for the connection.
    fn failed(&self, live: &Live, error: &RedisError) -> Fault {
        let fault = away(&self.client, error);
        if error.is_io_error() || error.is_unrecoverable_error() {
            self.lose(live, fault.clone());
        }
        fault
    }

    /// Gives a connection up, once, and begins to seek another one.
    fn lose(&self, lost: &Live, why: Fault) {
        let mut state = self.state();
        let is_ours = matches!(&*state, State::Up(live) if Arc::ptr_eq(&live.run, &lost.run));
        if is_ours {
            *state = State::Away(why);
            tokio::spawn(seek(self.me.clone(), self.client.clone()));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tries until Redis answers, or until nobody wants to know any more.
async fn seek(link: Weak<Link>, client: Client) {
    let mut pause = FIRST_PAUSE;
    while link.strong_count() > 0 {
        let reached = reach(&client).await;
        let Some(link) = link.upgrade() else { return };
        match reached {
            Ok(live) => {
                *link.state() = State::Up(live);
                return;
            }
            Err(error) => *link.state() = State::Away(away(&client, &error)),
        }
        drop(link);
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

async fn reach(client: &Client) -> RedisResult<Live> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    let about: InfoDict = cmd("INFO").query_async(&mut connection).await?;
    let fact = |key| about.get::<String>(key).unwrap_or_default();
    let (run, version) = (fact("run_id").into(), fact("redis_version").into());
    Ok(Live { connection, run, version, is_appending: fact("aof_enabled") == "1" })
}

fn away(client: &Client, error: &RedisError) -> Fault {
    let address = client.get_connection_info().addr();
    let what = if error.is_io_error() { "does not answer" } else { "refuses" };
    Fault::unavailable(format!("the store, Redis at {address}, {what}: {error}"))
}
