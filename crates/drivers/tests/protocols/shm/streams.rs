//! Several streams on one connection: each has its own answers, and none is forgotten when another goes.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use drivers::shm::driver::Shm;
use engine::driver::{Driver, Exchange};
use record::{FailureKind, Outcome};
use shm_channel::{AnswerBuffer, Reply};
use tokio::task::{JoinHandle, spawn_local, yield_now};

use crate::shm::stand::{Line, Running, Ticks, connection, operation, producer, run};

const ECHO: &str =
    "shm = { body = \"{{sequence}}\", spin = \"SPIN\" }\nexpect = { contains = \"{{sequence}}\" }";

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Answers with the request.
fn echo(request: &[u8], room: &mut AnswerBuffer<'_>) -> Reply {
    room.put(request)
}

fn text() -> String {
    ECHO.replace("SPIN", "0us")
}

/// Polls once: whether it is still under way.
async fn is_pending<F: Future>(mut future: Pin<&mut F>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

/// Waits until a task has ended, doing this meanwhile.
async fn ended<T>(task: JoinHandle<T>, mut meanwhile: impl FnMut()) -> T {
    let begun = Instant::now();
    while !task.is_finished() {
        assert!(begun.elapsed() < PATIENCE, "nobody was woken");
        meanwhile();
        yield_now().await;
    }
    task.await.unwrap()
}

/// All other tasks go on as far as they can.
async fn some_turns() {
    for _ in 0..10 {
        yield_now().await;
    }
}

#[test]
fn what_the_slots_do_not_carry_at_once_fails_and_says_so() {
    run(async {
        let (folder, producer, mut worker) = producer();
        // Two neighbouring slots for each, of four.
        let text = "shm = { body = \"{{sequence}}\", room = \"257B\" }";
        let [mut one, mut two, mut three] = Line::sharing(&folder.socket(), text).await;
        {
            let mut performing = pin!(async { tokio::join!(one.perform(1), two.perform(2)) });
            assert!(is_pending(performing.as_mut()).await);
            let told = "no 2 neighbouring slots are free: the streams of the connection want more room than the \
                        producer gave it";
            assert_eq!(three.fail(3).await, (FailureKind::LocalLimit, told.to_owned(), true));
            assert_eq!([worker.turn(&mut echo), worker.turn(&mut echo)], [1, 1]);
            assert_eq!(performing.await, (Outcome::Succeeded, Outcome::Succeeded));
        }
        let again = spawn_local(async move { three.perform(4).await });
        assert_eq!(ended(again, || _ = worker.turn(&mut echo)).await, Outcome::Succeeded);
        assert_eq!(producer.counts().admitted, 1);
    });
}

#[test]
fn streams_of_one_connection_have_their_own_answers() {
    let running = Running::start(echo);
    for spins in [["0us"; 4], ["20us"; 4], ["0us", "20us", "0us", "20us"]] {
        run(async {
            let lines: [Line; 4] = Line::sharing(&running.folder.socket(), &text()).await;
            let tasks =
                lines.into_iter().zip(spins).enumerate().map(|(number, (mut line, spin))| {
                    line.operation = operation(&ECHO.replace("SPIN", spin));
                    spawn_local(async move {
                        for turn in 0..500 {
                            let outcome = line.perform(number as u64 * 1_000 + turn).await;
                            assert_eq!(outcome, Outcome::Succeeded, "{:?}", line.exchange.detail);
                            // Now and then it rests, as between two arrivals: nobody must wait for it.
                            if turn % 7 == number as u64 {
                                let idle = pin!(Shm.idle(&mut line.channel));
                                assert!(is_pending(idle).await, "the producer is there");
                                yield_now().await;
                            }
                        }
                    })
                });
            for task in tasks.collect::<Vec<_>>() {
                task.await.unwrap();
            }
        });
    }
    assert_eq!((running.producer().counts().admitted, running.producer().counts().damaged), (3, 0));
}

#[test]
fn as_many_requests_are_under_way_as_there_are_streams() {
    run(async {
        let (folder, _producer, mut worker) = producer();
        let [mut one, mut two, mut three, mut four] =
            Line::sharing(&folder.socket(), &text()).await;
        let mut performing = pin!(async {
            tokio::join!(one.perform(1), two.perform(2), three.perform(3), four.perform(4))
        });
        assert!(is_pending(performing.as_mut()).await);
        let turns: Vec<_> = (0..5).map(|_| worker.turn(&mut echo)).collect();
        assert_eq!(turns, [1, 1, 1, 1, 0]);
        let ended = performing.await;
        assert_eq!(<[Outcome; 4]>::from(ended), [Outcome::Succeeded; 4]);
    });
}

/// The one that came first watches the descriptors for both.
#[test]
fn who_gives_up_leaves_the_watch_to_another() {
    run(async {
        let (folder, producer, mut worker) = producer();
        let [mut first, mut second] = Line::sharing(&folder.socket(), &text()).await;
        let waits = {
            let mut given_up = pin!(first.perform(1));
            assert!(is_pending(given_up.as_mut()).await, "it watches");
            let waits = spawn_local(async move { second.perform(2).await });
            some_turns().await;
            assert!(is_pending(given_up).await && !waits.is_finished(), "nobody has answered");
            waits
        };
        let outcome = ended(waits, || _ = worker.turn(&mut echo)).await;
        assert_eq!(outcome, Outcome::Succeeded);
        // The answer to what was given up has come and is nobody's; the next one is that of its own request.
        let again = spawn_local(async move { first.perform(3).await });
        assert_eq!(ended(again, || _ = worker.turn(&mut echo)).await, Outcome::Succeeded);
        assert_eq!(producer.counts().damaged, 0);
    });
}

/// Who rests watches for less than who waits for an answer, and leaves the watch to it.
#[test]
fn a_stream_that_rests_keeps_no_answer_from_another() {
    run(async {
        let (folder, _producer, mut worker) = producer();
        let [mut rests, mut asks] = Line::sharing(&folder.socket(), &text()).await;
        let resting = spawn_local(async move { Shm.idle(&mut rests.channel).await });
        some_turns().await;
        for turn in 0..3 {
            let waits = spawn_local(async move {
                let outcome = asks.perform(turn).await;
                (outcome, asks)
            });
            some_turns().await;
            assert!(!waits.is_finished(), "nobody has answered");
            let (outcome, line) = ended(waits, || _ = worker.turn(&mut echo)).await;
            assert_eq!(outcome, Outcome::Succeeded);
            asks = line;
        }
        assert!(!resting.is_finished(), "the producer is there");
        resting.abort();
    });
}

#[test]
fn a_producer_that_goes_ends_every_stream_of_its_connection() {
    run(async {
        let (folder, producer, worker) = producer();
        let [mut rests, mut looks, one, two] = Line::sharing(&folder.socket(), &text()).await;
        let resting = spawn_local(async move { Shm.idle(&mut rests.channel).await });
        let fail = |mut line: Line| spawn_local(async move { line.fail(1).await });
        let waiting = [one, two].map(fail);
        some_turns().await;
        assert!(is_pending(pin!(Shm.idle(&mut looks.channel))).await, "the producer is there");
        drop(producer);
        drop(worker);
        let gone = (FailureKind::Closed, "the producer is gone".to_owned(), false);
        for task in waiting {
            assert_eq!(ended(task, || ()).await, gone);
        }
        ended(resting, || ()).await;
        assert!(!is_pending(pin!(Shm.idle(&mut looks.channel))).await, "a look is enough");
    });
}

#[test]
fn a_connection_outlives_a_stream_for_the_others_as_long_as_its_producer_is_there() {
    run(async {
        let (folder, producer, worker) = producer();
        let mut exchange = Exchange::new(Ticks::default());
        let mut shared =
            connection(&folder.socket(), &operation(&text()), &mut exchange).await.unwrap();
        let _one = Shm.open_stream(&mut shared).unwrap();
        assert!(!Shm.outlives_streams(&mut shared), "nobody else is on it");
        let two = Shm.open_stream(&mut shared).unwrap();
        assert!(Shm.outlives_streams(&mut shared));
        drop((producer, worker));
        ended(spawn_local(async move { two.idle().await }), || ()).await;
        assert!(!Shm.outlives_streams(&mut shared), "its producer is gone");
    });
}
