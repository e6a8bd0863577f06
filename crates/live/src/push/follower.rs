//! The thread of a destination: one task makes requests of the news, the other sends them.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use prost::Message;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::backlog::{Backlog, Content, Request};
use super::destination::{Destination, Protocol};
use super::otlp_spans::{self, Spans};
use super::poster::{Answer, Poster};
use super::snapshot::{Calendar, snapshot};
use super::{Delivered, Pace};
use crate::audience::{Missed, News, Queue};
use crate::metrics::Metrics;

/// What both tasks share.
struct Shared {
    backlog: RefCell<Backlog>,
    /// Something waits, or nothing more comes.
    changed: Notify,
    /// Nothing more comes: no pause is worth its time any more.
    closing: Notify,
    is_closed: RefCell<bool>,
}

/// Sends until the run is over and, for a few seconds more, what waits.
///
/// Errors: the system gives no event loop
pub fn run(
    destination: Destination,
    pace: Pace,
    (queue, missed): (Queue, Missed),
    say: Sender<String>,
) -> io::Result<Delivered> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let shared = Rc::new(Shared {
        backlog: RefCell::new(Backlog::new(pace.keep)),
        changed: Notify::new(),
        closing: Notify::new(),
        is_closed: RefCell::new(false),
    });
    let protocol = destination.protocol;
    let mut messenger = Messenger::new(&destination, say);
    let mut poster = Poster::new(destination, pace.timeout);
    runtime.block_on(async {
        let send = deliver(&mut poster, pace, &shared, &mut messenger);
        tokio::pin!(send);
        tokio::select! {
            () = follow(queue, missed, (protocol, pace.every), &shared) => {}
            () = &mut send => {}
        }
        let _ = timeout(pace.last, send).await;
    });
    // A name that is still being looked up must not hold the thread.
    runtime.shutdown_background();
    let mut backlog = shared.backlog.borrow_mut();
    backlog.drop_all();
    if let Some(reason) = messenger.last.filter(|_| backlog.delivered.dropped > 0) {
        // Nobody listens any more after the end.
        let _ = messenger.say.send(format!("the last trouble with {}: {reason}", messenger.shown));
    }
    Ok(backlog.delivered)
}

/// Makes requests at every instant, when series begin, and at the end.
async fn follow(
    mut queue: Queue,
    missed: Missed,
    (protocol, every): (Protocol, Duration),
    shared: &Shared,
) {
    let mut calendar = Calendar::new();
    let mut metrics = Metrics::new(calendar.since, missed);
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut spans = Spans::default();
    let push = |requests: Vec<Request>| {
        requests.into_iter().for_each(|request| shared.backlog.borrow_mut().push(request));
        shared.changed.notify_one();
    };
    loop {
        tokio::select! {
            news = queue.recv() => {
                let Some(news) = news else { break };
                let arms = metrics.arms.len();
                metrics.take(&news);
                if protocol == Protocol::Otlp {
                    push(spans.take(&news).into_iter().map(|made| spans_request(made, calendar.now())).collect());
                }
                // From zero: what grows before the first sample of a series is no growth for Prometheus.
                if matches!(*news, News::Begin(..)) && metrics.arms.len() > arms {
                    push(snapshot(&metrics, &mut calendar, protocol, false));
                }
            }
            _ = ticks.tick() => push(snapshot(&metrics, &mut calendar, protocol, false)),
        }
    }
    push(snapshot(&metrics, &mut calendar, protocol, false));
    push(snapshot(&metrics, &mut calendar, protocol, true));
    *shared.is_closed.borrow_mut() = true;
    shared.closing.notify_one();
    shared.changed.notify_one();
}

fn spans_request((message, spans): (otlp_spans::ExportRequest, u64), at: Duration) -> Request {
    let body = message.encode_to_vec().into();
    Request { body, content: Content::Spans, samples: spans, at }
}

/// Sends what waits, the oldest first, until nothing more comes.
async fn deliver(poster: &mut Poster, pace: Pace, shared: &Shared, messenger: &mut Messenger) {
    let mut pause = pace.pause;
    loop {
        let next = shared.backlog.borrow_mut().next();
        let Some(request) = next else {
            if *shared.is_closed.borrow() {
                return;
            }
            shared.changed.notified().await;
            continue;
        };
        // If time is up while it is on its way, nobody knows whether it arrived: it counts as dropped.
        let mut on_its_way = OnItsWay { shared, samples: request.samples };
        let answer = poster.post(request.content, request.body.clone()).await;
        let samples = std::mem::take(&mut on_its_way.samples);
        match answer {
            Answer::Taken => {
                shared.backlog.borrow_mut().delivered.sent += samples;
                pause = pace.pause;
            }
            Answer::Refused(reason) => {
                shared.backlog.borrow_mut().delivered.dropped += samples;
                messenger.refused(request.content, &reason);
            }
            Answer::Later(asked, reason) => {
                messenger.late(request.content, &reason);
                shared.backlog.borrow_mut().put_back(request);
                let wait = asked.unwrap_or(pause).max(pause).min(pace.longest_pause);
                pause = (2 * pause).min(pace.longest_pause);
                tokio::select! {
                    () = sleep(wait) => {}
                    () = shared.closing.notified() => pause = pace.pause,
                }
            }
        }
    }
}

/// Samples of a request that has no answer yet.
struct OnItsWay<'a> {
    shared: &'a Shared,
    samples: u64,
}

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        self.shared.backlog.borrow_mut().delivered.dropped += self.samples;
    }
}

/// Says each kind of trouble once.
struct Messenger {
    shown: String,
    /// Why the last request was not taken, unless that was said.
    last: Option<String>,
    /// Those that were said.
    reasons: Vec<String>,
    say: Sender<String>,
    said: [bool; 3],
}

impl Messenger {
    fn new(destination: &Destination, say: Sender<String>) -> Self {
        Self {
            shown: destination.shown.clone(),
            last: None,
            reasons: Vec::new(),
            say,
            said: [false; 3],
        }
    }

    fn late(&mut self, content: Content, reason: &str) {
        let (shown, what) = (&self.shown, content.name());
        self.once(
            0,
            format!("{shown} takes no {what} now ({reason}); they are sent again"),
            reason,
        );
    }

    fn refused(&mut self, content: Content, reason: &str) {
        let (shown, what) = (&self.shown, content.name());
        let kind = if content == Content::Metrics { 1 } else { 2 };
        self.once(kind, format!("{shown} refuses {what} ({reason}); they are dropped"), reason);
    }

    fn once(&mut self, kind: usize, text: String, reason: &str) {
        if std::mem::replace(&mut self.said[kind], true) {
            self.last = (!self.reasons.iter().any(|one| one == reason)).then(|| reason.to_owned());
            return;
        }
        self.reasons.push(reason.to_owned());
        self.last = None;
        // Nobody listens any more after the end.
        let _ = self.say.send(text);
    }
}
