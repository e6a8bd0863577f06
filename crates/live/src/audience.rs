//! What a run sends to those who watch it. Each has a bounded queue of its own: if one is slow, it misses some news, and
//! neither the run nor the others wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pages::tables::Table;
use plan::plan::Plan;
use record::Window;
use record::event::Event;
use record::summary::ListedOperation;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::view::TrialHead;

/// What may wait for one audience.
const WAITING: usize = 1_024;

/// What happens in a run.
#[derive(Debug)]
pub enum News {
    /// A trial of this plan begins.
    Begin(Box<TrialHead>, Arc<Plan>),
    /// Something happened.
    Event(Event),
    /// A window is complete.
    Window(Window),
    /// Windows that are not complete, as they are at this instant of the trial, in nanoseconds.
    Open(Vec<Window>, i64),
    /// A sentence about what happened.
    Note(String),
    /// What earlier trials say.
    Tables(Vec<Table>),
    /// The slowest operations of the trial that has ended, where it was traced.
    Slowest(Vec<ListedOperation>),
    /// The same of the trial of this arm of the plan, which runs beside the one that began: the second of a duet.
    Beside(usize, Box<News>),
}

/// How much of the news did not fit into a queue, for its reader.
pub type Missed = Arc<AtomicU64>;

/// The other end of an [`Audience`].
pub type Queue = Receiver<Arc<News>>;

/// One that watches.
#[derive(Debug)]
pub struct Audience {
    news: Sender<Arc<News>>,
    /// The beginning of a trial that did not fit into the queue: nothing makes sense without it.
    begin: Option<Arc<News>>,
    missed: Missed,
}

impl Audience {
    /// With its queue.
    pub fn new() -> (Self, Queue) {
        let (news, queue) = channel(WAITING);
        (Self { news, begin: None, missed: Missed::default() }, queue)
    }

    /// Tells it, unless its queue is full.
    pub fn send(&mut self, news: &Arc<News>) {
        if matches!(**news, News::Begin(..)) {
            self.begin = Some(Arc::clone(news));
            self.send_begin();
            return;
        }
        self.send_begin();
        if self.begin.is_some() || self.news.try_send(Arc::clone(news)).is_err() {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How much of the news it missed.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// The count of what it misses, while it goes on.
    pub fn count_of_missed(&self) -> Missed {
        Arc::clone(&self.missed)
    }

    fn send_begin(&mut self) {
        if let Some(begin) = self.begin.take()
            && let Err(TrySendError::Full(begin)) = self.news.try_send(begin)
        {
            self.begin = Some(begin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audience_that_takes_nothing_misses_news_and_no_trial() {
        let (mut audience, mut queue) = Audience::new();
        let note = Arc::new(News::Note(String::new()));
        for _ in 0..WAITING + 10 {
            audience.send(&note);
        }
        let begin = Arc::new(crate::tests::begin());
        audience.send(&begin);
        audience.send(&note);
        assert_eq!(audience.missed(), 11, "the queue is full");
        for _ in 0..WAITING {
            assert!(matches!(&*queue.try_recv().expect("it waits"), News::Note(_)));
        }
        audience.send(&note);
        assert!(matches!(&*queue.try_recv().expect("it is first"), News::Begin(..)));
        assert!(matches!(&*queue.try_recv().expect("it follows"), News::Note(_)));
        assert_eq!(audience.missed(), 11);
    }
}
