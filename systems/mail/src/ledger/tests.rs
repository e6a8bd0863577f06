use super::*;
use crate::store::discard::Discard;
use crate::store::fixtures::{envelope, send, send_to};
use crate::store::memory::Memory;
use crate::store::retained::{RetainedMessages, RetentionLimits, WhenFull};

const NONCE: &str = "0000000200000000000aabcdefabcdef-";
/// SHA-256 of `abc`, from FIPS 180-2.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn message(sent_at: u64, body: &str) -> Vec<u8> {
    let marks = format!("X-Proofload-Nonce: {NONCE}{sent_at}\r\nX-Proofload-Digest: sha256={ABC}");
    format!("From: a@x\r\n{marks}\r\n\r\n{body}").into_bytes()
}

#[tokio::test]
async fn what_is_stored_is_counted_and_its_body_checked() {
    let ledger = Ledger::new(&Registry::default());
    let store = CountedStore::new(Discard::default(), ledger.clone());
    let sent_at = monotonic();
    for content in [message(sent_at, "abc"), message(sent_at + 1, "abd"), message(sent_at, "abc")] {
        send_to(&store, &["b@y", "c@z"], &content).await.unwrap();
    }
    send(&store, b"Subject: hello\r\n\r\n").await.unwrap();
    let observed = ledger.observed();
    assert_eq!((observed.received, observed.duplicates, observed.unexpected), (2, 1, 1));
    assert_eq!((&observed.detail["intact"], &observed.detail["damaged"]), (&2.into(), &1.into()));
    assert!(observed.delivery_time.is_some());
    let counts = ledger.counts();
    assert_eq!((&counts["messages"], &counts["recipients"]), (&4.into(), &7.into()));
    assert_eq!(counts["by_recipient"]["b@y"], 4);
    assert_eq!(counts["bytes"], 3 * message(sent_at, "abc").len() + 18);
}

#[tokio::test]
async fn what_is_refused_or_breaks_off_is_not_counted() {
    let metrics = Registry::default();
    let ledger = Ledger::new(&metrics);
    let bounds = RetentionLimits { messages: 1, bytes: 2_000, full: WhenFull::Refuse };
    let store =
        CountedStore::new(Memory::new(RetainedMessages::new(bounds, &metrics)), ledger.clone());
    assert_eq!(send(&store, &[b'x'; 5_000]).await.unwrap_err().code, 452);
    let mut draft = store.begin(envelope(&["b@y"])).await.unwrap();
    draft.write(&message(1, "abc")).await.unwrap();
    drop(draft);
    assert_eq!(ledger.counts()["messages"], 0);
    assert_eq!(ledger.observed().received, 0);
    send(&store, &message(1, "abc")).await.unwrap();
    assert_eq!(send(&store, b"").await.unwrap_err().code, 452);
    assert_eq!(ledger.observed().received, 1);
    let text = metrics.render();
    assert!(text.contains("\nmail_store_refusals_total{class=\"4yz\"} 2\n"), "{text}");
    assert!(text.contains("\nmail_messages_total 1\n"), "{text}");
}
