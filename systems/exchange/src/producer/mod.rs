//! One process that answers over all three ways at once.
//!
//! `payloads` has the data, `settings` and `folder` what it is started with; `http`, `unix` and
//! `shm` answer, and `metrics` counts.

mod folder;
mod http;
mod metrics;
mod payloads;
mod settings;
mod shm;
mod unix;

use std::net::TcpListener;
use std::sync::Arc;

use serde_json::Value;
use serving::error::ServeError;
use serving::limits;
use serving::listener;
use serving::metrics::Registry;
use serving::options::Options;
use serving::ready::Ready;
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;

use self::folder::SocketFolder;
use self::metrics::{ClientMetrics, TransportMetrics};
use self::payloads::PayloadCache;
use self::settings::Configuration;
use self::shm::ChannelServer;
use self::unix::{ConnectionContext, UnixSocket};
use crate::race::{self, File};
use crate::request::Wanted;

/// Files of the sockets in their folder.
const UNIX: &str = "unix.socket";
const SHM: &str = "shm.socket";

/// A producer, which answers over three ways; `listening` has `http` (an address), `unix` and `shm` (paths).
pub const SYSTEM: System = System {
    name: "exchange-producer",
    about: "the producer of user records, by itself",
    page: "systems/exchange/README.md",
    surface: |_| Surface { listening: vec!["http", "unix", "shm"], ..Surface::default() },
    check: |options| settings::read(options).map(drop),
    start,
};

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || {
        let configuration = settings::read(options)?;
        let listener = listener::bind(options.listen)?;
        Ok((configuration.threads, ProducerServer::open(&configuration, listener)?))
    };
    start::run(stop, prepare, async |house: ProducerServer, stop| house.serve(stop, announce).await)
}

/// The system's error; the caller adds what it was doing.
fn channel_error(error: shm_channel::Error) -> std::io::Error {
    match error {
        shm_channel::Error::Io { source, .. } => source,
        error => std::io::Error::other(error),
    }
}

/// All that a producer has opened; its fields are closed in their order.
struct ProducerServer {
    registry: Registry,
    cache: Arc<PayloadCache>,
    users: u32,
    race: Option<File>,
    limits: limits::Limits,
    effective: Value,
    listener: TcpListener,
    socket: UnixSocket,
    shm: ChannelServer,
    // After all that is in it.
    folder: SocketFolder,
}

impl ProducerServer {
    fn open(configuration: &Configuration, listener: TcpListener) -> Result<Self, ServeError> {
        let Configuration { users, seed, limits, .. } = *configuration;
        let registry = Registry::default();
        let (prepared, answers) = (configuration.max_prepared, configuration.max_answers);
        let cache = Arc::new(PayloadCache::new(seed, prepared, answers));
        // What will be asked for most is there when the first asks for it.
        cache.prepared(Wanted::Users(users));
        let folder = SocketFolder::open(configuration.folder.as_deref())
            .map_err(ServeError::while_doing("make the folder of the sockets"))?;
        let socket = UnixSocket::open(&folder.file(UNIX))
            .map_err(channel_error)
            .map_err(ServeError::while_doing("listen on the Unix socket"))?;
        let settings = configuration.shm.clone();
        let shm = ChannelServer::start(&folder.file(SHM), settings, &cache, &registry)
            .map_err(channel_error)
            .map_err(ServeError::while_doing("open the channel"))?;
        let race = configuration.file_race.then(|| File::at(folder.file(race::NAME)));
        let effective = configuration.effective();
        Ok(Self { registry, cache, users, race, limits, effective, listener, socket, shm, folder })
    }

    async fn serve(self, stop: Stop, announce: impl FnOnce(&Ready)) -> Result<(), ServeError> {
        let Self { registry, cache, limits, listener, socket, shm, folder, .. } = self;
        let address = listener::address(&listener)?;
        let api = http::Api {
            cache: cache.clone(),
            users: self.users,
            figures: TransportMetrics::new(&registry, "http"),
            clients: ClientMetrics::new(&registry),
            shm: shm.producer(),
            race: self.race.clone(),
        };
        let figures = TransportMetrics::new(&registry, "unix");
        let open = registry.gauge("unix_connections", "Open connections of the Unix socket.");
        let shared = ConnectionContext { cache, figures, open, limits };
        announce(
            &Ready::new(SYSTEM.name, self.effective)
                .listening("http", address)
                .listening("unix", folder.file(UNIX).display())
                .listening("shm", folder.file(SHM).display()),
        );
        let over_http = serving::http::serve(listener, api, limits, registry, stop.clone());
        let over_unix = unix::serve(socket, shared, stop.clone());
        let (over_http, over_unix, ()) = tokio::join!(over_http, over_unix, shm.until(stop));
        if let Some(file) = self.race {
            // Unread files; if they cannot be removed, the folder stays as well.
            let _ = file.remove();
        }
        drop(folder);
        over_http.and(over_unix).map_err(ServeError::while_doing("serve"))
    }
}
