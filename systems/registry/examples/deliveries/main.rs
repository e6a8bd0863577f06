//! Measures the throughput of buses. Each role runs in its own process, so that its CPU time is
//! separate.
//!
//! `cargo run --release -p registry --example deliveries -- ROLE …`, where BUS is `embedded` (with
//! its receivers in the same process, over real WebSockets) or `nats://host:port`:
//!
//! - `listen BUS RECEIVERS` runs this many receivers on NATS until its standard input ends;
//! - `carry BUS RECEIVERS IDENTITIES SEMANTICS ABREAST SECONDS` sends to all identities of all
//!   receivers, ABREAST multicasts at a time;
//! - `fan BUS RECEIVERS SEMANTICS TARGETS,… SECONDS` sends one multicast after another, to each
//!   number of targets in turn;
//! - `bare BUS SUBJECTS BYTES SECONDS` publishes with the NATS client alone, to the subjects of as
//!   many receivers.
//!
//! Each writes lines of JSON. `benchmarks/run --only registry` combines them.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::Bytes;
use registry::bus::embedded::{self, Embedded};
use registry::bus::nats::{self, Nats};
use registry::bus::{Bus, Counts};
use registry::message::{Message, Semantics};
use serde_json::{Value, json};
use serving::stop::Stop;

mod measure;
mod receivers;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The arguments in order.
struct Arguments(std::iter::Skip<std::env::Args>);

impl Arguments {
    fn next(&mut self) -> Result<String, Failure> {
        self.0.next().ok_or_else(|| "more arguments are wanted".into())
    }

    fn count(&mut self) -> Result<usize, Failure> {
        Ok(self.next()?.parse()?)
    }

    fn seconds(&mut self) -> Result<Duration, Failure> {
        Ok(Duration::from_secs_f64(self.next()?.parse()?))
    }

    fn semantics(&mut self) -> Result<Semantics, Failure> {
        Ok(serde_json::from_value(Value::String(self.next()?))?)
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    serving::limits::raise_open_files();
    let mut words = Arguments(std::env::args().skip(1));
    let (role, bus) = (words.next()?, words.next()?);
    let seen = Arc::new(AtomicU64::new(0));
    match role.as_str() {
        "listen" => {
            let clients = receivers::on_nats(&bus, words.count()?, &seen).await?;
            print(&json!({ "receivers": clients.receivers }))?;
            // Waits until the other end is closed.
            tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()))
                .await??;
            clients.settle(&seen).await;
            print(&json!({ "received": seen.load(Ordering::Relaxed) }))
        }
        "bare" => {
            print(&measure::bare(&bus, words.count()?, words.count()?, words.seconds()?).await?)
        }
        "carry" | "fan" if bus == "embedded" => {
            let receivers = words.count()?;
            let (_stopper, stop) = Stop::pair();
            let settings = embedded::Settings::default();
            let bus = Embedded::new("bench", settings, Counts::default(), stop.clone());
            receivers::on_sockets(&bus, receivers, &seen, stop).await?;
            send(&role, bus, receivers, words).await
        }
        "carry" | "fan" => {
            let servers = bus;
            let settings = nats::Settings { servers: servers.clone(), ..Default::default() };
            let coordinator = format!("bench-{}", std::process::id());
            let bus = Nats::connect(&coordinator, settings, Counts::default()).await?;
            let receivers = words.count()?;
            receivers::until_known(&servers, &coordinator, receivers).await?;
            send(&role, bus, receivers, words).await
        }
        _ => Err("ROLE is one of listen, carry, fan, bare".into()),
    }
}

async fn send(
    role: &str,
    bus: impl Bus + Clone,
    receivers: usize,
    mut words: Arguments,
) -> Result<(), Failure> {
    if role == "carry" {
        let all = receivers * words.count()?;
        let (semantics, abreast) = (words.semantics()?, words.count()?);
        let length = words.seconds()?;
        print(&measure::carry(bus, targets(receivers, all), semantics, abreast, length).await)
    } else {
        let semantics = words.semantics()?;
        let sizes: Result<Vec<usize>, _> = words.next()?.split(',').map(str::parse).collect();
        print(&measure::fan(bus, receivers, semantics, &sizes?, words.seconds()?).await)
    }
}

fn print(line: &Value) -> Result<(), Failure> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// The first identities, receiver by receiver.
fn targets(receivers: usize, count: usize) -> Vec<Arc<str>> {
    (0..count).map(|number| format!("r{}-user-{number}", number % receivers).into()).collect()
}

fn message() -> Message {
    Message {
        id: "bench-0".into(),
        namespace: "bench".into(),
        content_type: "application/octet-stream".into(),
        payload: Bytes::from_static(&[0; 100]),
        sent_at: 1_763_700_000_000,
    }
}
