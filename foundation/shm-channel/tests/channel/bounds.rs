//! Nothing grows beyond what was set, and nothing stays when its owner has gone.

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::sync::mpsc::channel;
use std::time::Duration;

use shm_channel::{AnswerBuffer, Client, Error, Geometry, Producer, Reply, Settings};

use super::raw::Peer;
use super::{Folder, PATIENCE, Running, echo, eventually, small};

#[test]
fn a_payload_larger_than_all_slots_is_refused_before_it_is_sent() {
    let running = Running::start("larger", small(), echo);
    let mut client = running.client();
    let refused = client.submit(&[0; 513], 0);
    assert!(matches!(refused, Err(Error::TooLarge { needed: 513, most: 512 })));
    let refused = client.submit(b"x", 1025);
    assert!(matches!(refused, Err(Error::TooLarge { needed: 1025, most: 1024 })));
    assert_eq!(&client.call(&[7; 512], 1024, PATIENCE).unwrap()[..], [7; 512]);
}

#[test]
fn a_client_that_never_releases_starves_itself_alone() {
    let running = Running::start("holds", small(), echo);
    let (mut holder, mut other) = (running.client(), running.client());
    let held: Vec<_> = (0..4).map(|_| holder.call(b"held", 0, PATIENCE).unwrap()).collect();
    assert!(matches!(holder.submit(b"more", 0), Err(Error::NoSlot { slots: 1 })));
    for _ in 0..20 {
        assert_eq!(&other.call(b"other", 0, PATIENCE).unwrap()[..], b"other");
    }
    assert!(held.iter().all(|answer| &answer[..] == b"held"));
    drop(held);
    assert_eq!(&holder.call(b"again", 0, PATIENCE).unwrap()[..], b"again");
}

/// An answer that nobody waits for any more gives its slot back when it comes, and never before.
#[test]
fn a_deadline_leaves_the_slot_with_its_request() {
    let (release, wait) = channel::<()>();
    let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
    let running = Running::start(
        "deadline",
        small(),
        move |request: &[u8], buffer: &mut AnswerBuffer<'_>| {
            if request == b"slow" {
                wait.lock().unwrap().recv().unwrap();
            }
            buffer.put(request)
        },
    );
    let mut client = running.client();
    let late = client.call(b"slow", 0, Duration::from_millis(30));
    assert!(matches!(late, Err(Error::Deadline)));
    assert_eq!(client.free_slots(), 3);
    for _ in 0..3 {
        client.submit(b"fast", 0).unwrap();
    }
    assert!(matches!(client.submit(b"more", 0), Err(Error::NoSlot { .. })));
    release.send(()).unwrap();
    for ticket in 2..5 {
        assert!(client.wait(PATIENCE).unwrap());
        let done = client.take().unwrap().unwrap();
        assert_eq!((done.ticket, &done.outcome.unwrap()[..]), (ticket, &b"fast"[..]));
    }
    assert_eq!(client.free_slots(), 4);
    assert_eq!(&client.call(b"next", 0, PATIENCE).unwrap()[..], b"next");
}

#[test]
fn the_answer_to_a_request_given_up_is_nothing_to_take() {
    let folder = Folder::new("given-up");
    let (_producer, mut workers) = Producer::bind(folder.socket(), small()).unwrap();
    let mut client = Client::connect(folder.socket(), Duration::ZERO).unwrap();
    let ticket = client.submit(b"given up", 0).unwrap();
    client.abandon(ticket);
    workers[0].turn(&mut echo);
    assert!(!client.wait(Duration::from_millis(1)).unwrap());
    assert!(client.take().unwrap().is_none());
    assert_eq!(client.free_slots(), 4);
}

#[test]
fn ten_thousand_connections_meet_the_limit() {
    let settings = Settings { clients: 16, ..small() };
    let running = Running::start("crowd", settings, echo);
    let mut clients: Vec<_> = (0..16).map(|_| running.client()).collect();
    let before = descriptors();
    for _ in 0..10_000 {
        let refused = Client::connect(running.folder.socket(), Duration::ZERO);
        assert!(matches!(refused, Err(Error::Crowded { limit: 16 })), "{refused:?}");
    }
    // Other tests of this process open and close, too, but nobody opens ten thousand.
    assert!(descriptors() < before + 1000);
    assert_eq!(running.counts().refused, 10_000);
    for client in &mut clients {
        assert_eq!(&client.call(b"still", 0, PATIENCE).unwrap()[..], b"still");
    }
    drop(clients);
    eventually("places are given back", || running.counts().living == 0);
    assert_eq!(&running.client().call(b"new", 0, PATIENCE).unwrap()[..], b"new");
}

/// What a client may come to use counts, not what it has used.
#[test]
fn there_are_no_more_clients_than_memory_for_them() {
    let shape = Geometry::new(4, 128, 256).unwrap();
    let each = shape.requests_length() + shape.answers_length();
    let running = Running::start("room", Settings { memory: 3 * each - 1, ..small() }, echo);
    let connect = || Client::connect(running.folder.socket(), Duration::ZERO);
    let (first, _second) = (connect().unwrap(), connect().unwrap());
    let refused = connect();
    assert!(matches!(refused, Err(Error::Crowded { limit: 2 })), "{refused:?}");
    assert_eq!((running.counts().admitted, running.counts().refused), (2, 1));
    drop(first);
    eventually("its memory is another's", || connect().is_ok());
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Regions of this test alone are told from others' by their size.
#[test]
fn memory_goes_with_its_client() {
    let settings = Settings { answer_room: 54_321 * 4096, ..small() };
    let running = Running::start("memory", settings, echo);
    let expected = Geometry::new(4, 128, 54_321 * 4096).unwrap().answers_length();
    let mapped = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let size = |line: &&str| {
            let (from, to) = line.split(' ').next()?.split_once('-')?;
            let number = |hex| u64::from_str_radix(hex, 16).ok();
            Some(number(to)? - number(from)?)
        };
        maps.lines().filter(|line| size(line) == Some(expected)).count()
    };
    let mut clients: Vec<_> = (0..5).map(|_| running.client()).collect();
    for client in &mut clients {
        client.call(b"x", 0, PATIENCE).unwrap();
    }
    // Ours and the worker's.
    assert!(mapped() >= 10);
    let answer = clients[0].call(b"last", 0, PATIENCE).unwrap();
    drop(clients);
    eventually("only the answer is held", || running.counts().living == 0);
    assert_eq!(&answer[..], b"last");
    drop(answer);
    eventually("nothing is mapped", || mapped() == 0);
}

#[test]
fn only_its_own_user_can_reach_it_and_only_the_producer_write_answers() {
    let running = Running::start("mode", small(), echo);
    let mode = std::fs::metadata(running.folder.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let peer = Peer::connect(&running.folder.socket());
    let refused = peer.answers().write_at(b"x", 4096).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
    for region in &peer.passed[..3] {
        assert!(region.set_len(0).is_err(), "a region got shorter");
        assert!(region.set_len(1 << 30).is_err(), "a region got longer");
    }
}

#[test]
fn a_path_has_one_producer_and_a_dead_ones_is_taken_over() {
    let folder = Folder::new("path");
    let (first, _workers) = Producer::bind(folder.socket(), small()).unwrap();
    assert!(matches!(Producer::bind(folder.socket(), small()), Err(Error::InUse(_))));
    drop(first);
    assert!(!folder.socket().exists());
    // What a killed producer leaves: a socket's file at which nobody listens.
    drop(std::os::unix::net::UnixListener::bind(folder.socket()).unwrap());
    let (second, _workers) = Producer::bind(folder.socket(), small()).unwrap();
    drop(second);
}

#[test]
fn a_file_that_is_no_socket_stays_and_is_named() {
    let folder = Folder::new("file");
    std::fs::write(folder.socket(), "a file of somebody's").unwrap();
    let refused = Producer::bind(folder.socket(), small()).unwrap_err();
    let told = format!(
        "{}: there is a file that is not a socket; remove it or choose another path",
        folder.socket().display()
    );
    assert_eq!(refused.to_string(), told);
    assert_eq!(std::fs::read(folder.socket()).unwrap(), b"a file of somebody's");
}

#[test]
fn a_path_that_cannot_be_had_is_named_once() {
    let folder = Folder::new("long");
    let room = 107 - folder.0.as_os_str().len() - 1;
    let (longest, longer) = (folder.0.join("x".repeat(room)), folder.0.join("x".repeat(room + 1)));
    let (_producer, _workers) = Producer::bind(&longest, small()).unwrap();
    Client::connect(&longest, Duration::ZERO).unwrap();
    let told =
        format!("{}: a socket's path has at most 107 bytes, this one has 108", longer.display());
    assert_eq!(Producer::bind(&longer, small()).unwrap_err().to_string(), told);
    assert_eq!(Client::connect(&longer, Duration::ZERO).unwrap_err().to_string(), told);
    let nowhere = folder.0.join("none").join("socket");
    let told = Producer::bind(&nowhere, small()).unwrap_err().to_string();
    let begin = format!("listening on the Unix socket: {}: No such file", nowhere.display());
    assert!(told.starts_with(&begin), "{told}");
}

#[test]
fn settings_are_checked() {
    let folder = Folder::new("settings");
    for settings in [
        Settings { slots: 3, ..small() },
        Settings { answer_room: 0, ..small() },
        Settings { clients: 0, ..small() },
        Settings { memory: 1 << 10, ..small() },
        Settings { workers: 0, ..small() },
    ] {
        assert!(matches!(Producer::bind(folder.socket(), settings), Err(Error::Settings(_))));
        assert!(!folder.socket().exists());
    }
    let nobody = Client::connect(folder.socket(), Duration::ZERO);
    assert!(matches!(nobody, Err(Error::Io { .. })));
}

/// A handler that panics ends its worker; its clients hear of that, and so does who comes later;
/// the other worker's do not.
#[test]
fn a_handler_that_panics_is_a_producer_that_is_gone() {
    let settings = Settings { workers: 2, ..small() };
    let handler = |request: &[u8], buffer: &mut AnswerBuffer<'_>| -> Reply {
        assert_ne!(request, b"panic", "as it was asked to");
        buffer.put(request)
    };
    let running = Running::start("panic", settings, handler);
    let (mut one, mut other) = (running.client(), running.client());
    assert!(matches!(one.call(b"panic", 0, PATIENCE), Err(Error::Gone)));
    assert_eq!(&other.call(b"fine", 0, PATIENCE).unwrap()[..], b"fine");
    let mut later = [(); 2].map(|()| Client::connect(running.folder.socket(), Duration::ZERO));
    assert!(matches!(later[0], Err(Error::ProducerFailed)), "{:?}", later[0]);
    let fine = later[1].as_mut().unwrap();
    assert_eq!(&fine.call(b"fine", 0, PATIENCE).unwrap()[..], b"fine");
}
