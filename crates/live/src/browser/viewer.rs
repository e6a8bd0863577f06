//! One who watches: a stream of server-sent events, each made when the one before it has been taken.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;

use super::frame::json;
use super::state::{Live, Shared};

/// Silence is broken after so long, so that a viewer who is gone is noticed.
const SILENCE: Duration = Duration::from_secs(15);

/// What a viewer has seen.
#[derive(Debug)]
pub struct Viewer {
    live: Shared,
    changes: watch::Receiver<u64>,
    trial: u64,
    version: u64,
    /// Versions that were replaced before this viewer could take them.
    skipped: u64,
    over: bool,
}

impl Viewer {
    /// Who has seen nothing.
    pub fn new(live: &Shared) -> Self {
        let changes = live.borrow().changes();
        Self { live: Shared::clone(live), changes, trial: 0, version: 0, skipped: 0, over: false }
    }

    /// The next event; `None` after the report.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.over {
                return None;
            }
            if let Some(event) = self.event() {
                return Some(event.into());
            }
            match tokio::time::timeout(SILENCE, self.changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return None,
                Err(_) => return Some(Bytes::from_static(b":\n\n")),
            }
        }
    }

    fn event(&mut self) -> Option<String> {
        let shared = Shared::clone(&self.live);
        let live = shared.borrow();
        if self.version < live.version {
            return Some(self.frame(&live));
        }
        let report = live.report.as_deref()?;
        self.over = true;
        let report = serde_json::to_string(report).unwrap_or_default();
        Some(format!("event: report\ndata: {report}\n\n"))
    }

    fn frame(&mut self, live: &Live) -> String {
        let is_new = self.trial != live.trial || self.version < live.history.since;
        if self.version > 0 {
            self.skipped += live.version - self.version - 1;
        }
        let after = if is_new { 0 } else { self.version };
        let points: Vec<_> = live.history.after(after).collect();
        let mut frame = String::from("event: frame\ndata: {");
        let _ = write!(
            frame,
            "\"new\":{is_new},\"step\":{},\"skipped\":{},\"points\":{},\"state\":{}}}\n\n",
            live.history.step,
            self.skipped,
            json(&points),
            live.state
        );
        self.trial = live.trial;
        self.version = live.version;
        frame
    }
}
