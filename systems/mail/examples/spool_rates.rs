//! Measures messages per second into a maildir, by number of concurrent messages. For comparison, the same run
//! measures the disk itself: files that are written and synced one after another.
//!
//! `cargo run --release -p mail --example spool_rates -- FOLDER`, with a folder on the disk to measure. The figures
//! hold for one machine and one moment; the ratios are more general.

#![expect(clippy::unwrap_used, reason = "a failed measurement is a panic")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mail::envelope::{Content, Envelope};
use mail::store::maildir::Maildir;
use mail::store::retained::{RetainedMessages, RetentionLimits, WhenFull};
use mail::store::{Draft, Store};
use serving::metrics::Registry;
use tokio::task::JoinSet;

/// Length of each case.
const TIME: Duration = Duration::from_secs(4);

#[tokio::main]
async fn main() {
    let folder = std::env::args().nth(1).expect("a folder on the disk that is in question");
    let folder = Path::new(&folder).join(format!("store-rates-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for bytes in [1 << 10, 100 << 10] {
        let bare = bare(&folder, bytes);
        say(&format!("{bytes} bytes\n  bare, one after the other: {bare:>8.0}/s"));
        for senders in [1, 20, 100] {
            let (rate, syncs) = measure(&folder.join("box"), bytes, senders).await;
            say(&format!(
                "  {senders:>3} senders: {rate:>8.0}/s, {:.1} times bare, {:.1} messages a sync of the folder",
                rate / bare,
                rate / syncs,
            ));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
}

/// Files created, written and synced per second.
fn bare(folder: &Path, bytes: usize) -> f64 {
    let (content, begun, mut made) = (vec![b'x'; bytes], Instant::now(), 0_u32);
    while begun.elapsed() < TIME {
        let mut file = File::create(folder.join(format!("bare-{bytes}-{made}"))).unwrap();
        file.write_all(&content).unwrap();
        file.sync_all().unwrap();
        made += 1;
    }
    f64::from(made) / TIME.as_secs_f64()
}

/// Messages per second, and syncs of the folder per second.
async fn measure(folder: &Path, bytes: usize, senders: usize) -> (f64, f64) {
    let metrics = Registry::default();
    let bounds = RetentionLimits { messages: 1_000, bytes: 1 << 20, full: WhenFull::Oldest };
    let retained = RetainedMessages::new(bounds, &metrics);
    let store = Arc::new(Maildir::open(folder, "mail.example", retained, &metrics).unwrap());
    let (mut all, begun) = (JoinSet::new(), Instant::now());
    for _ in 0..senders {
        all.spawn(send(Arc::clone(&store), vec![b'x'; bytes], begun));
    }
    let sent: u32 = all.join_all().await.into_iter().sum();
    let seconds = begun.elapsed().as_secs_f64();
    let text = metrics.render();
    let syncs = text.lines().find_map(|line| line.strip_prefix("mail_folder_syncs_total "));
    let syncs: f64 = syncs.unwrap().parse().unwrap();
    (f64::from(sent) / seconds, syncs / seconds)
}

async fn send(store: Arc<Maildir>, content: Vec<u8>, begun: Instant) -> u32 {
    let mut sent = 0;
    while begun.elapsed() < TIME {
        let mut draft = store.begin(envelope()).await.unwrap();
        draft.write(&content).await.unwrap();
        draft.commit().await.unwrap();
        sent += 1;
    }
    sent
}

fn envelope() -> Envelope {
    Envelope {
        peer: "192.0.2.1:25".parse().unwrap(),
        client: "client.example".to_owned(),
        user: None,
        tls: None,
        from: "a@x".to_owned(),
        recipients: vec!["b@y".to_owned()],
        content: Content::EightBit,
        is_utf8: false,
        announced: None,
    }
}
