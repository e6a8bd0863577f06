//! Streams of HTTP/2: each runs as a task of its own, and ends with its connection.
//!
//! A stream whose client takes nothing of its answer for too long is given up, by a reset, and the others go on. Of a
//! connection that has one answer at a time the kernel sees to that; here a client may read on and leave the window of one
//! stream shut.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::rt::Executor;
use serving::metrics::Counter;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

tokio::task_local! {
    /// Of the stream whose task it is; there is none over HTTP/1.1.
    static PROGRESS: Arc<Progress>;
}

/// How far the client has taken an answer's body, as the body reports it to the task of its stream.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Odd while the client has a piece to take.
    steps: AtomicU64,
}

impl Progress {
    /// That of the stream within whose task it is called.
    pub fn here() -> Option<Arc<Self>> {
        PROGRESS.try_with(Arc::clone).ok()
    }

    /// A piece was handed out.
    pub fn hand_out(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// The next one is asked for, so that the one before was taken.
    pub fn is_asked(&self) {
        if self.steps.load(Ordering::Relaxed) % 2 == 1 {
            self.steps.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The streams of one connection that run; they end when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Running(Arc<Mutex<JoinSet<()>>>);

impl Drop for Running {
    fn drop(&mut self) {
        // Each of them holds on to what runs it, and would do so for as long as it runs.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

/// Runs streams.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    running: Arc<Mutex<JoinSet<()>>>,
    /// Within twice this time a client must take a piece of an answer.
    patience: Duration,
    given_up: Counter,
    /// Nothing is sent: that the last one is dropped says that no stream runs any more.
    held: mpsc::Sender<Infallible>,
}

impl Running {
    /// Runs more of them.
    pub fn streams(
        &self,
        patience: Duration,
        given_up: Counter,
        held: mpsc::Sender<Infallible>,
    ) -> Streams {
        Streams { running: Arc::clone(&self.0), patience, given_up, held }
    }
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let (patience, given_up, held) = (self.patience, self.given_up.clone(), self.held.clone());
        let run = async move {
            let _held = held;
            if !live(stream, patience).await {
                given_up.one();
            }
        };
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        running.spawn(run);
    }
}

/// Runs a stream; whether it came to its end.
async fn live(stream: impl Future<Output = ()>, patience: Duration) -> bool {
    let progress = Arc::<Progress>::default();
    let mut stream = pin!(PROGRESS.scope(Arc::clone(&progress), stream));
    let mut before = 0;
    loop {
        if timeout(patience, stream.as_mut()).await.is_ok() {
            return true;
        }
        let now = progress.steps.load(Ordering::Relaxed);
        if now == before && now % 2 == 1 {
            return false;
        }
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::mpsc::error::TryRecvError;
    use tokio::time::{Instant, sleep};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_nothing_is_given_up() {
        let begun = Instant::now();
        let stuck = async {
            sleep(PATIENCE / 2).await;
            Progress::here().unwrap().hand_out();
            pending().await
        };
        assert!(!live(stuck, PATIENCE).await);
        assert!((PATIENCE..=PATIENCE * 3).contains(&begun.elapsed()));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_or_takes_slowly_is_not() {
        let slow = async {
            let progress = Progress::here().unwrap();
            // As long as the upstream needs.
            sleep(PATIENCE * 10).await;
            for _ in 0..5 {
                progress.is_asked();
                sleep(PATIENCE * 3).await;
                progress.hand_out();
                sleep(PATIENCE * 9 / 10).await;
            }
        };
        assert!(live(slow, PATIENCE).await);
        assert!(Progress::here().is_none());
    }

    #[tokio::test]
    async fn streams_end_with_their_connection() {
        let (held, mut all_gone) = mpsc::channel(1);
        let running = Running::default();
        let streams = running.streams(PATIENCE, Counter::default(), held);
        for _ in 0..3 {
            // As hyper's do, they hold on to what runs them.
            let own = streams.clone();
            streams.execute(async move {
                let _own = own;
                pending().await
            });
        }
        streams.execute(async {});
        drop(streams);
        assert!(all_gone.try_recv().is_err_and(|error| error == TryRecvError::Empty));
        drop(running);
        assert_eq!(all_gone.recv().await, None);
    }
}
