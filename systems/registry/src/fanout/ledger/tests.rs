use super::*;

fn ledger() -> Arc<Ledger> {
    Arc::new(Ledger::new("c1"))
}

fn settled(account: &Account) -> bool {
    let mut settled = std::pin::pin!(account.settled());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    settled.as_mut().poll(&mut context).is_ready()
}

const ACK: Enough = Enough::Acknowledgement;

#[test]
fn each_delivery_is_acknowledged_by_its_own_subscription_once() {
    let ledger = ledger();
    let account = ledger.open(&"n".into(), [(7, ACK), (8, ACK)]);
    let (one, two) = (ledger.id(account.number(0)), ledger.id(account.number(1)));
    assert_ne!(one, two);
    assert!(!ledger.acknowledge(&one, Speaker::Subscription(8)), "somebody else's delivery");
    assert!(!ledger.acknowledge(&one, Speaker::Namespace("m")), "another namespace's");
    assert_eq!(account.state(0), State::Open(None));
    assert!(ledger.acknowledge(&one, Speaker::Subscription(7)));
    assert!(!ledger.acknowledge(&one, Speaker::Subscription(7)), "a duplicate");
    assert!(!settled(&account));
    assert!(ledger.acknowledge(&two, Speaker::Namespace("n")));
    assert!(settled(&account));
}

#[test]
fn what_is_no_delivery_under_way_is_not_acknowledged() {
    let ledger = ledger();
    let account = ledger.open(&"n".into(), [(7, ACK)]);
    for id in ["", "c1", "c1-", "c1-0", "c1-2", "c1-99", "c2-1", "c1-x", "c1-18446744073709551616"]
    {
        assert!(!ledger.acknowledge(id, Speaker::Namespace("n")), "{id}");
    }
    let id = ledger.id(account.number(0));
    drop(account);
    assert!(!ledger.acknowledge(&id, Speaker::Namespace("n")), "nobody waits for it any more");
    assert!(ledger.is_empty());
}

#[test]
fn multicasts_side_by_side_keep_their_own_accounts() {
    let ledger = ledger();
    let accounts: Vec<Account> =
        (0..20).map(|n| ledger.open(&"n".into(), vec![(n, ACK); n as usize])).collect();
    assert_eq!(ledger.len(), 19, "an account of nothing is not kept");
    let ninth = ledger.id(accounts[9].number(8));
    assert!(ledger.acknowledge(&ninth, Speaker::Subscription(9)));
    assert_eq!(accounts[9].state(8), State::Acknowledged);
    assert_eq!(accounts[10].state(0), State::Open(None));
    assert!(settled(&accounts[0]));
}

#[test]
fn what_is_stored_stays_so_whatever_becomes_of_another_attempt() {
    let ledger = ledger();
    let account = ledger.open(&"n".into(), [(7, ACK)]);
    let number = account.number(0);
    assert!(ledger.put(number, State::Stored));
    assert!(!account.put(0, State::Open(None)), "the answer was faster than the next attempt");
    assert!(!ledger.put(number, State::Open(Some(Why::NotStored))));
    assert_eq!(account.state(0), State::Stored);
    assert!(ledger.acknowledge(&ledger.id(number), Speaker::Namespace("n")));
    assert_eq!(account.state(0), State::Acknowledged);
}

#[test]
fn storage_settles_only_what_it_is_enough_for() {
    let ledger = ledger();
    let account = ledger.open(&"n".into(), [(1, ACK), (2, Enough::Storage)]);
    account.put(1, State::Stored);
    account.put(0, State::Stored);
    assert!(!settled(&account));
    account.put(0, State::Acknowledged);
    assert!(settled(&account));
    assert!(!account.put(0, State::Stored), "what is acknowledged stays so");
    assert_eq!(account.state(0), State::Acknowledged);
}

#[tokio::test]
async fn whoever_waits_is_woken_by_the_last_acknowledgement() {
    let ledger = ledger();
    let account = ledger.open(&"n".into(), [(1, ACK), (1, ACK)]);
    let ids = [0, 1].map(|index| ledger.id(account.number(index)));
    let hears = Arc::clone(&ledger);
    let acknowledging = tokio::spawn(async move {
        for id in ids {
            tokio::task::yield_now().await;
            assert!(hears.acknowledge(&id, Speaker::Subscription(1)));
        }
    });
    account.settled().await;
    acknowledging.await.unwrap();
}

#[test]
fn every_state_has_its_outcome() {
    let status = |state: State| state.outcome("a".into()).status;
    assert_eq!(status(State::Open(None)), Status::Timeout);
    assert_eq!(status(State::Open(Some(Why::SlowSubscriber))), Status::Failed);
    assert_eq!(status(State::Refused(Why::NoSubscriber)), Status::Failed);
    assert_eq!(status(State::Stored), Status::Pending);
    assert_eq!(status(State::Acknowledged), Status::Delivered);
    assert_eq!(status(State::Taken), Status::Delivered);
}

#[tokio::test]
async fn the_end_of_the_last_multicast_is_told() {
    let ledger = ledger();
    ledger.emptied().await;
    let accounts = [1, 2].map(|owner| ledger.open(&"n".into(), [(owner, ACK)]));
    let waiting = Arc::clone(&ledger);
    let waits = tokio::spawn(async move { waiting.emptied().await });
    for account in accounts {
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        drop(account);
    }
    waits.await.unwrap();
}
