//! Puts a front together: a producer, the ways to it, and HTTP over them.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use serving::error::ServeError;
use serving::limits;
use serving::listener;
use serving::metrics::Registry;
use serving::options::Options;
use serving::ready::{Process, Ready};
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;
use serving::supervisor::ChildState;

use super::handler::{Transports, UsersHandler};
use super::producer_process::{ProducerAddresses, ProducerProcess};
use super::settings::{self, Configuration, Source};
use super::times::PARTS;
use crate::race;
use crate::transports::{Http, Shm, Unix};

/// A front, and a producer beside it unless one is named.
pub const SYSTEM: System = System {
    name: "exchange",
    about: "user records from a producer, behind a front that asks it over HTTP, a Unix socket or shared memory",
    page: "systems/exchange/README.md",
    surface,
    check: |options| settings::read(options).map(drop),
    start,
};

fn surface(options: &Options) -> Surface {
    let given = |key: &str| options.settings.get(key).is_some_and(|text| text != "");
    // Where it is given the places of a producer that runs already, it starts none.
    let is_elsewhere = ["http", "unix", "shm"].into_iter().any(given);
    Surface {
        listening: vec!["http", "producer", "unix", "shm"],
        processes: if is_elsewhere { Vec::new() } else { vec!["producer"] },
        parts: PARTS.into(),
        ..Surface::default()
    }
}

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || {
        let configuration = settings::read(options)?;
        Ok((configuration.threads, (configuration, listener::bind(options.listen)?)))
    };
    start::run(stop, prepare, async |(configuration, listener), stop| {
        let registry = Registry::default();
        let producer = match &configuration.source {
            Source::Own(spec) => {
                let process = ProducerProcess::start(spec.clone(), &registry).await;
                Producer::Own(process.map_err(ServeError::while_doing("start the producer"))?)
            }
            Source::Elsewhere(addresses) => Producer::Elsewhere(addresses.clone()),
        };
        let ready = ready(&configuration, &producer, &listener)?;
        let endpoint = HttpEndpoint { listener, registry, stop };
        let served = converse(&configuration, &producer, endpoint, || {
            announce(&ready);
        })
        .await;
        // After the front, which may still have to answer.
        if let Producer::Own(own) = producer {
            own.stop().await;
        }
        served.map_err(ServeError::while_doing("serve"))
    })
}

/// The producer, once it is ready.
enum Producer {
    Own(ProducerProcess),
    Elsewhere(ProducerAddresses),
}

impl Producer {
    fn addresses(&self) -> &ProducerAddresses {
        match self {
            Self::Own(own) => &own.addresses,
            Self::Elsewhere(addresses) => addresses,
        }
    }

    fn state(&self) -> Arc<ChildState> {
        match self {
            Self::Own(own) => Arc::clone(&own.supervisor.state),
            Self::Elsewhere(_) => ChildState::unknown(),
        }
    }
}

/// The listener and what belongs to it.
struct HttpEndpoint {
    listener: TcpListener,
    registry: Registry,
    stop: Stop,
}

async fn converse(
    configuration: &Configuration,
    producer: &Producer,
    endpoint: HttpEndpoint,
    announce: impl FnOnce(),
) -> std::io::Result<()> {
    let HttpEndpoint { listener, registry, stop } = endpoint;
    let Configuration { policy, connections, spin, race, limits, .. } = configuration;
    let addresses = producer.addresses();
    let (http, unix) =
        (Http::new(addresses.http, *connections), Unix::new(&addresses.unix, *connections));
    let state = producer.state();
    announce();
    match race {
        None => {
            let shm = Shm::new(&addresses.shm, *spin);
            let handler =
                UsersHandler::new(Transports { http, unix, shm }, *policy, state, &registry);
            serving::http::serve(listener, handler, *limits, registry, stop).await
        }
        Some(hold) => {
            let folder = addresses.unix.parent().unwrap_or(Path::new("."));
            let shm =
                race::Reader::new(addresses.http, race::File::at(folder.join(race::NAME)), *hold);
            let handler =
                UsersHandler::new(Transports { http, unix, shm }, *policy, state, &registry);
            serving::http::serve(listener, handler, *limits, registry, stop).await
        }
    }
}

fn ready(
    configuration: &Configuration,
    producer: &Producer,
    listener: &TcpListener,
) -> Result<Ready, ServeError> {
    let address = listener::address(listener)?;
    let ProducerAddresses { http, unix, shm } = producer.addresses();
    let effective = effective(configuration, producer, listener);
    let mut ready = Ready::new(SYSTEM.name, effective)
        .listening("http", address)
        .listening("producer", http)
        .listening("unix", unix.display())
        .listening("shm", shm.display());
    if let Producer::Own(own) = producer {
        ready.processes.push(Process { name: "producer".to_owned(), pid: own.supervisor.pid });
    }
    Ok(ready)
}

fn effective(configuration: &Configuration, producer: &Producer, listener: &TcpListener) -> Value {
    let Configuration { policy, connections, spin, race, threads, limits, .. } = configuration;
    json!({
        "users": policy.users,
        "deadline_ns": policy.deadline.as_nanos() as u64,
        "reencode": policy.reencodes,
        "max_answers_bytes": policy.room,
        "connections": connections,
        "spin_ns": spin.as_nanos() as u64,
        "file_race": race.is_some(),
        "race_hold_ns": race.unwrap_or_default().as_nanos() as u64,
        "threads": threads,
        "limits": limits,
        "backlog": listener::backlog(listener).ok(),
        "open_files": limits::open_files(),
        "producer": match producer {
            Producer::Own(own) => own.supervisor.effective(),
            Producer::Elsewhere(_) => json!("elsewhere"),
        },
    })
}
