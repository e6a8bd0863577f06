//! The coordinator's side: it finds agents, gives them the plan, and lets them perform trials.
//!
//! In reading order: `gather` finds agents, [`Fleet::give`] the plan, `trial` performs one. Its own thread of NATS
//! reads every agent's clock once a second and receives reports.

mod gather;
mod reports;
mod state;
mod takeover;
mod trial;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::Client;
use async_nats::connection::State;
use engine::clock::monotonic;
use plan::plan_share::PlanShare;
use plan::schedule::nanos;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

use crate::clock::{Exchange, PeerClock};
use crate::connection::{FleetError, RunStore, connect};
use crate::protocol::{
    AgentInfo, Command, Instruction, Reply, Report, Task, command_subject, mark,
};
use reports::Reports;

pub use state::{Begun, FleetState};
pub use trial::{OnMerged, Performed, RemoteTrial, RemoteTrials, ShareResult, StoredFacts};

/// Time between two readings of an agent's clock.
const EACH: Duration = Duration::from_secs(1);
/// Time limit for the agents to load their plan, and to get ready: files and `[setup]` may take long.
const READY_WITHIN: Duration = Duration::from_mins(10);
/// Time limit for the answer to a command.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// An agent that has not answered for so long is lost.
const LOST_AFTER_NS: u64 = 10_000_000_000;
/// It is lost only after this many unanswered questions, too. A coordinator that stands still asks none.
const UNANSWERED_LIMIT: u32 = 3;
/// An agent that cannot hear its coordinator ends by itself after a minute.
const GONE_AFTER_NS: u64 = 75_000_000_000;
/// Attempts to give a command that is not answered.
const ATTEMPTS: u32 = 5;
/// Time limit for the answer to all of them.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

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
    reports: Reports,
    /// Commands so far.
    given: AtomicU64,
    /// Coordinators of this run so far, this one included.
    coordinators: u32,
    attempts: Mutex<Attempts>,
}

/// Attempts to perform trials.
#[derive(Debug, Default)]
struct Attempts {
    count: u32,
    /// The last one, if its load has begun.
    begun: Option<Begun>,
}

/// An agent, and what is known of its clock.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) info: AgentInfo,
    pub(crate) share: PlanShare,
    seen: Arc<Mutex<Seen>>,
    /// Whether it works for this run.
    taken: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Seen {
    clock: PeerClock,
    /// When it answered last.
    at: u64,
    /// Questions since then, or since the connection to NATS came back.
    unanswered: u32,
}

impl Seen {
    fn answered(&mut self, exchange: Exchange) {
        self.at = exchange.returned;
        self.unanswered = 0;
        self.clock.add(exchange);
    }
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
        let runtime = runtime()?;
        let run = mark();
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
        let reports = runtime.block_on(Reports::receive(&store, &run, 1))?;
        Ok(Self {
            runtime,
            client,
            store,
            name: address.name.clone(),
            run,
            members: members(infos),
            reports,
            given: AtomicU64::new(0),
            coordinators: 1,
            attempts: Mutex::default(),
        })
    }

    /// Gives every agent its share of the plan, and waits until all have loaded it. `objects`: the files and the plan, by
    /// the names that the task gives them.
    ///
    /// Errors: an agent refuses, with its reason; or it does not answer
    pub fn give(
        &self,
        task: &Task,
        objects: &[(String, Vec<u8>)],
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), FleetError> {
        for (name, content) in objects {
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
            self.keep_time(member);
        }
        self.all_report(READY_WITHIN, 0, stopped, &|report| match report {
            Report::Loaded => Some(Ok(())),
            Report::Refused(why) => Some(Err(why.clone())),
            _ => None,
        })
    }

    /// The member works for this run: its clock is read from now on.
    fn keep_time(&self, member: &Member) {
        member.taken.store(true, Ordering::Relaxed);
        let subject = command_subject(&self.name, &member.info.id);
        let clock = Instruction { run: self.run.clone(), number: 0, command: Command::Clock };
        self.runtime.spawn(keep_time(self.client.clone(), (subject, clock), member.clone()));
    }

    /// Waits until every agent has given an answer about this attempt.
    fn all_report(
        &self,
        within: Duration,
        attempt: u32,
        stopped: &dyn Fn() -> bool,
        answer: &dyn Fn(&Report) -> Option<Result<(), String>>,
    ) -> Result<(), FleetError> {
        let mut open: Vec<u32> = self.members.iter().map(|member| member.share.number).collect();
        let deadline = monotonic() + nanos(within);
        while !open.is_empty() {
            if stopped() {
                return Err(FleetError::new("stopped before the load began"));
            }
            let late = |share: &u32| self.member(*share).map_or_else(String::new, Member::name);
            if monotonic() > deadline {
                let late: Vec<String> = open.iter().map(late).collect();
                return Err(FleetError::new(format!("no answer from {}", late.join(", "))));
            }
            if let Some(lost) =
                open.iter().find_map(|share| self.member(*share).filter(|one| self.is_lost(one)))
            {
                return Err(FleetError::new(format!(
                    "{} was lost before the load began",
                    lost.name()
                ))
                .hint("look at its last words on that machine"));
            }
            let Some(dispatch) = self.reports.next(&self.runtime, Duration::from_millis(100))
            else {
                continue;
            };
            if dispatch.attempt != attempt {
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

    /// The first agent that does not run on the kernel with this boot id.
    pub fn elsewhere(&self, boot_id: &str) -> Option<String> {
        self.members.iter().find(|member| member.info.boot_id != boot_id).map(Member::name)
    }

    fn attempts(&self) -> MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What another coordinator needs to take over.
    pub fn state(&self) -> FleetState {
        let attempts = self.attempts();
        FleetState {
            run: self.run.clone(),
            fleet: self.name.clone(),
            agents: self.members.iter().map(|member| member.info.clone()).collect(),
            coordinators: self.coordinators,
            attempts: attempts.count,
            begun: attempts.begun.clone(),
        }
    }

    fn member(&self, share: u32) -> Option<&Member> {
        self.members.iter().find(|member| member.share.number == share)
    }

    fn instruction(&self, command: &Command) -> Instruction {
        let number = self.given.fetch_add(1, Ordering::Relaxed) + 1;
        Instruction { run: self.run.clone(), number, command: command.clone() }
    }

    /// Gives a command to an agent, several times if it is not answered.
    fn command(&self, member: &Member, command: &Command) -> Result<Reply, FleetError> {
        let subject = command_subject(&self.name, &member.info.id);
        let instruction = self.instruction(command);
        let reply = self.runtime.block_on(ask_often(&self.client, &subject, &instruction));
        reply.ok_or_else(|| FleetError::new(format!("{} does not answer", member.name())))
    }

    /// Gives commands to agents at the same time, and waits for their answers within a limit.
    fn command_at_once(
        &self,
        commands: &[(&Member, Command)],
        within: Duration,
    ) -> Result<(), FleetError> {
        let asked = commands.iter().map(|(member, command)| {
            let subject = command_subject(&self.name, &member.info.id);
            let (client, instruction) = (self.client.clone(), self.instruction(command));
            let task = async move { ask_often(&client, &subject, &instruction).await };
            (*member, self.runtime.spawn(task))
        });
        let asked: Vec<_> = asked.collect();
        let deadline = tokio::time::Instant::now() + within;
        for (member, answer) in asked {
            let answer =
                self.runtime.block_on(async { tokio::time::timeout_at(deadline, answer).await });
            if !matches!(answer, Ok(Ok(Some(Reply::Done)))) {
                return Err(FleetError::new(format!("{} does not answer", member.name())));
            }
        }
        Ok(())
    }

    /// Gives a command to all agents that answer, and does not wait for that.
    fn command_all(&self, command: &Command) {
        for member in &self.members {
            let subject = command_subject(&self.name, &member.info.id);
            let (client, instruction) = (self.client.clone(), self.instruction(command));
            self.runtime.spawn(async move { ask_often(&client, &subject, &instruction).await });
        }
    }

    /// Whether an agent has not answered for so long that it is lost. While NATS is away, agents go on, but not for
    /// longer than they wait for their coordinator.
    fn is_lost(&self, member: &Member) -> bool {
        let seen = member.seen();
        let silent = monotonic().saturating_sub(seen.at);
        match self.client.connection_state() {
            State::Connected => seen.unanswered >= UNANSWERED_LIMIT && silent > LOST_AFTER_NS,
            _ => silent > GONE_AFTER_NS,
        }
    }
}

fn runtime() -> Result<Runtime, FleetError> {
    let built = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    built.map_err(|error| FleetError::new(format!("cannot start the coordinator: {error}")))
}

/// Agents in the order of their shares.
fn members(infos: Vec<AgentInfo>) -> Vec<Member> {
    let of = u32::try_from(infos.len()).unwrap_or(u32::MAX);
    let member = |(info, number)| Member {
        info,
        share: PlanShare { number, of },
        seen: Arc::new(Mutex::new(Seen { at: monotonic(), ..Seen::default() })),
        taken: Arc::default(),
    };
    infos.into_iter().zip(1..).map(member).collect()
}

/// The agents that wait at these servers and answer in time.
///
/// Errors: no connection
pub fn present(servers: &str, fleet: &str, within: Duration) -> Result<Vec<AgentInfo>, FleetError> {
    let failed = |error| FleetError::new(format!("cannot look for agents: {error}"));
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        let client = connect(servers, "proofload fleet status").await?;
        gather::present(&client, fleet, within).await
    })
}

impl Drop for Fleet {
    /// Sends the agents home, and removes the run from the servers.
    fn drop(&mut self) {
        let taken = self.members.iter().filter(|member| member.taken.load(Ordering::Relaxed));
        let leave = taken.map(|member| (member, Command::Leave)).collect::<Vec<_>>();
        // Those that are lost end by themselves.
        let _ = self.command_at_once(&leave, ANSWER_WITHIN);
        self.runtime.block_on(async {
            let _ = timeout(ANSWER_WITHIN, self.store.remove(&self.run)).await;
        });
    }
}

/// The answer to a command, if it comes in time.
async fn ask(client: &Client, subject: &str, instruction: &Instruction) -> Option<Reply> {
    let payload = serde_json::to_vec(instruction).ok()?;
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

/// The same, several times if it does not come.
async fn ask_often(client: &Client, subject: &str, instruction: &Instruction) -> Option<Reply> {
    for _ in 0..ATTEMPTS {
        if let Some(reply) = ask(client, subject, instruction).await {
            return Some(reply);
        }
    }
    None
}

/// Reads an agent's clock once a second.
async fn keep_time(client: Client, (subject, clock): (String, Instruction), member: Member) {
    loop {
        let sent = monotonic();
        let answer = ask(&client, &subject, &clock).await;
        if let Some(Reply::Clock { received, answered }) = answer {
            let returned = monotonic();
            member.seen().answered(Exchange { sent, received, answered, returned });
        } else if client.connection_state() == State::Connected {
            member.seen().unanswered += 1;
        } else {
            // While NATS is away, nobody can answer.
            member.seen().unanswered = 0;
        }
        sleep(EACH).await;
    }
}
