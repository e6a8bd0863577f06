//! Senders, and the times and outcomes that they see.

use std::sync::Arc;
use std::time::{Duration, Instant};

use registry::bus::{Bus, Outcome, Status};
use registry::fanout::delivery::HeaderTemplate;
use registry::message::Semantics;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};

use super::receivers::subject;
use super::{Failure, message, targets};

/// Time limit of a multicast.
const DEADLINE: Duration = Duration::from_secs(20);

/// Wall time, and CPU time of this process.
struct Stopwatch {
    wall: Instant,
    cpu: f64,
}

impl Stopwatch {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_seconds() }
    }

    fn stop(&self) -> (f64, f64) {
        (self.wall.elapsed().as_secs_f64(), cpu_seconds() - self.cpu)
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Sends multicasts to all targets for a while.
pub async fn carry(
    bus: impl Bus + Clone,
    targets: Vec<Arc<str>>,
    semantics: Semantics,
    abreast: usize,
    length: Duration,
) -> Value {
    let watch = Stopwatch::start();
    let mut senders = Vec::new();
    for _ in 0..abreast {
        let (bus, mut targets, begin) = (bus.clone(), targets.clone(), watch.wall);
        senders.push(tokio::spawn(async move {
            let mut outcomes = Outcomes::default();
            while begin.elapsed() < length {
                let start = Instant::now();
                let sent = bus.multicast(message(), targets, semantics, DEADLINE).await;
                outcomes.count(start.elapsed(), &sent);
                // Reuses the returned identities, so that this program itself counts no references.
                targets = Vec::with_capacity(sent.len());
                targets.extend(sent.into_iter().map(|one| one.identity));
            }
            outcomes
        }));
    }
    let mut all = Outcomes::default();
    for sender in senders {
        all.join(sender.await.expect("a sender does not fail"));
    }
    let (wall, cpu) = watch.stop();
    let mut outcomes = all.outcomes(targets.len());
    outcomes.extend([("wall_s".into(), wall.into()), ("cpu_s".into(), cpu.into())]);
    outcomes.insert("message_bytes".into(), message_bytes(&targets, semantics).into());
    Value::Object(outcomes)
}

/// Sends multicasts one after another, to each number of targets in turn.
pub async fn fan(
    bus: impl Bus + Clone,
    receivers: usize,
    semantics: Semantics,
    sizes: &[usize],
    length: Duration,
) -> Value {
    let sizes: Vec<_> = sizes.iter().map(|size| targets(receivers, *size)).collect();
    let mut totals: Vec<Outcomes> = sizes.iter().map(|_| Outcomes::default()).collect();
    // The first multicast of each size fills caches and buffers, and does not count.
    for targets in &sizes {
        bus.multicast(message(), targets.clone(), semantics, DEADLINE).await;
    }
    let begin = Instant::now();
    while begin.elapsed() < length {
        for (targets, outcomes) in sizes.iter().zip(&mut totals) {
            let targets = targets.clone();
            let start = Instant::now();
            let sent = bus.multicast(message(), targets, semantics, DEADLINE).await;
            outcomes.count(start.elapsed(), &sent);
        }
    }
    let outcomes =
        sizes.iter().zip(totals).map(|(targets, mut outcomes)| outcomes.outcomes(targets.len()));
    outcomes.map(Value::Object).collect()
}

/// Possible outcomes of a target.
const STATUSES: [Status; 4] = [Status::Delivered, Status::Pending, Status::Failed, Status::Timeout];

/// Outcomes of multicasts, and their times.
#[derive(Default)]
struct Outcomes {
    times: Vec<Duration>,
    statuses: [usize; 4],
}

impl Outcomes {
    fn count(&mut self, took: Duration, sent: &[Outcome]) {
        self.times.push(took);
        for outcome in sent {
            self.statuses[outcome.status as usize] += 1;
        }
    }

    fn join(&mut self, other: Self) {
        self.times.extend(other.times);
        for (count, more) in self.statuses.iter_mut().zip(other.statuses) {
            *count += more;
        }
    }

    fn outcomes(&mut self, targets: usize) -> Map<String, Value> {
        self.times.sort();
        let at = |percent: usize| self.times[(self.times.len() - 1) * percent / 100];
        let ms = |percent: usize| at(percent).as_secs_f64() * 1e3;
        let statuses = STATUSES.iter().map(|status| {
            (format!("{status:?}").to_lowercase(), self.statuses[*status as usize].into())
        });
        let statuses: Map<String, Value> = statuses.collect();
        let outcomes = json!({
            "targets": targets, "multicasts": self.times.len(), "statuses": statuses,
            "median_ms": ms(50), "p95_ms": ms(95), "max_ms": ms(100),
        });
        let Value::Object(outcomes) = outcomes else { unreachable!("it was written as an object") };
        outcomes
    }
}

/// Bytes of one of the messages for these targets: that of the first receiver.
fn message_bytes(targets: &[Arc<str>], semantics: Semantics) -> usize {
    let first = targets[0].split('-').next().expect("a receiver");
    let mine = targets.iter().filter(|name| name.split('-').next() == Some(first));
    let ack = (semantics == Semantics::AtLeastOnce).then_some("registry.acks.bench-00000");
    let mine: Vec<Arc<str>> = mine.take(1_000).cloned().collect();
    HeaderTemplate::new(&message(), "bench-00000-", ack).fill(1_000_000, &mine).len()
}

/// The client alone, at full speed.
pub async fn bare(
    servers: &str,
    subjects: usize,
    bytes: usize,
    length: Duration,
) -> Result<Value, Failure> {
    let client = async_nats::connect(servers).await?;
    let subjects: Vec<_> = (0..subjects).map(subject).collect();
    let bytes = hyper::body::Bytes::from(vec![b'x'; bytes]);
    let watch = Stopwatch::start();
    let mut messages = 0_u64;
    while watch.wall.elapsed() < length {
        for subject in &subjects {
            client.publish(subject.clone(), bytes.clone()).await?;
        }
        messages += subjects.len() as u64;
    }
    client.flush().await?;
    let (wall, cpu) = watch.stop();
    Ok(json!({ "messages": messages, "wall_s": wall, "cpu_s": cpu, "message_bytes": bytes.len() }))
}
