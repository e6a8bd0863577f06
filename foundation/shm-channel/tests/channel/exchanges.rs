//! What goes over the channel comes back, in every way to wait for it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use shm_channel::{AnswerBuffer, CRC32, Checksum, Client, Error, Producer, Reply, Settings, Times};

use super::{Folder, PATIENCE, Running, counter, echo, small};

#[test]
fn an_answer_is_that_of_its_request() {
    for spin in [Duration::ZERO, Duration::from_millis(1)] {
        let settings = Settings { spin, ..small() };
        let running = Running::start("answers", settings, echo);
        let mut client = Client::connect(running.folder.socket(), spin).unwrap();
        // The ring goes round 50 times; lengths cross every boundary of words and lines.
        for number in 0..200usize {
            let request = vec![number as u8; number % 129];
            let answer = client.call(&request, 0, PATIENCE).unwrap();
            assert_eq!(&answer[..], request);
        }
        assert_eq!(client.free_slots(), 4);
    }
}

#[test]
fn a_run_of_slots_carries_what_one_does_not() {
    let running =
        Running::start("runs", small(), |request: &[u8], buffer: &mut AnswerBuffer<'_>| {
            let answer = [request, request].concat();
            buffer.put(&answer)
        });
    let mut client = running.client();
    let request: Vec<u8> = (0..512u32).map(|at| (at * 7) as u8).collect();
    let twice = [&request[..], &request[..]].concat();
    let answer = client.call(&request, 1024, PATIENCE).unwrap();
    assert_eq!(&answer[..], twice);
    assert_eq!(client.free_slots(), 0);
    drop(answer);
    assert_eq!(client.free_slots(), 4);
    let too_large = client.call(&request[..128], 0, PATIENCE).map(drop);
    too_large.unwrap();
    let too_large = client.call(&request[..200], 0, PATIENCE).map(drop);
    too_large.expect("two slots for the request are two for its answer");
}

#[test]
fn an_answer_beyond_its_room_is_told_and_asked_for_again() {
    let running = Running::start("room", small(), |_: &[u8], buffer: &mut AnswerBuffer<'_>| {
        buffer.put(&[5; 300])
    });
    let mut client = running.client();
    let Err(Error::TooLarge { needed: 300, most: 256 }) = client.call(b"x", 0, PATIENCE) else {
        panic!("300 bytes do not fit into 256");
    };
    assert_eq!(client.free_slots(), 4);
    assert_eq!(&client.call(b"x", 300, PATIENCE).unwrap()[..], [5; 300]);
}

#[test]
fn a_reply_longer_than_its_room_is_no_answer() {
    let running =
        Running::start("liar", small(), |_: &[u8], _: &mut AnswerBuffer<'_>| Reply::Answer(257));
    let refused = running.client().call(b"x", 0, PATIENCE);
    assert!(matches!(refused, Err(Error::TooLarge { needed: 257, most: 256 })));
}

#[test]
fn a_refusal_has_its_number_and_a_checksum_comes_along() {
    let running =
        Running::start("refusal", small(), |request: &[u8], buffer: &mut AnswerBuffer<'_>| {
            buffer.set_checksum(Checksum { kind: CRC32, value: 0xcbf4_3926 });
            if request == b"no" { Reply::Refused(42) } else { buffer.put(b"123456789") }
        });
    let mut client = running.client();
    assert!(matches!(client.call(b"no", 0, PATIENCE), Err(Error::Refused(42))));
    let answer = client.call(b"yes", 0, PATIENCE).unwrap();
    assert_eq!(answer.checksum(), Some(Checksum { kind: 1, value: 0xcbf4_3926 }));
}

#[test]
fn times_are_told_where_they_are_asked_for_and_lie_between_ours() {
    let running = Running::start("times", small(), echo);
    let mut client = running.client();
    let now = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        (now.tv_sec * 1_000_000_000 + now.tv_nsec).cast_unsigned()
    };
    client.ask_for_times(true);
    for _ in 0..5 {
        let asked_at = now();
        let Times { taken_at, ready_at } = client.call(b"x", 0, PATIENCE).unwrap().times().unwrap();
        assert!(asked_at <= taken_at && taken_at <= ready_at && ready_at <= now());
    }
    client.ask_for_times(false);
    // Two laps of the ring: what an entry said before is not said again.
    for _ in 0..8 {
        assert_eq!(client.call(b"x", 0, PATIENCE).unwrap().times(), None);
    }
}

#[test]
fn a_room_says_what_it_still_holds() {
    let (copies, copied) = counter();
    let running =
        Running::start("kept", small(), move |request: &[u8], buffer: &mut AnswerBuffer<'_>| {
            let tag = u64::from(request[0]);
            if buffer.tag() != Some(tag) {
                copies.fetch_add(1, Ordering::SeqCst);
                buffer[..200].fill(request[0]);
            }
            buffer[..8].copy_from_slice(&request[1..9]);
            buffer.set_tag(tag);
            Reply::Answer(200)
        });
    let mut client = running.client();
    let ask = |client: &mut Client, kind: u8, nonce: u64, room: usize| {
        let request = [&[kind][..], &nonce.to_le_bytes()].concat();
        let answer = client.call(&request, room, PATIENCE).unwrap();
        assert_eq!(answer[..8], nonce.to_le_bytes());
        assert_eq!(answer[8..], [kind; 192]);
        answer
    };
    for nonce in 0..10 {
        ask(&mut client, 1, nonce, 0);
    }
    assert_eq!(copied(), 1, "copied once, patched nine times");
    // A second slot holds nothing yet; a larger run puts over both.
    let first = ask(&mut client, 1, 10, 0);
    ask(&mut client, 1, 11, 0);
    assert_eq!(copied(), 2);
    drop(first);
    ask(&mut client, 1, 12, 400);
    assert_eq!(copied(), 3, "a run of two is another room");
    ask(&mut client, 1, 13, 0);
    assert_eq!(copied(), 4);
    let first = ask(&mut client, 1, 14, 0);
    ask(&mut client, 1, 15, 0);
    assert_eq!(copied(), 5, "the second slot was put over by the run of two");
    drop(first);
    ask(&mut client, 2, 16, 0);
    assert_eq!(copied(), 6, "another tag");
}

#[test]
fn answers_outlive_client_and_producer_on_any_thread() {
    let mut running = Running::start("outlive", small(), echo);
    let mut client = running.client();
    let answers: Vec<_> =
        (0..4u8).map(|number| client.call(&[number; 100], 0, PATIENCE).unwrap()).collect();
    drop(client);
    running.stop();
    let read = std::thread::spawn(move || answers.iter().map(|it| it.to_vec()).collect::<Vec<_>>());
    assert_eq!(read.join().unwrap(), [[0; 100], [1; 100], [2; 100], [3; 100]]);
}

#[test]
fn many_clients_share_the_workers_and_get_their_own() {
    let settings = Settings { workers: 2, ..small() };
    let running = Running::start("many", settings, echo);
    let talk = |number: u32| {
        let mut client = running.client();
        move || {
            for turn in 0..300 {
                let request = [number.to_le_bytes(), u32::to_le_bytes(turn)].concat();
                assert_eq!(&client.call(&request, 0, PATIENCE).unwrap()[..], request);
            }
        }
    };
    let threads: Vec<_> = (0..8).map(|number| std::thread::spawn(talk(number))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((running.counts().admitted, running.counts().damaged), (8, 0));
}

/// Waits as an event loop does: on two descriptors, and never in the client.
#[test]
fn an_eventfd_tells_of_completions_and_the_socket_of_the_end() {
    let mut running = Running::start("eventfd", small(), echo);
    let mut client = running.client();
    let (mut received, mut is_over) = (0u64, false);
    for number in 0..3u64 {
        client.submit(&number.to_le_bytes(), 0).unwrap();
    }
    while !is_over {
        while let Some(done) = client.take().unwrap() {
            assert_eq!(done.outcome.unwrap()[..], received.to_le_bytes());
            received += 1;
            if received <= 500 {
                client.submit(&(received + 2).to_le_bytes(), 0).unwrap();
            }
        }
        if received == 503 && running.producer.is_some() {
            running.stop();
        }
        if !client.arm() {
            let mut watched = [
                PollFd::from_borrowed_fd(client.eventfd(), PollFlags::IN),
                PollFd::from_borrowed_fd(client.socket(), PollFlags::RDHUP),
            ];
            let patience = PATIENCE.try_into().unwrap();
            assert!(rustix::event::poll(&mut watched, Some(&patience)).unwrap() > 0, "a hang");
            is_over = !watched[1].revents().is_empty();
        }
        client.disarm();
    }
    assert_eq!(received, 503);
    assert!(client.is_gone());
}

/// Nobody answers before the end here, so that all of them lie in the ring by then.
#[test]
fn what_was_asked_before_the_end_is_answered_as_long_as_was_said() {
    for (drain, answered) in [(PATIENCE, 3), (Duration::ZERO, 0)] {
        let folder = Folder::new("drain");
        let settings = Settings { drain, ..small() };
        let (producer, mut workers) = Producer::bind(folder.socket(), settings).unwrap();
        let mut client = Client::connect(folder.socket(), Duration::ZERO).unwrap();
        for number in 0..3u8 {
            client.submit(&[number], 0).unwrap();
        }
        drop(producer);
        workers.remove(0).run(echo);
        for number in 0..answered {
            let done = client.take().unwrap().unwrap();
            assert_eq!(done.outcome.unwrap()[..], [number]);
        }
        assert!(client.take().unwrap().is_none());
        assert!(client.is_gone());
    }
}

/// Each answer brings another question; there is an end to it nevertheless.
#[test]
fn who_goes_on_asking_does_not_keep_the_producer() {
    let folder = Folder::new("goes-on");
    let settings = Settings { drain: Duration::MAX, ..small() };
    let (producer, mut workers) = Producer::bind(folder.socket(), settings).unwrap();
    let mut client = Client::connect(folder.socket(), Duration::ZERO).unwrap();
    client.submit(b"first", 0).unwrap();
    drop(producer);
    let mut answered = 0;
    workers.remove(0).run(|request, buffer| {
        answered += 1;
        let ticket = client.submit(b"another", 0).unwrap();
        client.abandon(ticket);
        buffer.put(request)
    });
    assert_eq!(answered, 4, "as many as it has slots");
}

/// A worker that takes turns when its thread likes, and no thread of its own.
#[test]
fn turns_answer_one_request_of_each_client() {
    let folder = Folder::new("turns");
    let (_producer, mut workers) = Producer::bind(folder.socket(), small()).unwrap();
    let mut clients: Vec<_> =
        (0..3).map(|_| Client::connect(folder.socket(), Duration::ZERO).unwrap()).collect();
    for client in &mut clients[..2] {
        client.submit(b"one", 0).unwrap();
        client.submit(b"two", 0).unwrap();
    }
    let turns: Vec<_> = (0..4).map(|_| workers[0].turn(&mut echo)).collect();
    assert_eq!(turns, [2, 2, 0, 0]);
    for client in &mut clients[..2] {
        let mut next = || client.take().unwrap().unwrap();
        let (one, two) = (next(), next());
        assert_eq!((one.ticket, two.ticket), (1, 2));
        assert_eq!(&one.outcome.unwrap()[..], b"one");
        assert_eq!(&two.outcome.unwrap()[..], b"two");
    }
    assert!(clients[2].take().unwrap().is_none());
}
