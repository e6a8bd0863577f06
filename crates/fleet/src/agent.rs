//! The agent's side: it answers commands on a thread of its own, while its main thread performs trials.
//!
//! What it reports waits until NATS has stored it, so a server that is away delays reports and loses none.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_nats::{Client, HeaderMap};
use engine::clock::monotonic;
use engine::{EndSignal, StopSignal};
use futures_util::StreamExt;
use record::EarlyEnd;
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

use crate::connection::{FleetError, RunStore, WITHIN, connect};
use crate::protocol::{
    AgentInfo, Assignment, Call, Command, Dispatch, Instruction, Reply, Report, Task, call_subject,
    command_subject, hello_subject, report_subject,
};

/// A coordinator reads the clock once a second. After so long without a command it is gone for good.
const LEASE: Duration = Duration::from_secs(60);
/// Pause before a report that was not stored is sent again.
const AGAIN: Duration = Duration::from_millis(500);

/// What the main thread has to do next.
#[derive(Debug)]
pub enum Order {
    /// Load this plan.
    Take(Box<Task>, Received),
    /// Perform trials at the same time, in this attempt of the coordinator's.
    Prepare(u32, Vec<Assignment>),
    /// Begin its load at this instant.
    Begin(u64),
    /// Do not begin.
    CallOff,
    /// The run is over, or its coordinator is gone: why.
    Leave(String),
}

/// What belongs to a task and is in the store.
#[derive(Debug)]
pub struct Received {
    /// The files that the experiment names, with their content.
    pub files: Vec<(String, Vec<u8>)>,
    /// The coordinator's plan, as JSON without secrets.
    pub plan: Vec<u8>,
}

/// Reports that wait to be stored.
enum Outgoing {
    Report(Dispatch),
    /// An object, then the report that names it.
    Facts(Dispatch, String, Vec<u8>),
    /// Everything before it is stored.
    Flush(Sender<()>),
}

/// The connection to a coordinator.
pub struct AgentLink {
    orders: Receiver<Order>,
    outgoing: mpsc::UnboundedSender<Outgoing>,
    signals: TrialSignals,
    thread: Option<JoinHandle<()>>,
}

/// The signals of the trial that runs; those of the next one replace them.
#[derive(Debug, Clone, Default)]
pub struct TrialSignals {
    current: std::sync::Arc<std::sync::Mutex<(StopSignal, Option<EndSignal>)>>,
}

impl TrialSignals {
    /// The signals of a new trial.
    pub fn renew(&self) -> (StopSignal, EndSignal) {
        let fresh = (StopSignal::new(), EndSignal::new());
        *self.lock() = (fresh.0.clone(), Some(fresh.1.clone()));
        fresh
    }

    fn stop(&self, requests: u32) {
        let stop = self.lock().0.clone();
        for _ in stop.requests()..requests {
            stop.request();
        }
    }

    fn end(&self, why: EarlyEnd) {
        if let Some(end) = &self.lock().1 {
            end.request(why);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (StopSignal, Option<EndSignal>)> {
        self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl AgentLink {
    /// Connects, and waits for a coordinator on a thread of its own.
    ///
    /// Errors: no connection
    pub fn open(servers: &str, fleet: &str, info: AgentInfo) -> Result<Self, FleetError> {
        let failed = |error: io::Error| FleetError::new(format!("cannot start the agent: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let client = runtime.block_on(connect(servers, &format!("agent {}", info.name)))?;
        let (order, orders) = channel();
        let (outgoing, waiting) = mpsc::unbounded_channel();
        let signals = TrialSignals::default();
        let session =
            Session { client, fleet: fleet.to_owned(), info, order, signals: signals.clone() };
        let thread = thread::Builder::new()
            .name("fleet".to_owned())
            .spawn(move || runtime.block_on(session.run(waiting)))
            .map_err(failed)?;
        Ok(Self { orders, outgoing, signals, thread: Some(thread) })
    }

    /// The next order; `None` if none comes in time.
    pub fn next(&self, within: Duration) -> Option<Order> {
        match self.orders.recv_timeout(within) {
            Ok(order) => Some(order),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                Some(Order::Leave("the connection to NATS ended".to_owned()))
            }
        }
    }

    /// The signals by which the coordinator ends trials.
    pub fn signals(&self) -> &TrialSignals {
        &self.signals
    }

    /// Reports something.
    pub fn report(&self, dispatch: Dispatch) {
        let _ = self.outgoing.send(Outgoing::Report(dispatch));
    }

    /// Reports the end of a trial with its facts, as JSON.
    pub fn report_end(&self, (share, attempt, trial): (u32, u32, u32), facts: Vec<u8>) {
        let name = format!("facts-{attempt}-{trial}-{share}");
        let report = Report::Ended { facts: name.clone() };
        let dispatch = Dispatch { share, attempt, trial, report };
        let _ = self.outgoing.send(Outgoing::Facts(dispatch, name, facts));
    }

    /// Waits until everything that was reported is stored; false if that takes too long.
    pub fn flush(&self, within: Duration) -> bool {
        let (done, flushed) = channel();
        self.outgoing.send(Outgoing::Flush(done)).is_ok() && flushed.recv_timeout(within).is_ok()
    }
}

impl Drop for AgentLink {
    fn drop(&mut self) {
        // The session ends when nothing can be sent any more.
        let (closed, _) = mpsc::unbounded_channel();
        self.outgoing = closed;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Passes on the run that was taken, and where its reports go.
type TakenSender = oneshot::Sender<(String, RunStore)>;

/// The thread that talks to NATS.
struct Session {
    client: Client,
    fleet: String,
    info: AgentInfo,
    order: Sender<Order>,
    signals: TrialSignals,
}

impl Session {
    async fn run(self, waiting: mpsc::UnboundedReceiver<Outgoing>) {
        let (taken, task) = oneshot::channel();
        let sending = self.send(waiting, task);
        tokio::select! {
            () = sending => {}
            why = self.serve(taken) => {
                self.signals.stop(2);
                let _ = self.order.send(Order::Leave(why));
            }
        }
        let _ = timeout(WITHIN, self.client.flush()).await;
    }

    /// Answers calls and commands until the run is over. Returns why.
    async fn serve(&self, taken: TakenSender) -> String {
        let commands = command_subject(&self.fleet, &self.info.id);
        let subscribed = (
            self.client.subscribe(call_subject(&self.fleet)).await,
            self.client.subscribe(commands).await,
        );
        let (Ok(mut calls), Ok(mut commands)) = subscribed else {
            return "NATS refuses to let this agent listen".to_owned();
        };
        let (mut taken, mut run, mut last) = (Some(taken), None, 0);
        let mut lease = Instant::now() + LEASE;
        loop {
            tokio::select! {
                Some(message) = calls.next(), if run.is_none() => self.answer_call(&message.payload).await,
                Some(message) = commands.next() => {
                    let received = monotonic();
                    let Ok(given) = serde_json::from_slice::<Instruction>(&message.payload) else { continue };
                    let reply = self.hear(given, received, (&mut run, &mut taken, &mut last));
                    if !matches!(reply, Reply::Busy) {
                        lease = Instant::now() + LEASE;
                    }
                    if let (Some(to), Ok(payload)) = (message.reply, serde_json::to_vec(&reply)) {
                        let _ = self.client.publish(to, payload.into()).await;
                    }
                    if run.as_deref() == Some(OVER) {
                        return "the run is over".to_owned();
                    }
                }
                () = tokio::time::sleep_until(lease), if run.is_some() => {
                    return format!("no word from the coordinator for {} s", LEASE.as_secs());
                }
            }
        }
    }

    async fn answer_call(&self, payload: &[u8]) {
        let Ok(call) = serde_json::from_slice::<Call>(payload) else { return };
        if let Ok(hello) = serde_json::to_vec(&self.info) {
            let subject = hello_subject(&self.fleet, &call.run);
            let _ = self.client.publish(subject, hello.into()).await;
        }
    }

    /// Obeys the coordinator whose run this agent has taken, and each command once.
    fn hear(
        &self,
        given: Instruction,
        received: u64,
        (run, taken, last): (&mut Option<String>, &mut Option<TakenSender>, &mut u64),
    ) -> Reply {
        let is_take = matches!(given.command, Command::Take(_));
        match run {
            None if is_take => *run = Some(given.run),
            Some(own) if *own == given.run => {}
            _ => return Reply::Busy,
        }
        // A clock is read again each time.
        let is_clock = matches!(given.command, Command::Clock);
        if !is_clock && given.number <= *last {
            return Reply::Done;
        }
        *last = (*last).max(given.number);
        self.obey(given.command, received, run, taken)
    }

    fn obey(
        &self,
        command: Command,
        received: u64,
        run: &mut Option<String>,
        taken: &mut Option<TakenSender>,
    ) -> Reply {
        let order = match command {
            Command::Clock => return Reply::Clock { received, answered: monotonic() },
            Command::End(why) => {
                self.signals.end(why);
                return Reply::Done;
            }
            Command::Stop { requests } => {
                self.signals.stop(requests);
                return Reply::Done;
            }
            Command::Take(task) => {
                // Files may take longer than the coordinator waits for an answer.
                let (client, order, taken) =
                    (self.client.clone(), self.order.clone(), taken.take());
                tokio::spawn(async move {
                    let _ = order.send(match fetch(&client, &task).await {
                        Ok((store, received)) => {
                            if let Some(taken) = taken {
                                let _ = taken.send((task.run.clone(), store));
                            }
                            Order::Take(task, received)
                        }
                        Err(error) => Order::Leave(error.what),
                    });
                });
                return Reply::Done;
            }
            Command::Prepare { attempt, trials } => Order::Prepare(attempt, trials),
            Command::Begin { at_ns } => Order::Begin(at_ns),
            Command::CallOff => {
                // It may have begun.
                self.signals.stop(2);
                Order::CallOff
            }
            Command::Leave => {
                *run = Some(OVER.to_owned());
                return Reply::Done;
            }
        };
        let _ = self.order.send(order);
        Reply::Done
    }

    /// Stores what is reported, in order, each until it is stored.
    async fn send(
        &self,
        mut waiting: mpsc::UnboundedReceiver<Outgoing>,
        task: oneshot::Receiver<(String, RunStore)>,
    ) {
        let taken = tokio::select! {
            biased;
            taken = task => taken,
            // Nothing is reported before a task is taken: the agent ends without one.
            _ = waiting.recv() => return,
        };
        let Ok((run, store)) = taken else {
            // The plan could not be fetched: nothing will be reported, and the agent ends.
            let _ = waiting.recv().await;
            return;
        };
        let subject = report_subject(&self.fleet, &run);
        let mut number: u64 = 0;
        while let Some(outgoing) = waiting.recv().await {
            let dispatch = match outgoing {
                Outgoing::Flush(done) => {
                    let _ = done.send(());
                    continue;
                }
                Outgoing::Report(dispatch) => dispatch,
                Outgoing::Facts(dispatch, name, facts) => {
                    while store.write(&name, &facts).await.is_err() {
                        sleep(AGAIN).await;
                    }
                    dispatch
                }
            };
            number += 1;
            let Ok(payload) = serde_json::to_vec(&dispatch) else { continue };
            let id = format!("{}.{number}", self.info.id);
            while !stored(&store, &subject, &id, &payload).await {
                sleep(AGAIN).await;
            }
        }
    }
}

/// Where the run's reports go, and what belongs to its task.
async fn fetch(client: &Client, task: &Task) -> Result<(RunStore, Received), FleetError> {
    let store = RunStore::open(client, &task.run).await?;
    let mut files = Vec::new();
    for file in &task.files {
        files.push((file.path.clone(), store.read(&file.sha256).await?));
    }
    let plan = store.read(&task.plan_hash).await?;
    Ok((store, Received { files, plan }))
}

/// The mark of a run that is over.
const OVER: &str = "over";

/// Whether the servers have stored this report. With the same id, they store it once.
async fn stored(store: &RunStore, subject: &str, id: &str, payload: &[u8]) -> bool {
    let mut headers = HeaderMap::new();
    headers.insert(async_nats::header::NATS_MESSAGE_ID, id);
    let published =
        store.context.publish_with_headers(subject.to_owned(), headers, payload.to_vec().into());
    let Ok(Ok(acknowledged)) = timeout(WITHIN, published).await else { return false };
    matches!(timeout(WITHIN, acknowledged).await, Ok(Ok(_)))
}
