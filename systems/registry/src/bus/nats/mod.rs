//! The bus over NATS: receivers and coordinators connect to one server, and coordinators share
//! the receivers.
//!
//! `SUBSCRIBING.md` describes the wire format. Messages go to a receiver's subject; at-least-once deliveries without a
//! listener or a quick acknowledgement go to a stream ([`stream`]). A multicast is published over a small pool of
//! connections ([`connection`]) and confirmed as a whole, not by one round trip per message.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::time::Duration;

use async_nats::{Client, Event, Message as Arrived, Subscriber as Arrivals};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use super::{Bus, Counts, Outcome};
use crate::api_error::{ApiError, unavailable};
use crate::fanout::backoff::Backoff;
use crate::fanout::delivery::{self, DeliveryLimits};
use crate::fanout::tracker::{AckSource, DeliveryState, DeliveryTracker, FailureReason};
use crate::message::{Acknowledgement, Message, Semantics};
use crate::object;
use crate::subscription::Subscriber;
use crate::subscription::table::ReceiverScope;

pub mod at_least_once;
mod at_most_once;
mod connection;
pub mod presence;
mod receivers;
mod stream;

use connection::NatsConnection;
use presence::{Presence, PresenceReply};
use receivers::{Receiver, Receivers};
use stream::JetStream;

/// The settings of the bus.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Addresses as `nats://host:port`, separated by commas; all of one cluster.
    pub servers: String,
    /// Connections for publishing.
    pub connections: usize,
    /// Time without a presence message after which a receiver counts as absent.
    pub away: Duration,
    /// Most known receivers; further ones are refused.
    pub receivers: usize,
    /// Most presence messages that may wait; further ones are dropped, and their receivers send them again.
    pub presences: usize,
    /// Time after which the server sends an unacknowledged delivery again.
    pub ack_wait: Duration,
    /// How long the stream keeps messages that are not fetched, and consumers of absent receivers.
    pub keep: Duration,
    /// Deliveries that the server pushes to a receiver before it acknowledges them.
    pub max_unacknowledged: i64,
    /// Bytes that the stream may hold; -1 means the server's limit.
    pub max_bytes: i64,
    /// Time limit for the server's answer to anything but a delivery.
    pub patience: Duration,
    /// How long a present receiver may take to acknowledge before a delivery is stored for it; at most half of the
    /// multicast's time.
    pub unanswered: Duration,
    /// The first pause before a delivery that the stream did not confirm is published again.
    pub retry: Duration,
    /// The longest such pause.
    pub longest_retry: Duration,
    /// Largest delivery.
    pub bounds: DeliveryLimits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            servers: "nats://127.0.0.1:4222".into(),
            connections: 2,
            away: Duration::from_secs(5),
            receivers: 10_000,
            presences: 16_384,
            ack_wait: Duration::from_secs(5),
            keep: Duration::from_secs(24 * 3600),
            max_unacknowledged: 1_000,
            max_bytes: -1,
            patience: Duration::from_secs(2),
            unanswered: Duration::from_secs(1),
            retry: Duration::from_millis(500),
            longest_retry: Duration::from_secs(4),
            bounds: DeliveryLimits::default(),
        }
    }
}

/// Presence messages that are handled at the same time.
const ADMISSIONS: usize = 32;
/// Messages that may wait for one of our subscriptions.
const ARRIVALS: usize = 1 << 18;

/// The bus. Clones share its state; dropping the last one closes the connections.
#[derive(Debug, Clone)]
pub struct Nats {
    state: Arc<BusState>,
    _tasks: Arc<Mutex<JoinSet<()>>>,
}

#[derive(Debug)]
struct BusState {
    settings: Settings,
    counts: Counts,
    coordinator: String,
    tracker: Arc<DeliveryTracker>,
    connections: Vec<NatsConnection>,
    jetstream: JetStream,
    has_stream: AtomicBool,
    receivers: RwLock<Receivers>,
    admissions: Semaphore,
    waiting: Arc<Semaphore>,
}

impl Nats {
    /// Connects, and retries until there is a server; returns after the first attempt to open the stream. The
    /// coordinator's name must be unique for all time, and must be a single token of a subject.
    ///
    /// Errors: `INVALID_REQUEST` for invalid addresses
    pub async fn connect(
        coordinator: &str,
        settings: Settings,
        counts: Counts,
    ) -> Result<Self, ApiError> {
        let connected = Arc::new(Notify::new());
        let mut connections = Vec::new();
        let mut tasks = JoinSet::new();
        let mut inboxes = Vec::new();
        for number in 0..settings.connections.max(1) {
            let heard = (number == 0).then(|| Arc::clone(&connected));
            let client = client(&settings, coordinator, heard).await?;
            let inbox = format!("_INBOX.{coordinator}.{number}");
            let (connection, arrivals) = NatsConnection::new(client, inbox).await.map_err(away)?;
            connections.push(connection);
            inboxes.push(arrivals);
        }
        let first = connections[0].client.clone();
        let acks = format!("{}.{coordinator}.*", presence::ACKS);
        let acks = first.subscribe(acks).await.map_err(away)?;
        let presences = first.subscribe(presence::SUBJECT).await.map_err(away)?;
        let of_one = format!("{}.*", presence::SUBJECT);
        let presences_of_one = first.subscribe(of_one).await.map_err(away)?;
        let state = Arc::new(BusState {
            tracker: Arc::new(DeliveryTracker::new(coordinator)),
            coordinator: coordinator.to_owned(),
            jetstream: JetStream::new(first, &settings),
            has_stream: AtomicBool::new(false),
            receivers: RwLock::default(),
            admissions: Semaphore::new(ADMISSIONS),
            waiting: Arc::new(Semaphore::new(settings.presences)),
            connections,
            counts,
            settings,
        });
        for (number, arrivals) in inboxes.into_iter().enumerate() {
            let refresh = move |state: &Arc<BusState>, message: Arrived| {
                state.connections[number].refresh(&message, &state.tracker);
            };
            tasks.spawn(each(arrivals, Arc::downgrade(&state), refresh));
        }
        tasks.spawn(each(acks, Arc::downgrade(&state), |state, message| {
            state.acknowledge(&message)
        }));
        for presences in [presences, presences_of_one] {
            tasks.spawn(each(presences, Arc::downgrade(&state), BusState::presence));
        }
        let ready = Arc::new(Notify::new());
        tasks.spawn(watch_connections(Arc::downgrade(&state), connected, Arc::clone(&ready)));
        tasks.spawn(sweep(Arc::downgrade(&state)));
        // `check` reports whether the stream exists; a registry may start before its server.
        let there = async {
            ready.notified().await;
            futures_util::future::join_all(state.connections.iter().map(NatsConnection::flushed))
                .await;
        };
        let _ = tokio::time::timeout(state.settings.patience, there).await;
        Ok(Self { state, _tasks: Arc::new(Mutex::new(tasks)) })
    }
}

async fn client(
    settings: &Settings,
    coordinator: &str,
    connected: Option<Arc<Notify>>,
) -> Result<Client, ApiError> {
    let refuse =
        |error| ApiError::new(crate::api_error::Code::InvalidRequest, format!("nats: {error}"));
    let (servers, options) = nats_address::read(&settings.servers).map_err(refuse)?;
    let options = options
        .name(format!("registry-{coordinator}"))
        .retry_on_initial_connect()
        .connection_timeout(settings.patience)
        .subscription_capacity(ARRIVALS)
        // Subjects are our own, or were checked together with their presence message.
        .skip_subject_validation(true)
        .reconnect_delay_callback(|attempts| {
            let attempts = u32::try_from(attempts).unwrap_or(u32::MAX).min(6);
            Backoff::new(Duration::from_millis(10 << attempts), Duration::MAX).draw()
        })
        .event_callback(move |event| {
            if let (Event::Connected, Some(connected)) = (event, &connected) {
                connected.notify_one();
            }
            std::future::ready(())
        });
    options.connect(servers).await.map_err(away)
}

fn away(error: impl std::fmt::Display) -> ApiError {
    unavailable(format!("nats: {error}"))
}

/// Passes each message on while the bus exists.
async fn each(
    mut arrivals: Arrivals,
    state: Weak<BusState>,
    mut refresh: impl FnMut(&Arc<BusState>, Arrived) + Send,
) {
    while let Some(message) = arrivals.next().await {
        let Some(state) = state.upgrade() else { return };
        refresh(&state, message);
    }
}

/// After each new connection, opens the stream and creates the consumers, with retries.
async fn watch_connections(state: Weak<BusState>, connected: Arc<Notify>, ready: Arc<Notify>) {
    loop {
        connected.notified().await;
        let mut pause = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        loop {
            let Some(state) = state.upgrade() else { return };
            if state.connections[0].run().is_none() || state.prepare().await.is_ok() {
                break;
            }
            ready.notify_one();
            drop(state);
            tokio::time::sleep(pause.draw()).await;
        }
        ready.notify_one();
    }
}

async fn sweep(state: Weak<BusState>) {
    loop {
        let Some(strong) = state.upgrade() else { return };
        let away = strong.settings.away;
        strong.receivers_mut().sweep(away, strong.settings.keep);
        let present = strong.receivers().present();
        strong.counts.subscriptions.set(present as i64);
        drop(strong);
        tokio::time::sleep(away / 10).await;
    }
}

impl BusState {
    fn receivers(&self) -> RwLockReadGuard<'_, Receivers> {
        self.receivers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn receivers_mut(&self) -> RwLockWriteGuard<'_, Receivers> {
        self.receivers.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The link of a receiver: always the same, so that its deliveries stay in order.
    fn connection(&self, receiver: &Receiver) -> usize {
        receiver.key() as usize % self.connections.len()
    }

    /// Opens the stream and creates consumers, including those of receivers that the server has forgotten.
    async fn prepare(&self) -> Result<(), stream::StreamError> {
        self.has_stream.store(false, Ordering::Release);
        let stored = self.jetstream.open().await?;
        let known: Vec<Arc<Receiver>> = {
            let mut receivers = self.receivers_mut();
            for (presence, pattern) in &stored {
                if receivers.get(presence).is_none() {
                    receivers.remember(presence, pattern.clone()).set_durable(true);
                }
            }
            receivers.all().cloned().collect()
        };
        for receiver in known {
            if !stored.iter().any(|(presence, _)| *presence == receiver.presence) {
                self.jetstream.admit(&receiver.presence).await?;
                receiver.set_durable(true);
            }
        }
        self.has_stream.store(true, Ordering::Release);
        Ok(())
    }

    fn acknowledge(&self, message: &Arrived) {
        let Ok(words) = object::read::<Acknowledgement>(&message.payload) else {
            self.counts.strayed.one();
            return;
        };
        // A client with permission for this subject may announce receivers of this namespace only.
        let namespace = message.subject.rsplit('.').next().unwrap_or_default();
        let from = AckSource::Namespace(namespace);
        let known = words.ack.iter().filter(|id| self.tracker.acknowledge(id, from));
        let known = known.count();
        self.counts.acknowledged.add(known as u64);
        self.counts.strayed.add((words.ack.len() - known) as u64);
    }

    /// Handles a presence message; slow work runs in a separate task.
    fn presence(self: &Arc<Self>, message: Arrived) {
        let read = Presence::read_from_subject(&message.subject, &message.payload);
        if let Ok((presence, _)) = &read
            && message.reply.is_none()
            && self.receivers().renew(presence)
        {
            return;
        }
        let Ok(receiver_key) = Arc::clone(&self.waiting).try_acquire_owned() else {
            self.counts.shed.one();
            return;
        };
        let (state, reply) = (Arc::clone(self), message.reply);
        tokio::spawn(async move {
            let _place = receiver_key;
            let reply_to_presence = match read {
                Ok((presence, pattern)) => state.admit(&presence, pattern).await,
                Err(error) => Err(error),
            };
            let Some(reply) = reply else { return };
            let reply_to_presence = PresenceReply {
                ok: reply_to_presence.is_ok(),
                coordinator: state.coordinator.clone(),
                durable: reply_to_presence == Ok(true),
                error: reply_to_presence.err(),
            };
            let bytes =
                serde_json::to_vec(&reply_to_presence).expect("strings and flags always serialize");
            // Without a connection there is no reply to send.
            let _ = state.connections[0].client.publish(reply, bytes.into()).await;
        });
    }

    /// Registers a receiver, or marks it absent; returns whether deliveries are stored for it.
    async fn admit(
        &self,
        presence: &Presence,
        pattern: crate::subscription::Pattern,
    ) -> Result<bool, String> {
        let _turn = self.admissions.acquire().await.map_err(|closed| closed.to_string())?;
        let former = self.receivers().get(presence);
        if presence.forget || presence.gone {
            let Some(former) = former else { return Ok(false) };
            former.mark_away();
            if presence.forget {
                self.drop_receiver(&former).await?;
            }
            return Ok(!presence.forget && former.is_durable());
        }
        if former.is_none() && self.receivers().all().len() >= self.settings.receivers {
            return Err(format!("the limit of {} receivers is reached", self.settings.receivers));
        }
        let was_here = former.is_some_and(|former| former.is_present() && former.is_durable());
        let receiver = self.receivers_mut().admit(presence, pattern);
        let is_new = !was_here || !receiver.is_durable();
        if is_new && self.has_stream.load(Ordering::Acquire) {
            // Also for a receiver that comes back: the server may have removed its consumer.
            receiver.set_durable(self.jetstream.admit(&receiver.presence).await.is_ok());
        }
        Ok(receiver.is_durable())
    }

    async fn drop_receiver(&self, receiver: &Receiver) -> Result<(), String> {
        self.receivers_mut().remove(receiver);
        // Without a connection the server cannot be asked, and waiting for one would delay others.
        if receiver.is_durable() && self.connections[0].run().is_some() {
            return self.jetstream.forget(&receiver.presence).await;
        }
        Ok(())
    }
}

impl Bus for Nats {
    async fn multicast(
        &self,
        message: Message,
        targets: Vec<Arc<str>>,
        semantics: Semantics,
        timeout: Duration,
    ) -> Vec<Outcome> {
        let deadline = tokio::time::Instant::now() + timeout;
        match semantics {
            Semantics::AtMostOnce => self.state.send_once(&message, targets, deadline).await,
            Semantics::AtLeastOnce => {
                self.state.until_acknowledged(&message, targets, deadline).await
            }
        }
    }

    async fn forget(&self, namespace: &str, name: &str) {
        let alone = self.state.receivers().table.alone(namespace, name);
        for receiver in alone {
            // If the server cannot drop it now, it expires with the stream's age limit.
            let _ = self.state.drop_receiver(&receiver).await;
        }
    }

    fn serves(&self, namespace: &str) -> bool {
        self.state.receivers().table.has(namespace)
    }

    fn check(&self) -> Result<(), ApiError> {
        if self.state.connections.iter().all(|connection| connection.run().is_some()) {
            return Ok(());
        }
        Err(unavailable(format!(
            "no connection to NATS at {}",
            nats_address::shown(&self.state.settings.servers)
        )))
    }

    fn effective(&self) -> Value {
        let info = self.state.connections[0].client.try_server_info();
        json!({
            "kind": "nats",
            "servers": nats_address::shown(&self.state.settings.servers),
            "version": info.map(|info| info.version),
            "durable": self.state.has_stream.load(Ordering::Acquire),
            "connections": self.state.connections.len(),
            "receivers": self.state.settings.receivers,
            "presences": self.state.settings.presences,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
