//! The connection to NATS, and what the servers must have.

use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::object_store::{self, ObjectStore};
use async_nats::jetstream::{self, stream};
use tokio::io::AsyncReadExt;

use crate::protocol::{report_subject, store_name};

/// Time limit for the first connection, and for one exchange with a server.
pub const WITHIN: Duration = Duration::from_secs(10);
/// Bytes of all reports of a run that servers keep; windows take some kilobytes a second and agent.
const REPORTS_LIMIT: i64 = 256 << 20;
/// Bytes of all files and facts of a run.
const OBJECTS_LIMIT: i64 = 256 << 20;
/// After this time, servers forget a run whose coordinator did not come back.
const KEPT: Duration = Duration::from_hours(24);

/// What keeps a fleet from working.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct FleetError {
    /// One sentence.
    pub what: String,
    /// One thing to do, if one is known.
    pub hint: Option<String>,
}

impl FleetError {
    /// Without a hint.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    /// With one thing to do.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Connects to the servers of one cluster: `nats://user:password@host:port`, separated by commas.
///
/// Errors: an address is wrong, none answers, or they refuse the credentials
pub async fn connect(servers: &str, name: &str) -> Result<Client, FleetError> {
    let shown = nats_address::shown(servers);
    let (addresses, options) = nats_address::read(servers).map_err(|_| {
        FleetError::new(format!("{shown} is no address of NATS"))
            .hint("write nats://host:4222, with user:password@ before the host if it needs them")
    })?;
    let options = options.name(name).connection_timeout(WITHIN).max_reconnects(None);
    options.connect(addresses).await.map_err(|error| {
        let error = error.to_string();
        let hint = hint(&error);
        FleetError::new(format!("cannot connect to NATS at {shown}: {error}")).hint(hint)
    })
}

/// What to do about a connection that failed like this.
fn hint(error: &str) -> &'static str {
    if error.contains("authorization") {
        "give user and password, or a token: nats://user:password@host:4222, nats://token@host:4222"
    } else if error.contains("certificate") {
        "let SSL_CERT_FILE name a file with the authority that signed the certificate of the server, and use the name for which it was signed"
    } else {
        "start `nats-server -js`, or name another address with `--via`"
    }
}

/// The reports and objects of a run.
pub struct RunStore {
    /// With acknowledgements and streams.
    pub context: jetstream::Context,
    /// Files and facts.
    pub objects: ObjectStore,
}

impl RunStore {
    /// Makes those of a new run.
    ///
    /// Errors: the servers have no JetStream, or refuse
    pub async fn create(client: &Client, fleet: &str, run: &str) -> Result<Self, FleetError> {
        let context = jetstream::new(client.clone());
        let reports = stream::Config {
            name: store_name(run),
            subjects: vec![report_subject(fleet, run)],
            max_bytes: REPORTS_LIMIT,
            max_age: KEPT,
            duplicate_window: Duration::from_mins(10),
            ..stream::Config::default()
        };
        context.create_stream(reports).await.map_err(|error| without_jetstream(&error))?;
        let bucket = object_store::Config {
            bucket: store_name(run),
            max_age: KEPT,
            max_bytes: OBJECTS_LIMIT,
            ..object_store::Config::default()
        };
        let objects = context.create_object_store(bucket).await;
        Ok(Self { objects: objects.map_err(|error| without_jetstream(&error))?, context })
    }

    /// Those of a run that exists.
    ///
    /// Errors: it does not exist, or the servers refuse
    pub async fn open(client: &Client, run: &str) -> Result<Self, FleetError> {
        let context = jetstream::new(client.clone());
        let objects = context.get_object_store(store_name(run)).await;
        Ok(Self { objects: objects.map_err(|error| without_jetstream(&error))?, context })
    }

    /// Removes everything of the run from the servers.
    pub async fn remove(&self, run: &str) {
        // What cannot be removed now goes when it is old.
        let _ = self.context.delete_object_store(store_name(run)).await;
        let _ = self.context.delete_stream(store_name(run)).await;
    }

    /// Reads an object.
    ///
    /// Errors: it is not there, or is cut off
    pub async fn read(&self, name: &str) -> Result<Vec<u8>, FleetError> {
        let failed = |why: &dyn std::fmt::Display| {
            FleetError::new(format!("cannot read {name} from the object store: {why}"))
        };
        let mut object = self.objects.get(name).await.map_err(|error| failed(&error))?;
        let mut bytes = Vec::new();
        object.read_to_end(&mut bytes).await.map_err(|error| failed(&error))?;
        Ok(bytes)
    }

    /// Stores an object.
    ///
    /// Errors: the servers refuse it
    pub async fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FleetError> {
        let mut content = bytes;
        let stored = self.objects.put(name, &mut content).await;
        stored.map(|_| ()).map_err(|error| {
            FleetError::new(format!("cannot store {name} in the object store: {error}"))
        })
    }
}

fn without_jetstream(error: &dyn std::fmt::Display) -> FleetError {
    FleetError::new(format!("NATS cannot keep the reports of agents: {error}"))
        .hint("start the server with JetStream (`nats-server -js`), and allow the user to use it")
}
