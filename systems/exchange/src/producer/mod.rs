//! One process that answers over all three ways at once.
//!
//! `shelf` has the payloads, `settings` and `folder` what it is started with; `http`, `unix` and
//! `shm` answer, and `figures` counts.

mod figures;
mod folder;
mod http;
mod settings;
mod shelf;
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

use self::figures::{Clients, Figures};
use self::folder::Folder;
use self::settings::Configuration;
use self::shelf::Shelf;
use self::shm::Served;
use self::unix::{Door, Shared};
use crate::ask::What;
use crate::race::{self, File};

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
        Ok((configuration.threads, House::open(&configuration, listener)?))
    };
    start::run(stop, prepare, async |house: House, stop| house.serve(stop, announce).await)
}

/// What the system said, of which its caller tells what was being done.
fn of_the_channel(error: shm_channel::Error) -> std::io::Error {
    match error {
        shm_channel::Error::Io { source, .. } => source,
        error => std::io::Error::other(error),
    }
}

/// All that a producer has opened; its fields are closed in their order.
struct House {
    registry: Registry,
    shelf: Arc<Shelf>,
    users: u32,
    race: Option<File>,
    limits: limits::Limits,
    effective: Value,
    listener: TcpListener,
    door: Door,
    shm: Served,
    // After all that is in it.
    folder: Folder,
}

impl House {
    fn open(configuration: &Configuration, listener: TcpListener) -> Result<Self, ServeError> {
        let Configuration { users, seed, limits, .. } = *configuration;
        let registry = Registry::default();
        let (prepared, answers) = (configuration.max_prepared, configuration.max_answers);
        let shelf = Arc::new(Shelf::new(seed, prepared, answers));
        // What will be asked for most is there when the first asks for it.
        shelf.prepared(What::Users(users));
        let folder = Folder::open(configuration.folder.as_deref())
            .map_err(ServeError::while_doing("make the folder of the sockets"))?;
        let door = Door::open(&folder.file(UNIX))
            .map_err(of_the_channel)
            .map_err(ServeError::while_doing("listen on the Unix socket"))?;
        let settings = configuration.shm.clone();
        let shm = Served::start(&folder.file(SHM), settings, &shelf, &registry)
            .map_err(of_the_channel)
            .map_err(ServeError::while_doing("open the channel"))?;
        let race = configuration.file_race.then(|| File::at(folder.file(race::NAME)));
        let effective = configuration.effective();
        Ok(Self { registry, shelf, users, race, limits, effective, listener, door, shm, folder })
    }

    async fn serve(self, stop: Stop, announce: impl FnOnce(&Ready)) -> Result<(), ServeError> {
        let Self { registry, shelf, limits, listener, door, shm, folder, .. } = self;
        let address = listener::address(&listener)?;
        let api = http::Api {
            shelf: shelf.clone(),
            users: self.users,
            figures: Figures::new(&registry, "http"),
            clients: Clients::new(&registry),
            shm: shm.producer(),
            race: self.race.clone(),
        };
        let figures = Figures::new(&registry, "unix");
        let open = registry.gauge("unix_connections", "Open connections of the Unix socket.");
        let shared = Shared { shelf, figures, open, limits };
        announce(
            &Ready::new(SYSTEM.name, self.effective)
                .listening("http", address)
                .listening("unix", folder.file(UNIX).display())
                .listening("shm", folder.file(SHM).display()),
        );
        let over_http = serving::http::serve(listener, api, limits, registry, stop.clone());
        let over_unix = unix::serve(door, shared, stop.clone());
        let (over_http, over_unix, ()) = tokio::join!(over_http, over_unix, shm.until(stop));
        if let Some(file) = self.race {
            // What nobody came to read; where it cannot go, the folder stays as well.
            let _ = file.remove();
        }
        drop(folder);
        over_http.and(over_unix).map_err(ServeError::while_doing("serve"))
    }
}
