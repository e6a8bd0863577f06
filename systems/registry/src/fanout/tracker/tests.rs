use super::*;

fn tracker() -> Arc<DeliveryTracker> {
    Arc::new(DeliveryTracker::new("c1"))
}

fn settled(tracked: &MulticastTracker) -> bool {
    let mut settled = std::pin::pin!(tracked.settled());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    settled.as_mut().poll(&mut context).is_ready()
}

const ACK: SettledBy = SettledBy::Acknowledgement;

#[test]
fn each_delivery_is_acknowledged_by_its_own_subscription_once() {
    let tracker = tracker();
    let tracked = tracker.open(&"n".into(), [(7, ACK), (8, ACK)]);
    let (one, two) = (tracker.id(tracked.number(0)), tracker.id(tracked.number(1)));
    assert_ne!(one, two);
    assert!(!tracker.acknowledge(&one, AckSource::Subscription(8)), "somebody else's delivery");
    assert!(!tracker.acknowledge(&one, AckSource::Namespace("m")), "another namespace's");
    assert_eq!(tracked.state(0), DeliveryState::Open(None));
    assert!(tracker.acknowledge(&one, AckSource::Subscription(7)));
    assert!(!tracker.acknowledge(&one, AckSource::Subscription(7)), "a duplicate");
    assert!(!settled(&tracked));
    assert!(tracker.acknowledge(&two, AckSource::Namespace("n")));
    assert!(settled(&tracked));
}

#[test]
fn what_is_no_delivery_under_way_is_not_acknowledged() {
    let tracker = tracker();
    let tracked = tracker.open(&"n".into(), [(7, ACK)]);
    for id in ["", "c1", "c1-", "c1-0", "c1-2", "c1-99", "c2-1", "c1-x", "c1-18446744073709551616"]
    {
        assert!(!tracker.acknowledge(id, AckSource::Namespace("n")), "{id}");
    }
    let id = tracker.id(tracked.number(0));
    drop(tracked);
    assert!(!tracker.acknowledge(&id, AckSource::Namespace("n")), "nobody waits for it any more");
    assert!(tracker.is_empty());
}

#[test]
fn multicasts_side_by_side_keep_their_own_accounts() {
    let tracker = tracker();
    let accounts: Vec<MulticastTracker> =
        (0..20).map(|n| tracker.open(&"n".into(), vec![(n, ACK); n as usize])).collect();
    assert_eq!(tracker.len(), 19, "an account of nothing is not kept");
    let ninth = tracker.id(accounts[9].number(8));
    assert!(tracker.acknowledge(&ninth, AckSource::Subscription(9)));
    assert_eq!(accounts[9].state(8), DeliveryState::Acknowledged);
    assert_eq!(accounts[10].state(0), DeliveryState::Open(None));
    assert!(settled(&accounts[0]));
}

#[test]
fn what_is_stored_stays_so_whatever_becomes_of_another_attempt() {
    let tracker = tracker();
    let tracked = tracker.open(&"n".into(), [(7, ACK)]);
    let number = tracked.number(0);
    assert!(tracker.put(number, DeliveryState::Stored));
    assert!(
        !tracked.put(0, DeliveryState::Open(None)),
        "the answer was faster than the next attempt"
    );
    assert!(!tracker.put(number, DeliveryState::Open(Some(FailureReason::NotStored))));
    assert_eq!(tracked.state(0), DeliveryState::Stored);
    assert!(tracker.acknowledge(&tracker.id(number), AckSource::Namespace("n")));
    assert_eq!(tracked.state(0), DeliveryState::Acknowledged);
}

#[test]
fn storage_settles_only_what_it_is_enough_for() {
    let tracker = tracker();
    let tracked = tracker.open(&"n".into(), [(1, ACK), (2, SettledBy::Storage)]);
    tracked.put(1, DeliveryState::Stored);
    tracked.put(0, DeliveryState::Stored);
    assert!(!settled(&tracked));
    tracked.put(0, DeliveryState::Acknowledged);
    assert!(settled(&tracked));
    assert!(!tracked.put(0, DeliveryState::Stored), "what is acknowledged stays so");
    assert_eq!(tracked.state(0), DeliveryState::Acknowledged);
}

#[tokio::test]
async fn whoever_waits_is_woken_by_the_last_acknowledgement() {
    let tracker = tracker();
    let tracked = tracker.open(&"n".into(), [(1, ACK), (1, ACK)]);
    let ids = [0, 1].map(|index| tracker.id(tracked.number(index)));
    let hears = Arc::clone(&tracker);
    let acknowledging = tokio::spawn(async move {
        for id in ids {
            tokio::task::yield_now().await;
            assert!(hears.acknowledge(&id, AckSource::Subscription(1)));
        }
    });
    tracked.settled().await;
    acknowledging.await.unwrap();
}

#[test]
fn every_state_has_its_outcome() {
    let status = |state: DeliveryState| state.outcome("a".into()).status;
    assert_eq!(status(DeliveryState::Open(None)), Status::Timeout);
    assert_eq!(status(DeliveryState::Open(Some(FailureReason::SlowSubscriber))), Status::Failed);
    assert_eq!(status(DeliveryState::Refused(FailureReason::NoSubscriber)), Status::Failed);
    assert_eq!(status(DeliveryState::Stored), Status::Pending);
    assert_eq!(status(DeliveryState::Acknowledged), Status::Delivered);
    assert_eq!(status(DeliveryState::Taken), Status::Delivered);
}

#[tokio::test]
async fn the_end_of_the_last_multicast_is_told() {
    let tracker = tracker();
    tracker.until_empty().await;
    let accounts = [1, 2].map(|owner| tracker.open(&"n".into(), [(owner, ACK)]));
    let waiting = Arc::clone(&tracker);
    let waits = tokio::spawn(async move { waiting.until_empty().await });
    for tracked in accounts {
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        drop(tracked);
    }
    waits.await.unwrap();
}
