//! Puts an edge together: the parts first, then the proxy before them; and ends it the other way round.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};
use serving::error::ServeError;
use serving::options::Options;
use serving::ready::{Process, Ready};
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;
use serving::supervisor::{ChildSpec, Supervisor};

use super::settings::{self, CASTS, Configuration};
use crate::{monitor, origin, proxy};

/// A proxy, an origin behind it unless `upstream` names one, and a monitor unless `cast_to` does.
pub const SYSTEM: System = System {
    name: "edge",
    about: "the proxy, an origin behind it and a monitor beside it, as one system",
    page: "systems/edge/README.md",
    surface,
    check: |options| settings::read(options).map(drop),
    start,
};

fn surface(options: &Options) -> Surface {
    let [origin, monitor] = settings::starts(&options.settings);
    let listening = [(true, "http"), (origin, "origin"), (monitor, "monitor"), (monitor, "casts")];
    let there = |(is_there, name): (bool, &'static str)| if is_there { Some(name) } else { None };
    Surface {
        listening: listening.into_iter().filter_map(there).collect(),
        processes: [(origin, "origin"), (monitor, "monitor")]
            .into_iter()
            .filter_map(there)
            .collect(),
        // The observer and the part that it asks have one name.
        counts: [&monitor::ledger::COUNTS[..], &origin::tally::COUNTS].concat(),
        parts: proxy::PARTS.into(),
        // Another upstream may report its own.
        other_parts: !origin,
    }
}

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || {
        let configuration = settings::read(options)?;
        // Before anything is started: an address that is taken is the likeliest reason not to serve.
        let bound = proxy::Bound::take(options.listen, &configuration.proxy)?;
        Ok((configuration.proxy.threads, (configuration, bound)))
    };
    start::run(stop, prepare, async |(configuration, bound), stop| {
        let parts = Parts::start(&configuration, &bound).await?;
        let served = converse(&configuration, &parts, bound, stop, announce).await;
        // After the proxy, whose last answers and casts they still take.
        parts.stop().await;
        served
    })
}

/// The parts that were started.
struct Parts {
    origin: Option<Supervisor>,
    monitor: Option<Supervisor>,
}

impl Parts {
    /// Starts the configured parts. If the monitor cannot start, the origin is stopped again.
    async fn start(
        configuration: &Configuration,
        bound: &proxy::Bound,
    ) -> Result<Self, ServeError> {
        let origin = started(configuration.origin.as_ref(), bound, nothing).await;
        let origin = origin.map_err(ServeError::while_doing("start the origin"))?;
        let monitor = started(configuration.monitor.as_ref(), bound, place).await;
        match monitor.map_err(ServeError::while_doing("start the monitor")) {
            Ok(monitor) => Ok(Self { origin, monitor }),
            Err(error) => {
                Self { origin, monitor: None }.stop().await;
                Err(error)
            }
        }
    }

    /// One of a part's addresses; `None` if the part runs elsewhere.
    fn listening<'a>(
        part: Option<&'a Supervisor>,
        kind: &str,
    ) -> Result<Option<&'a str>, ServeError> {
        let place = part.map(|part| part.listening(kind)).transpose();
        place.map_err(ServeError::while_doing("find a part"))
    }

    /// Each that there is, by its name.
    fn list(&self) -> impl Iterator<Item = (&'static str, &Supervisor)> {
        let named = [(origin::SYSTEM.name, &self.origin), (monitor::SYSTEM.name, &self.monitor)];
        named.into_iter().filter_map(|(name, part)| Some((name, part.as_ref()?)))
    }

    /// Stops both at a time: the parent of this process allows a few seconds for all of it.
    async fn stop(self) {
        let end = async |part: Option<Supervisor>| {
            if let Some(part) = part {
                part.stop().await;
            }
        };
        tokio::join!(end(self.origin), end(self.monitor));
    }
}

/// Starts a part, if it is configured to be a child of this process.
async fn started(
    part: Option<&ChildSpec>,
    bound: &proxy::Bound,
    lasting: fn(&Value) -> io::Result<Lasting>,
) -> io::Result<Option<Supervisor>> {
    let Some(spec) = part else { return Ok(None) };
    let restarts = bound.restarts(spec.system);
    Supervisor::start(spec.clone(), restarts, lasting).await.map(Some)
}

/// Settings of a restarted part.
type Lasting = BTreeMap<String, Value>;

/// A restarted origin has the settings that it had, and no recipe that was added since.
fn nothing(_: &Value) -> io::Result<Lasting> {
    Ok(Lasting::new())
}

/// A monitor comes back where casters look for it.
fn place(ready: &Value) -> io::Result<Lasting> {
    Ok([(CASTS.to_owned(), ready["listening"]["casts"].clone())].into())
}

async fn converse(
    configuration: &Configuration,
    parts: &Parts,
    bound: proxy::Bound,
    stop: Stop,
    announce: Announce<'_>,
) -> Result<(), ServeError> {
    let origin = Parts::listening(parts.origin.as_ref(), "http")?;
    let casts = Parts::listening(parts.monitor.as_ref(), "casts")?;
    // Where there is no origin of ours, the settings name one.
    let proxy = configuration.before(origin.unwrap_or_default(), casts)?;
    let mut effective = proxy.effective();
    let mut ready = Ready::new(SYSTEM.name, Value::Null).listening("http", bound.address()?);
    // The first process is this one, which does the proxy's work.
    proxy::SYSTEM.name.clone_into(&mut ready.processes[0].name);
    for (name, part) in parts.list() {
        effective[name] = part.effective();
        let place = Parts::listening(Some(part), "http")?;
        ready.listening.extend(place.map(|place| (name.to_owned(), place.to_owned())));
        ready.processes.push(Process { name: name.to_owned(), pid: part.pid });
    }
    ready.listening.extend(casts.map(|casts| ("casts".to_owned(), casts.to_owned())));
    for name in [origin::SYSTEM.name, monitor::SYSTEM.name] {
        if effective[name].is_null() {
            effective[name] = json!("elsewhere");
        }
    }
    ready.effective = effective;
    proxy::serve(&proxy, bound, stop, || announce(&ready)).await
}
