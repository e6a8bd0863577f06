use super::*;
use crate::store::fixtures::{envelope, send};
use crate::store::memory::Memory;
use crate::store::{Draft, Store};

fn retained(messages: usize, bytes: u64, full: WhenFull) -> RetainedMessages {
    RetainedMessages::new(RetentionLimits { messages, bytes, full }, &Registry::default())
}

fn ids(retained: &RetainedMessages) -> Vec<String> {
    retained.between(0, u64::MAX, 100).iter().map(|message| message.id.to_string()).collect()
}

#[tokio::test]
async fn what_is_kept_is_what_was_sent() {
    let retained = retained(10, 1 << 20, WhenFull::Oldest);
    let store = Memory::new(retained.clone());
    let long: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
    for content in [&b""[..], b"one", &long] {
        let id = send(&store, content).await.unwrap();
        let message = retained.get(&id).unwrap();
        assert_eq!(&message.content.read().unwrap()[..], content);
        assert_eq!(message.size, content.len() as u64);
        assert_eq!(
            (message.summary.from.as_str(), &message.summary.recipients[0][..]),
            ("a@x", "b@y")
        );
    }
    assert_eq!(ids(&retained), ["3", "2", "1"]);
    assert_eq!(retained.between(1, 3, 100).len(), 1);
    assert!(retained.get("4").is_none() && retained.get("").is_none());
}

#[tokio::test]
async fn the_oldest_go_by_count_and_by_bytes() {
    let by_count = retained(2, 1 << 20, WhenFull::Oldest);
    let store = Memory::new(by_count.clone());
    for _ in 0..5 {
        send(&store, b"x").await.unwrap();
    }
    assert_eq!(ids(&by_count), ["5", "4"]);
    assert!(by_count.get("3").is_none());
    let by_bytes = retained(100, 10_000, WhenFull::Oldest);
    let store = Memory::new(by_bytes.clone());
    for _ in 0..20 {
        send(&store, &[b'x'; 2_000]).await.unwrap();
        assert!(by_bytes.state().bytes <= 10_000);
    }
    // Each takes its 2,000 bytes, its addresses and the allowance.
    assert_eq!(ids(&by_bytes), ["20", "19", "18"]);
}

#[tokio::test]
async fn the_new_one_is_refused_where_that_is_wanted() {
    let by_count = retained(2, 1 << 20, WhenFull::Refuse);
    let store = Memory::new(by_count.clone());
    let open = store.begin(envelope(&["b@y"])).await.unwrap();
    send(&store, b"x").await.unwrap();
    let refusal = send(&store, b"x").await.unwrap_err();
    assert_eq!((refusal.code, refusal.status), (452, (4, 3, 1)), "the open one has its place");
    drop(open);
    send(&store, b"x").await.unwrap();
    assert_eq!(send(&store, b"x").await.unwrap_err().code, 452);
    assert_eq!(ids(&by_count), ["2", "1"]);
    by_count.clear();
    send(&store, b"x").await.unwrap();
    let by_bytes = retained(100, 10_000, WhenFull::Refuse);
    let store = Memory::new(by_bytes.clone());
    assert_eq!(send(&store, &[b'x'; 20_000]).await.unwrap_err().code, 452);
    send(&store, &[b'x'; 8_000]).await.unwrap();
    assert_eq!(send(&store, &[b'x'; 2_000]).await.unwrap_err().code, 452);
    assert_eq!(ids(&by_bytes), ["1"]);
}

#[tokio::test]
async fn messages_under_way_are_within_the_bound_and_give_back_what_they_took() {
    for full in [WhenFull::Oldest, WhenFull::Refuse] {
        let retained = retained(100, 100_000, full);
        let store = Memory::new(retained.clone());
        let mut drafts = Vec::new();
        for _ in 0..10 {
            drafts.push(store.begin(envelope(&["b@y"])).await.unwrap());
        }
        let mut refused = 0;
        for _ in 0..20 {
            for draft in &mut drafts {
                refused += u32::from(draft.write(&[b'x'; 1_000]).await.is_err());
                assert!(retained.state().bytes <= 100_000);
            }
        }
        assert!(refused > 0, "200 KB do not fit");
        drop(drafts);
        let room = retained.state();
        assert_eq!((room.bytes, room.drafts), (0, 0), "{full:?}");
    }
}

#[tokio::test]
async fn what_is_cleared_is_gone_and_its_room_free() {
    let retained = retained(10, 1 << 20, WhenFull::Oldest);
    let store = Memory::new(retained.clone());
    for _ in 0..3 {
        send(&store, b"x").await.unwrap();
    }
    assert_eq!(retained.clear().len(), 3);
    assert!(retained.is_empty() && retained.get("1").is_none());
    assert_eq!(retained.state().bytes, 0);
    assert_eq!(send(&store, b"x").await.unwrap(), "4", "no name is given twice");
}
