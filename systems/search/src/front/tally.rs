//! The counts of all threads of a front, added up.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proxying::Counts;

/// The counts of each thread, and the connections of clients.
#[derive(Debug)]
pub(super) struct Tally {
    counts: Vec<Arc<Counts>>,
    clients: Arc<AtomicU64>,
    turned_away: AtomicU64,
}

/// An open connection of a client, counted until it is dropped.
#[derive(Debug)]
pub(super) struct OpenConnection(Arc<AtomicU64>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Tally {
    pub fn new(threads: usize) -> Self {
        let counts = (0..threads).map(|_| Arc::default()).collect();
        Self { counts, clients: Arc::default(), turned_away: AtomicU64::new(0) }
    }

    /// Those of one thread, which it alone counts up.
    pub fn of(&self, thread: usize) -> Arc<Counts> {
        Arc::clone(&self.counts[thread])
    }

    /// Connections of clients that are open.
    pub fn clients(&self) -> u64 {
        self.clients.load(Ordering::Relaxed)
    }

    pub fn admit(&self) -> OpenConnection {
        self.clients.fetch_add(1, Ordering::Relaxed);
        OpenConnection(Arc::clone(&self.clients))
    }

    pub fn turn_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    /// All of it in Prometheus's text format.
    pub fn render(&self) -> String {
        let mut text = String::new();
        let mut row = |name: &str, help: &str, value: u64| {
            // What comes and goes is named so; all else is counted up.
            let goes_down =
                ["open", "idle", "clients"].contains(&name) || name.ends_with("waiting");
            let (suffix, kind) = if goes_down { ("", "gauge") } else { ("_total", "counter") };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "# HELP front_{name}{suffix} {help}\n# TYPE front_{name}{suffix} {kind}\n\
                 front_{name}{suffix} {value}"
            );
        };
        row("clients", "Connections of clients open now.", self.clients());
        let turned_away = self.turned_away.load(Ordering::Relaxed);
        row("turned_away", "Connections closed at once because too many were open.", turned_away);
        let lists: Vec<_> = self.counts.iter().map(|counts| counts.list()).collect();
        for (place, (name, help, _)) in lists[0].iter().enumerate() {
            row(name, help, lists.iter().map(|list| list[place].2).sum());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_added_up_and_closed_connections_subtracted() {
        let tally = Tally::new(2);
        let permit = tally.admit();
        drop(tally.admit());
        tally.turn_away();
        let text = tally.render();
        assert!(text.contains("# TYPE front_clients gauge\nfront_clients 1\n"), "{text}");
        assert!(text.contains("front_turned_away_total 1\n"), "{text}");
        assert!(
            text.contains("# TYPE front_requests_total counter\nfront_requests_total 0\n"),
            "{text}"
        );
        drop(permit);
        assert_eq!(tally.clients(), 0);
    }
}
