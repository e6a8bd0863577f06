//! Many clients at once, every nonce and every checksum looked at.

use std::sync::Arc;
use std::time::Duration;

use exchange::request::{DataRequest, Wanted};
use exchange::transport::Transport;
use exchange::transports::Shm;
use serving::options::Options;

use super::{TestProducer, bytes, fetch};

const CLIENTS: u64 = 64;
const ASKED: [Wanted; 4] =
    [Wanted::Bytes(1_024), Wanted::Users(1), Wanted::Users(20), Wanted::Bytes(9_000)];

/// One client's exchanges, with nonces that no other has.
async fn talk(way: Arc<impl Transport>, client: u64, exchanges: u64) {
    for turn in 0..exchanges {
        let ask =
            DataRequest { what: ASKED[turn as usize % ASKED.len()], nonce: client << 32 | turn };
        fetch(&*way, ask).await.unwrap();
    }
}

/// Short form: 64 clients with 60 exchanges each; `PROOFLOAD_PROOF=1`: a million in all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_clients_have_a_connection_each() {
    let is_long = std::env::var_os("PROOFLOAD_PROOF").is_some();
    let exchanges = if is_long { 1_000_000 / CLIENTS } else { 60 };
    let house = TestProducer::start(Options::default().with("workers", 2));
    let talks =
        (0..CLIENTS).map(|client| tokio::spawn(talk(Arc::new(house.shm()), client, exchanges)));
    for talk in talks.collect::<Vec<_>>() {
        talk.await.unwrap();
    }
}

/// More than there are slots, so that some wait for room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_tasks_share_a_connection_of_eight_slots() {
    let house =
        TestProducer::start(Options::default().with("slots", 8).with("answer_room", "16KiB"));
    for spin in [Duration::ZERO, Duration::from_micros(20)] {
        let shm = Arc::new(Shm::new(house.path("shm"), spin));
        let talks = (0..100).map(|client| tokio::spawn(talk(shm.clone(), client, 20)));
        for talk in talks.collect::<Vec<_>>() {
            talk.await.unwrap();
        }
    }
}

#[tokio::test]
async fn tasks_of_one_thread_share_a_connection_of_each_way() {
    let house = TestProducer::start(Options::default());
    let (http, unix, shm) = (Arc::new(house.http()), Arc::new(house.unix()), Arc::new(house.shm()));
    let mut talks = Vec::new();
    for client in 0..20 {
        talks.push(tokio::spawn(talk(http.clone(), client, 5)));
        talks.push(tokio::spawn(talk(unix.clone(), client, 5)));
        talks.push(tokio::spawn(talk(shm.clone(), client, 5)));
    }
    for talk in talks {
        talk.await.unwrap();
    }
}

/// Questions that are dropped at any moment leave nothing behind that others stumble over.
#[tokio::test]
async fn questions_may_be_dropped_at_any_moment() {
    let house = TestProducer::start(Options::default().with("slots", 2));
    for spin in [Duration::ZERO, Duration::from_micros(20)] {
        let shm = Shm::new(house.path("shm"), spin);
        for polls in 0..60_u64 {
            let ask = bytes(1_024, polls);
            {
                let mut asking = std::pin::pin!(shm.fetch(&ask, Duration::from_secs(5)));
                for _ in 0..polls % 6 {
                    let is_done = std::future::poll_fn(|context| {
                        std::task::Poll::Ready(asking.as_mut().poll(context).is_ready())
                    });
                    if is_done.await {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            }
            fetch(&shm, bytes(1_024, 1_000 + polls)).await.unwrap();
        }
    }
}
