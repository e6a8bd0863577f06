//! The coordinator's side: it finds agents, gives them the plan, and lets them perform trials.
//!
//! In reading order: `gather` finds agents, [`Fleet::give`] the plan, `trial` performs one. Its own thread of NATS
//! reads every agent's clock once a second and receives reports.

mod gather;
mod trial;

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::{Client, Subscriber};
use engine::clock::monotonic;
use futures_util::StreamExt;
use plan::plan_share::PlanShare;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

use crate::clock::{Exchange, PeerClock};
use crate::connection::{FleetError, RunStore, connect};
use crate::protocol::{
    AgentInfo, Command, Dispatch, Reply, Report, Task, command_subject, store_name,
};

pub use trial::{RemoteTrial, ShareResult};

/// Time between two readings of an agent's clock.
const EACH: Duration = Duration::from_secs(1);
/// Time limit for the answer to a command.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// A gap in the connection is noticed after so long.
const GAP_SEEN_WITHIN: Duration = Duration::from_secs(4);
/// Attempts to give a command that is not answered.
const ATTEMPTS: u32 = 5;

/// How a fleet is found.
#[derive(Debug, Clone)]
pub struct FleetAddress {
    /// Servers of NATS.
    pub servers: String,
    /// Which of several fleets there.
    pub name: String,
    /// How many agents.
    pub agents: u32,
    /// How long to wait for them.
    pub within: Duration,
}

/// Who waits for agents.
pub struct User<'a> {
    /// Whether they want to stop.
    pub stopped: &'a dyn Fn() -> bool,
    /// Tells them who has come.
    pub say: &'a mut dyn FnMut(&str),
}

/// The agents of a run.
pub struct Fleet {
    runtime: Runtime,
    client: Client,
    store: RunStore,
    name: String,
    run: String,
    members: Vec<Member>,
    reports: Receiver<Dispatch>,
}

/// An agent, and what is known of its clock.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) info: AgentInfo,
    pub(crate) share: PlanShare,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    clock: PeerClock,
    /// When it answered last.
    at: u64,
}

impl Member {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For sentences.
    pub(crate) fn name(&self) -> String {
        format!("share {} ({})", self.share.number, self.info.name)
    }
}

impl Fleet {
    /// Finds the agents of a run.
    ///
    /// Errors: there are too few of them, of another version, or NATS does not work
    pub fn gather(
        address: &FleetAddress,
        version: &str,
        user: &mut User<'_>,
    ) -> Result<Self, FleetError> {
        let failed = |error| FleetError::new(format!("cannot start the coordinator: {error}"));
        let runtime =
            Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(failed)?;
        let run = run_mark();
        let (client, store) = runtime.block_on(async {
            let client = connect(&address.servers, "proofload run").await?;
            let store = RunStore::create(&client, &address.name, &run).await?;
            Ok::<_, FleetError>((client, store))
        })?;
        let gathered = runtime.block_on(gather::agents(&client, address, &run, version, user));
        let infos = match gathered {
            Ok(infos) => infos,
            Err(error) => {
                runtime.block_on(store.remove(&run));
                return Err(error);
            }
        };
        let of = address.agents;
        let member = |(info, number): (AgentInfo, u32)| Member {
            info,
            share: PlanShare { number, of },
            seen: Arc::default(),
        };
        let members: Vec<Member> = infos.into_iter().zip(1..).map(member).collect();
        let (sender, reports) = std::sync::mpsc::channel();
        runtime.block_on(receive(&store, &run, sender, runtime.handle()))?;
        for member in &members {
            let subject = command_subject(&address.name, &member.info.id);
            runtime.spawn(keep_time(client.clone(), subject, member.clone()));
        }
        Ok(Self { runtime, client, store, name: address.name.clone(), run, members, reports })
    }

    /// Gives every agent its share of the plan, and waits until all have loaded it. `files` have their content.
    ///
    /// Errors: an agent refuses, with its reason; or it does not answer
    pub fn give(&self, task: &Task, files: &[(String, Vec<u8>)]) -> Result<(), FleetError> {
        for (name, content) in files {
            self.runtime.block_on(self.store.write(name, content))?;
        }
        for member in &self.members {
            let task = Task {
                run: self.run.clone(),
                share: member.share.number,
                of: member.share.of,
                ..task.clone()
            };
            match self.command(member, &Command::Take(Box::new(task)))? {
                Reply::Busy => {
                    let what = format!("{} works for another run", member.name());
                    return Err(
                        FleetError::new(what).hint("wait for its end, or start more agents")
                    );
                }
                Reply::Done | Reply::Clock { .. } => {}
            }
        }
        self.all_report(Duration::from_secs(60), 0, &|| false, &|report| match report {
            Report::Loaded => Some(Ok(())),
            Report::Refused(why) => Some(Err(why.clone())),
            _ => None,
        })
    }

    /// Waits until every agent has given an answer about this trial.
    fn all_report(
        &self,
        within: Duration,
        trial: u32,
        stopped: &dyn Fn() -> bool,
        answer: &dyn Fn(&Report) -> Option<Result<(), String>>,
    ) -> Result<(), FleetError> {
        let mut open: Vec<u32> = self.members.iter().map(|member| member.share.number).collect();
        let deadline = monotonic() + u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        while !open.is_empty() {
            if stopped() {
                return Err(FleetError::new("stopped before the load began"));
            }
            let late = |share: &u32| self.member(*share).map_or_else(String::new, Member::name);
            if monotonic() > deadline {
                let late: Vec<String> = open.iter().map(late).collect();
                return Err(FleetError::new(format!("no answer from {}", late.join(", "))));
            }
            let Ok(dispatch) = self.reports.recv_timeout(Duration::from_millis(100)) else {
                continue;
            };
            if dispatch.trial != trial {
                continue;
            }
            match answer(&dispatch.report) {
                None => {}
                Some(Ok(())) => open.retain(|share| *share != dispatch.share),
                Some(Err(why)) => {
                    return Err(FleetError::new(format!("{}: {why}", late(&dispatch.share))));
                }
            }
        }
        Ok(())
    }

    fn member(&self, share: u32) -> Option<&Member> {
        self.members.iter().find(|member| member.share.number == share)
    }

    /// Gives a command to an agent, several times if it is not answered.
    fn command(&self, member: &Member, command: &Command) -> Result<Reply, FleetError> {
        let subject = command_subject(&self.name, &member.info.id);
        let reply = self.runtime.block_on(async {
            for _ in 0..ATTEMPTS {
                if let Some(reply) = ask(&self.client, &subject, command).await {
                    return Some(reply);
                }
            }
            None
        });
        reply.ok_or_else(|| FleetError::new(format!("{} does not answer", member.name())))
    }

    /// Gives a command to all agents that answer.
    fn command_all(&self, command: &Command) {
        for member in &self.members {
            let subject = command_subject(&self.name, &member.info.id);
            let (client, command) = (self.client.clone(), command.clone());
            self.runtime.spawn(async move {
                for _ in 0..ATTEMPTS {
                    if ask(&client, &subject, &command).await.is_some() {
                        return;
                    }
                }
            });
        }
    }
}

/// The agents that wait at these servers and answer in time.
///
/// Errors: no connection
pub fn present(servers: &str, fleet: &str, within: Duration) -> Result<Vec<AgentInfo>, FleetError> {
    let failed = |error| FleetError::new(format!("cannot look for agents: {error}"));
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        let client = connect(servers, "proofload fleet status").await?;
        gather::present(&client, fleet, &run_mark(), within).await
    })
}

impl Drop for Fleet {
    /// Sends the agents home, and removes the run from the servers.
    fn drop(&mut self) {
        for member in &self.members {
            let subject = command_subject(&self.name, &member.info.id);
            let left = ask(&self.client, &subject, &Command::Leave);
            let _ = self.runtime.block_on(left);
        }
        self.runtime.block_on(async {
            let _ = timeout(ANSWER_WITHIN, self.store.remove(&self.run)).await;
        });
    }
}

/// The answer to a command, if it comes in time.
async fn ask(client: &Client, subject: &str, command: &Command) -> Option<Reply> {
    let payload = serde_json::to_vec(command).ok()?;
    let answer = timeout(ANSWER_WITHIN, client.request(subject.to_owned(), payload.into())).await;
    match answer {
        Ok(Ok(message)) => serde_json::from_slice(&message.payload).ok(),
        Ok(Err(_)) => {
            // Nobody listens there now.
            sleep(EACH).await;
            None
        }
        Err(_) => None,
    }
}

/// Reads an agent's clock once a second.
async fn keep_time(client: Client, subject: String, member: Member) {
    loop {
        let sent = monotonic();
        let answer = ask(&client, &subject, &Command::Clock).await;
        if let Some(Reply::Clock { received, answered }) = answer {
            let returned = monotonic();
            let mut seen = member.seen();
            seen.at = returned;
            seen.clock.add(Exchange { sent, received, answered, returned });
        }
        sleep(EACH).await;
    }
}

/// Receives the reports of a run, in order, on the runtime's thread.
async fn receive(
    store: &RunStore,
    run: &str,
    sender: std::sync::mpsc::Sender<Dispatch>,
    runtime: &tokio::runtime::Handle,
) -> Result<(), FleetError> {
    let failed = |error: &dyn std::fmt::Display| {
        FleetError::new(format!("cannot receive reports from NATS: {error}"))
    };
    let stream = store.context.get_stream(store_name(run)).await.map_err(|error| failed(&error))?;
    let ordered = pull::OrderedConfig {
        max_expires: GAP_SEEN_WITHIN,
        deliver_policy: DeliverPolicy::All,
        ..pull::OrderedConfig::default()
    };
    let consumer = stream.create_consumer(ordered).await.map_err(|error| failed(&error))?;
    let mut messages = consumer.messages().await.map_err(|error| failed(&error))?;
    runtime.spawn(async move {
        // An error is a gap in the connection: the consumer goes on where it was.
        while let Some(message) = messages.next().await {
            let Ok(message) = message else { continue };
            let Ok(dispatch) = serde_json::from_slice(&message.payload) else { continue };
            if sender.send(dispatch).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// A mark for this run, which no other has.
fn run_mark() -> String {
    use std::hash::{BuildHasher, Hasher};
    // The standard library's only source of randomness.
    let bits = std::hash::RandomState::new().build_hasher().finish();
    format!("{bits:016x}")
}

/// The next message, if one comes before the instant.
async fn next_before(messages: &mut Subscriber, deadline: tokio::time::Instant) -> Option<Vec<u8>> {
    let message = tokio::time::timeout_at(deadline, messages.next()).await.ok()??;
    Some(message.payload.to_vec())
}
