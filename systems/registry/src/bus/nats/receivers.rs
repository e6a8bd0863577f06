//! Receivers on NATS: their names, their presence, and the identities that they serve.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::Subject;
use tokio::time::Instant;

use super::presence::Presence;
use crate::subscription::table::Table;
use crate::subscription::{Pattern, Subscriber};

/// A receiver that announced itself or has a consumer in the stream.
#[derive(Debug)]
pub(super) struct Receiver {
    key: u64,
    namespace: Arc<str>,
    pub(super) pattern: Pattern,
    /// Its last presence message.
    pub(super) presence: Presence,
    pub(super) subject: Subject,
    pub(super) stored: Subject,
    present: AtomicBool,
    durable: AtomicBool,
    heard: Mutex<Instant>,
}

impl Subscriber for Receiver {
    fn key(&self) -> u64 {
        self.key
    }

    fn is_present(&self) -> bool {
        self.present.load(Ordering::Acquire)
    }
}

impl Receiver {
    /// Whether the stream stores deliveries for it.
    pub(super) fn is_durable(&self) -> bool {
        self.durable.load(Ordering::Acquire)
    }

    pub(super) fn set_durable(&self, durable: bool) {
        self.durable.store(durable, Ordering::Release);
    }

    /// Marks it absent; its next presence makes it present again.
    pub(super) fn mark_away(&self) -> bool {
        self.present.swap(false, Ordering::AcqRel)
    }

    fn refresh(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.present.store(true, Ordering::Release);
    }

    fn silent_for(&self) -> Duration {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    fn is_unchanged(&self, presence: &Presence) -> bool {
        self.presence.pattern == presence.pattern && self.presence.subject == presence.subject
    }
}

type ReceiverKey = (Arc<str>, String);

/// All receivers and the identities that they serve.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    pub(super) table: Table<Receiver>,
    known: HashMap<ReceiverKey, Arc<Receiver>>,
    next_key: u64,
}

impl Receivers {
    /// Renews a present receiver whose message is unchanged; `false` if more has to be done.
    pub(super) fn renew(&self, presence: &Presence) -> bool {
        let Some(known) = self.known.get(&receiver_key(presence)) else { return false };
        let plain = known.is_present() && known.is_unchanged(presence);
        if plain && !presence.gone && !presence.forget {
            known.refresh();
        }
        plain && known.is_durable() && !presence.gone && !presence.forget
    }

    /// Adds or updates a present receiver: it takes precedence over others with its pattern.
    pub(super) fn admit(&mut self, presence: &Presence, pattern: Pattern) -> Arc<Receiver> {
        let receiver = self.remember(presence, pattern);
        receiver.refresh();
        receiver
    }

    /// Adds or updates a receiver that may be absent.
    pub(super) fn remember(&mut self, presence: &Presence, pattern: Pattern) -> Arc<Receiver> {
        let (namespace, name) = receiver_key(presence);
        let former = self.known.get(&(Arc::clone(&namespace), name.clone()));
        let receiver = match former.cloned() {
            Some(former) if former.is_unchanged(presence) => {
                if former.is_present() {
                    return former;
                }
                self.table.remove(&namespace, &former.pattern, former.key);
                former
            }
            former => {
                if let Some(former) = &former {
                    self.table.remove(&namespace, &former.pattern, former.key);
                }
                self.next_key += 1;
                Arc::new(Receiver {
                    key: self.next_key,
                    namespace: Arc::clone(&namespace),
                    pattern,
                    subject: presence.subject.clone().into(),
                    stored: presence.stored().into(),
                    presence: presence.clone(),
                    present: AtomicBool::new(false),
                    durable: AtomicBool::new(false),
                    heard: Mutex::new(Instant::now()),
                })
            }
        };
        self.table.insert(&namespace, &receiver.pattern, Arc::clone(&receiver));
        self.known.insert((namespace, name), Arc::clone(&receiver));
        receiver
    }

    /// The receiver of this presence message.
    pub(super) fn get(&self, presence: &Presence) -> Option<Arc<Receiver>> {
        self.known.get(&receiver_key(presence)).cloned()
    }

    /// Removes a receiver for good.
    pub(super) fn remove(&mut self, receiver: &Receiver) {
        self.table.remove(&receiver.namespace, &receiver.pattern, receiver.key);
        let receiver_key = receiver_key(&receiver.presence);
        if self.known.get(&receiver_key).is_some_and(|known| known.key == receiver.key) {
            self.known.remove(&receiver_key);
        }
    }

    /// Marks receivers as absent after `away` without a message, and removes those that were absent
    /// for longer than their deliveries are stored.
    pub(super) fn sweep(&mut self, away: Duration, keep: Duration) {
        let silent = |receiver: &&Arc<Receiver>| receiver.silent_for() >= away;
        let silent: Vec<_> = self.known.values().filter(silent).cloned().collect();
        for receiver in silent {
            receiver.mark_away();
            if !receiver.is_durable() || receiver.silent_for() >= keep {
                self.remove(&receiver);
            }
        }
    }

    /// All known receivers.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = &Arc<Receiver>> {
        self.known.values()
    }

    /// Number of present receivers.
    pub(super) fn present(&self) -> usize {
        self.known.values().filter(|receiver| receiver.is_present()).count()
    }
}

fn receiver_key(presence: &Presence) -> ReceiverKey {
    (presence.namespace.as_str().into(), presence.receiver.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscription::table::ReceiverScope;

    fn admit(receivers: &mut Receivers, presence: &Presence) -> Arc<Receiver> {
        receivers.admit(presence, presence.pattern.parse().unwrap())
    }

    fn serving(receivers: &Receivers, scope: ReceiverScope) -> Option<String> {
        let serving = receivers.table.serving("n", "user-1", scope)?;
        Some(serving.presence.receiver.clone())
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_silent_is_away_and_serves_again_when_back() {
        let (away, keep) = (Duration::from_secs(5), Duration::from_secs(60));
        let mut receivers = Receivers::default();
        let one = Presence::sample("one", "user-*");
        admit(&mut receivers, &one).set_durable(true);
        tokio::time::advance(away / 2).await;
        assert!(receivers.renew(&one));
        tokio::time::advance(away / 2).await;
        receivers.sweep(away, keep);
        assert_eq!(serving(&receivers, ReceiverScope::Present), Some("one".into()));
        tokio::time::advance(away / 2).await;
        receivers.sweep(away, keep);
        assert_eq!(serving(&receivers, ReceiverScope::Present), None);
        assert_eq!(serving(&receivers, ReceiverScope::Known), Some("one".into()));
        assert!(!receivers.renew(&one), "it has to be admitted again");
        admit(&mut receivers, &one);
        assert_eq!(serving(&receivers, ReceiverScope::Present), Some("one".into()));
        assert_eq!(receivers.present(), 1);
        tokio::time::advance(keep).await;
        receivers.sweep(away, keep);
        assert_eq!(receivers.all().len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_back_serves_before_who_came_meanwhile() {
        let mut receivers = Receivers::default();
        for name in ["one", "two"] {
            admit(&mut receivers, &Presence::sample(name, "user-*")).set_durable(true);
        }
        assert_eq!(serving(&receivers, ReceiverScope::Present), Some("two".into()));
        let one = Presence::sample("one", "user-*");
        admit(&mut receivers, &one);
        assert_eq!(
            serving(&receivers, ReceiverScope::Present),
            Some("two".into()),
            "it never was away"
        );
        assert!(receivers.get(&one).unwrap().mark_away());
        admit(&mut receivers, &one);
        assert_eq!(serving(&receivers, ReceiverScope::Present), Some("one".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_serves_what_it_said_last_and_leaves_nothing_behind() {
        let mut receivers = Receivers::default();
        admit(&mut receivers, &Presence::sample("one", "user-*"));
        let other = admit(&mut receivers, &Presence::sample("one", "else"));
        assert_eq!(serving(&receivers, ReceiverScope::Known), None);
        assert_eq!(receivers.all().len(), 1);
        receivers.remove(&other);
        assert_eq!(receivers.all().len(), 0);
        admit(&mut receivers, &Presence::sample("brief", "*"));
        tokio::time::advance(Duration::from_secs(9)).await;
        receivers.sweep(Duration::from_secs(5), Duration::from_secs(60));
        assert_eq!(receivers.all().len(), 0, "nothing is stored for it");
    }
}
