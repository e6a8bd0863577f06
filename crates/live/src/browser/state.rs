//! What all viewers of a page share.

use std::cell::RefCell;
use std::rc::Rc;

use tokio::sync::watch;

use super::frame::{Point, State, json};
use super::history::History;
use crate::audience::News;
use crate::metrics::Metrics;
use crate::view::RunView;

/// Shared by everything on the thread of the server.
pub type Shared = Rc<RefCell<Live>>;

/// The newest state of the run.
#[derive(Debug)]
pub struct Live {
    view: RunView,
    /// For other programs.
    pub metrics: Metrics,
    /// The charts of the trial.
    pub history: History,
    /// Number of the trial that is shown, from 1.
    pub trial: u64,
    /// Grows with each state.
    pub version: u64,
    /// The state without its points, as JSON.
    pub state: String,
    /// The report as a page, when the run is over.
    pub report: Option<Rc<str>>,
    changed: watch::Sender<u64>,
}

impl Live {
    /// Before the first trial.
    pub fn new(view: RunView, metrics: Metrics) -> Self {
        let (changed, _) = watch::channel(0);
        let history = History::new(0);
        let mut live = Self {
            view,
            metrics,
            history,
            trial: 0,
            version: 0,
            state: String::new(),
            report: None,
            changed,
        };
        live.publish();
        live
    }

    /// Takes note of what happened.
    pub fn take(&mut self, news: &News) {
        self.view.take(news);
        self.metrics.take(news);
        match news {
            News::Begin(..) => {
                self.trial += 1;
                self.history = History::new(self.version);
            }
            // The view keeps a minute, and many seconds may come at once.
            News::Window(_) => {
                let changed = self.view.refresh_seconds();
                self.keep(&changed);
            }
            _ => {}
        }
    }

    /// For the next version.
    fn keep(&mut self, changed: &[u64]) {
        for second in changed.iter().filter_map(|at| self.view.seconds.get(at)) {
            self.history.add(Point::of(second), self.version + 1);
        }
    }

    /// Shows what is known now.
    pub fn publish(&mut self) {
        let changed = self.view.refresh();
        self.keep(&changed);
        self.version += 1;
        self.state = json(&State::of(&self.view));
        self.changed.send_replace(self.version);
    }

    /// Shows the report, after which nothing follows.
    pub fn end(&mut self, report: Option<String>) {
        self.report = Some(report.unwrap_or_default().into());
        self.publish();
    }

    /// Tells when there is something newer.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}
