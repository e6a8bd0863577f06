//! A peer that breaks the layout, speaks another one, or none: told, cut off, and nobody else hurt.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use shm_channel::{Client, Error, Greeting};

use super::raw::{Peer, RING, entry, greet, hello, memory, welcome};
use super::{Folder, PATIENCE, Running, echo, eventually, small};

/// Length of either region for four slots with rooms of 64 bytes.
const REGION: u64 = 12_288;

#[test]
fn scribbled_submissions_cut_their_client_off_and_no_other() {
    let running = Running::start("scribbled", small(), echo);
    let mut other = running.client();
    let scribbles = [
        entry(0xdead_beef, 0, 1, 8, 1),
        entry(2, 0, 1, 8, 1),
        entry(1, 4, 1, 8, 1),
        entry(1, u32::MAX, 1, 8, 1),
        entry(1, 0, 1, 8, 0),
        entry(1, 3, 1, 8, 2),
        entry(1, 1, 1, 8, u32::MAX),
        entry(1, 0, 1, 129, 1),
        entry(1, 0, 1, u64::MAX, 4),
    ];
    for (number, scribble) in (1..).zip(&scribbles) {
        let peer = Peer::connect(&running.folder.socket());
        peer.submit(0, scribble);
        assert!(peer.wait_for_hang_up(), "{scribble:?}");
        eventually("it is counted", || running.counts().damaged == number);
        assert_eq!(&other.call(b"other", 0, PATIENCE).unwrap()[..], b"other");
    }
    eventually("their places are free", || running.counts().living == 1);
}

/// What a peer says in bounds is taken, so that the test above shows what it seems to.
#[test]
fn a_client_of_another_make_is_answered() {
    let running = Running::start("other-make", small(), echo);
    let peer = Peer::connect(&running.folder.socket());
    // Slots are 128 and 256 bytes here, behind the ring's page: the run of slots 1 and 2.
    peer.requests().write_all_at(b"by hand", RING + 4096 + 128).unwrap();
    peer.submit(0, &entry(1, 1, 77, 7, 2));
    let mut completion = [0; 64];
    eventually("an answer", || {
        peer.answers().read_exact_at(&mut completion.clone(), RING).unwrap();
        let mut stamp = [0; 4];
        peer.answers().read_exact_at(&mut stamp, RING).unwrap();
        stamp == [1, 0, 0, 0]
    });
    peer.answers().read_exact_at(&mut completion, RING).unwrap();
    assert_eq!(completion, entry(1, 1, 77, 7, 0));
    let mut answer = [0; 7];
    peer.answers().read_exact_at(&mut answer, RING + 4096 + 256).unwrap();
    assert_eq!(&answer, b"by hand");
}

#[test]
fn a_bell_that_one_client_scribbles_over_still_wakes_for_others() {
    let running = Running::start("bell", small(), echo);
    let peer = Peer::connect(&running.folder.socket());
    let mut other = running.client();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                peer.bell().write_all_at(&[0; 4096], 0).unwrap();
            }
        });
        for _ in 0..30 {
            assert_eq!(&other.call(b"other", 0, PATIENCE).unwrap()[..], b"other");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn clients_of_another_version_or_none_are_told_and_closed() {
    let running = Running::start("versions", small(), echo);
    let http = *b"GET / HTTP/1.1\r\nHost: a\r\n\r\n                                     ";
    for (first, outcome) in [(hello(2), 1), (hello(0), 1), (http, 4)] {
        let mut socket = UnixStream::connect(running.folder.socket()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(&first).unwrap();
        let mut said = Vec::new();
        socket.read_to_end(&mut said).unwrap();
        assert_eq!(said.len(), 64);
        assert_eq!(said[..12], hello(1)[..12], "in which version the producer speaks");
        assert_eq!(said[12], outcome);
    }
    // Half a hello is none, and so is silence, which is given a second.
    for first in [&hello(1)[..20], b""] {
        let mut socket = UnixStream::connect(running.folder.socket()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(first).unwrap();
        let mut said = Vec::new();
        socket.read_to_end(&mut said).unwrap();
        assert_eq!(said.get(12).copied(), (!first.is_empty()).then_some(4));
    }
    assert_eq!((running.counts().refused, running.counts().admitted), (5, 0));
    eventually("their places are free", || running.counts().living == 0);
}

/// Connects a client to a producer that says this.
fn meet(bytes: &[u8], passed: &[File]) -> Result<Client, Error> {
    let folder = Folder::new("fake");
    let listener = UnixListener::bind(folder.socket()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| greet(&listener, bytes, passed));
        Client::connect(folder.socket(), Duration::ZERO)
    })
}

fn regions() -> Vec<File> {
    vec![memory(REGION, true), memory(REGION, true), memory(4096, true), memory(8, true)]
}

#[test]
fn producers_that_are_none_are_told_from_each_other() {
    let good = welcome(1, 0, 4);
    assert!(meet(&good, &regions()).is_ok());
    assert!(matches!(
        meet(&welcome(9, 0, 4), &regions()),
        Err(Error::Version { theirs: 9, ours: 1 })
    ));
    assert!(matches!(meet(&welcome(9, 1, 0), &[]), Err(Error::Version { theirs: 9, ours: 1 })));
    assert!(matches!(meet(b"HTTP/1.1 400 Bad Request\r\n\r\n", &[]), Err(Error::NotAProducer)));
    assert!(matches!(meet(&good[..40], &regions()), Err(Error::NotAProducer)));
    assert!(matches!(meet(&welcome(1, 99, 4), &regions()), Err(Error::NotAProducer)));
    assert!(matches!(meet(&welcome(1, 3, 0), &[]), Err(Error::OtherUser)));
    assert!(matches!(meet(b"", &[]), Err(Error::Gone)));
}

/// As an event loop does: asked again when there is something to read, and never waited for.
#[test]
fn a_greeting_over_a_stream_that_does_not_block_is_asked_again() {
    let folder = Folder::new("greeting");
    let listener = UnixListener::bind(folder.socket()).unwrap();
    let greeting = || {
        let socket = UnixStream::connect(folder.socket()).unwrap();
        socket.set_nonblocking(true).unwrap();
        Greeting::over(OwnedFd::from(socket))
    };
    let Ok(Err(unanswered)) = greeting().answer(Duration::ZERO) else {
        panic!("nobody has accepted it");
    };
    greet(&listener, &welcome(1, 0, 4), &regions());
    let client = unanswered.answer(Duration::ZERO).unwrap().expect("the welcome is there");
    assert_eq!(client.geometry().slots(), 4);
    let crowded = greeting();
    greet(&listener, &welcome(1, 2, 0), &[]);
    assert!(matches!(crowded.answer(Duration::ZERO), Err(Error::Crowded { .. })));
}

#[test]
fn a_welcome_that_would_let_us_fault_is_refused() {
    let damaged =
        |bytes: &[u8], passed: &[File]| matches!(meet(bytes, passed), Err(Error::Damaged(_)));
    let good = welcome(1, 0, 4);
    assert!(damaged(&good, &[]), "no descriptors");
    assert!(damaged(&good, &regions()[..3]), "three descriptors");
    assert!(damaged(&welcome(1, 0, 3), &regions()), "three slots");
    let mut odd = good;
    odd[24] = 65;
    assert!(damaged(&odd, &regions()), "a room of 65 bytes");
    for at in 0..3 {
        let mut passed = regions();
        passed[at] = memory(4095, true);
        assert!(damaged(&good, &passed), "region {at} is short");
        passed[at] = memory(REGION, false);
        assert!(damaged(&good, &passed), "region {at} could become short");
        passed[at] = File::open("/dev/null").unwrap();
        assert!(damaged(&good, &passed), "region {at} is none");
    }
}

/// A client with one request of eight bytes under way in slot 0, with ticket 1; the producer then
/// writes this as its first completion.
fn completed(completion: [u8; 64]) -> (Client, Result<Option<Vec<u8>>, Error>) {
    let passed = regions();
    let answers = passed[1].try_clone().unwrap();
    let mut client = meet(&welcome(1, 0, 4), &passed).unwrap();
    assert_eq!(client.submit(b"12345678", 0).unwrap(), 1);
    answers.write_all_at(b"answered", RING + 4096).unwrap();
    answers.write_all_at(&completion, RING).unwrap();
    let taken = client.take();
    let taken = taken.map(|done| done.map(|done| done.outcome.unwrap().to_vec()));
    (client, taken)
}

#[test]
fn scribbled_completions_are_damage_and_never_an_answer() {
    let (_, taken) = completed(entry(1, 0, 1, 8, 0));
    assert_eq!(taken.unwrap().unwrap(), b"answered");
    for (scribble, told) in [
        (entry(7, 0, 1, 8, 0), "the stamp of a completion"),
        (entry(1, 1, 1, 8, 0), "a completion of a slot that is not under way"),
        (entry(1, u32::MAX, 1, 8, 0), "a completion of a slot that is not under way"),
        (entry(1, 0, 2, 8, 0), "a completion of another request"),
        (entry(1, 0, 0, 8, 0), "a completion of another request"),
        (entry(1, 0, 1, 65, 0), "the length of a completion"),
        (entry(1, 0, 1, u64::MAX, 0), "the length of a completion"),
        (entry(1, 0, 1, 8, 3), "the outcome of a completion"),
    ] {
        let (mut client, taken) = completed(scribble);
        assert!(matches!(taken, Err(Error::Damaged(what)) if what == told), "{taken:?}");
        // It stays so: what comes later is no more to be believed.
        assert!(matches!(client.take(), Err(Error::Damaged(_))));
        assert!(matches!(client.submit(b"x", 0), Err(Error::Damaged(_))));
        assert!(matches!(client.wait(PATIENCE), Err(Error::Damaged(_))));
    }
}

/// The same completion twice: the slot is not under way any more, and would be given back twice.
#[test]
fn a_completion_that_comes_twice_is_damage() {
    let passed = regions();
    let answers = passed[1].try_clone().unwrap();
    let mut client = meet(&welcome(1, 0, 4), &passed).unwrap();
    client.submit(b"12345678", 0).unwrap();
    answers.write_all_at(&entry(1, 0, 1, 8, 0), RING).unwrap();
    let answer = client.take().unwrap().unwrap().outcome.unwrap();
    answers.write_all_at(&entry(2, 0, 1, 8, 0), RING + 64).unwrap();
    assert!(matches!(client.take(), Err(Error::Damaged(_))));
    assert_eq!(client.free_slots(), 3);
    drop(answer);
}
