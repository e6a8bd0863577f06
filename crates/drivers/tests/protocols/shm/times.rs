//! What the producer says of its times parts the wait, and is not believed where it cannot be so.

use drivers::shm::driver::Shm;
use engine::clock::Real;
use engine::driver::{Call, Driver, Exchange};
use record::Outcome;
use shm_channel::AnswerBuffer;

use crate::shm::stand::{Line, Running, connect, operation, run};

const TIMED: &str = "shm = { body = \"x\", spin = \"SPIN\", checksum = false, times = true }";

const CALL: Call = Call {
    index: 0,
    operation: 0,
    sequence: 0,
    row: 0,
    trial: 1,
    seed: 7,
    now: 9,
    trace: None,
    memory: None,
};

#[test]
fn there_producer_and_back_are_all_that_was_written_and_waited() {
    let running = Running::start(|_: &[u8], room: &mut AnswerBuffer<'_>| room.put(b"y"));
    for spin in ["0us", "1ms"] {
        run(async {
            let operation = operation(&TIMED.replace("SPIN", spin));
            let clock = Real::start().unwrap();
            let mut exchange = Exchange::new(clock);
            let socket = running.folder.socket();
            let mut channel = connect(&socket, &operation, &mut exchange).await.unwrap();
            for _ in 0..20 {
                exchange.clear(0);
                Shm.encode(&operation, &mut channel, &CALL);
                exchange.started_at = exchange.now();
                let outcome = Shm.perform(&operation, &mut channel, &mut exchange).await;
                assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
                let first = Exchange::<Real>::FIRST_SPAN;
                let sum = |own: std::ops::Range<usize>| -> u64 {
                    own.map(|own| exchange.spans.get(first + own).expect("it is stamped")).sum()
                };
                assert_eq!(sum(4..7), sum(1..3), "written and waited, parted otherwise");
                assert_eq!(sum(4..7), exchange.read_at - exchange.started_at);
            }
            assert_eq!(Shm.note(&operation), None);
        });
    }
}

#[test]
fn times_that_nobody_asked_for_are_not_stamped() {
    let running = Running::start(|_: &[u8], room: &mut AnswerBuffer<'_>| room.put(b"y"));
    run(async {
        let text = "shm = { body = \"x\" }";
        let mut line = Line::connect(&running.folder.socket(), text).await.unwrap();
        assert_eq!(line.perform(0).await, Outcome::Succeeded);
        assert_eq!([4, 5, 6].map(|own| line.span(own)), [None; 3]);
        assert_eq!(Shm.note(&line.operation), None);
    });
}

/// The clock of the test counts its readings, and so is not that of the producer.
#[test]
fn times_of_another_clock_are_counted_and_not_stamped() {
    let running = Running::start(|_: &[u8], room: &mut AnswerBuffer<'_>| room.put(b"y"));
    run(async {
        let text = TIMED.replace("SPIN", "0us");
        let mut line = Line::connect(&running.folder.socket(), &text).await.unwrap();
        for (answers, told) in [(1, "1 answer, "), (2, "2 answers, ")] {
            assert_eq!(line.perform(answers).await, Outcome::Succeeded);
            assert_eq!([4, 5, 6].map(|own| line.span(own)), [None; 3]);
            assert!(line.span(2).is_some(), "what was waited is known all the same");
            let note = Shm.note(&line.operation).expect("it is told");
            assert!(note.starts_with(told), "{note}");
        }
    });
}
