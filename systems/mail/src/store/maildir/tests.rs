use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::store::fixtures::{TempFolder, envelope, send, send_to};
use crate::store::retained::{RetentionLimits, WhenFull};

const HOST: &str = "mail.example";

fn retained(messages: usize) -> RetainedMessages {
    RetainedMessages::new(
        RetentionLimits { messages, bytes: 1 << 20, full: WhenFull::Oldest },
        &Registry::default(),
    )
}

fn open(place: &TempFolder, retained: &RetainedMessages) -> Maildir {
    Maildir::open(place.path(), HOST, retained.clone(), &Registry::default()).unwrap()
}

#[tokio::test]
async fn a_message_is_in_new_with_its_trace_before_it() {
    let (place, retained) = (TempFolder::new(), retained(10));
    let store = open(&place, &retained);
    let long: Vec<u8> = (0..300_000_u32).flat_map(u32::to_be_bytes).collect();
    for content in [&b"From: a\r\n\r\nhello\r\n"[..], b"", &long] {
        let id = send_to(&store, &["b@y", "c@z"], content).await.unwrap();
        let file = fs::read(place.path().join("new").join(&id)).unwrap();
        assert!(
            file.starts_with(b"Return-Path: <a@x>\r\nDelivered-To: b@y\r\nDelivered-To: c@z\r\n")
        );
        assert!(file.ends_with(content));
        assert_eq!(&retained.get(&id).unwrap().content.read().unwrap()[..], content);
    }
    assert!(place.names("tmp").is_empty() && place.names("cur").is_empty());
    assert_eq!(place.names("new").len(), 3);
}

#[tokio::test]
async fn a_message_that_breaks_off_leaves_nothing() {
    let (place, retained) = (TempFolder::new(), retained(10));
    let store = open(&place, &retained);
    for size in [10, IN_MEMORY / 2, 5 * IN_MEMORY] {
        let mut draft = store.begin(envelope(&["b@y"])).await.unwrap();
        for piece in vec![b'x'; size].chunks(1_000) {
            draft.write(piece).await.unwrap();
        }
        let is_written = size > IN_MEMORY;
        assert_eq!(place.names("tmp").len(), usize::from(is_written), "{size}");
        drop(draft);
        assert!(place.names("tmp").is_empty() && place.names("new").is_empty(), "{size}");
    }
    assert!(retained.is_empty());
}

#[tokio::test]
async fn what_was_delivered_is_shown_after_a_restart() {
    let place = TempFolder::new();
    let store = open(&place, &retained(10));
    let mut ids = Vec::new();
    for number in 0..5 {
        let content = format!("Subject: {number}\r\n\r\n");
        ids.push(send_to(&store, &["b@y"], content.as_bytes()).await.unwrap());
    }
    // A message from elsewhere, without our trace lines.
    fs::write(place.path().join("new/1.other"), "Return-Path: <z@z>\r\n\r\n").unwrap();
    let later = retained(10);
    drop(open(&place, &later));
    let listed = later.between(0, u64::MAX, 100);
    let names: Vec<&str> = listed.iter().rev().map(|message| &*message.id).collect();
    assert_eq!(names[0], "1.other");
    assert_eq!(names[1..], ids);
    assert_eq!(listed[0].summary.recipients, ["b@y"]);
    assert_eq!(&listed[0].content.read().unwrap()[..], b"Subject: 4\r\n\r\n");
    assert_eq!((listed[5].summary.from.as_str(), listed[5].size), ("", 22));
    let few = retained(2);
    drop(open(&place, &few));
    assert_eq!(few.between(0, u64::MAX, 100).len(), 2);
    assert!(few.get(&ids[4]).is_some() && few.get(&ids[2]).is_none());
}

#[tokio::test]
async fn recipients_without_number_are_known_after_a_restart() {
    let place = TempFolder::new();
    let recipients: Vec<String> =
        (0..1_000).map(|number| format!("{number}@{}", "x".repeat(60))).collect();
    let recipients: Vec<&str> = recipients.iter().map(String::as_str).collect();
    let store = open(&place, &retained(10));
    let id = send_to(&store, &recipients, b"Subject: x\r\n\r\n").await.unwrap();
    let later = retained(10);
    drop(open(&place, &later));
    let message = later.get(&id).unwrap();
    assert_eq!((message.summary.from.as_str(), message.size), ("a@x", 14));
    assert_eq!(message.summary.recipients, recipients);
    assert_eq!(&message.content.read().unwrap()[..], b"Subject: x\r\n\r\n");
}

#[test]
fn only_files_are_messages() {
    let (place, retained) = (TempFolder::new(), retained(10));
    disk::make(place.path()).unwrap();
    let new = place.path().join("new");
    fs::write(new.join("1.file"), "x").unwrap();
    fs::create_dir(new.join("2.folder")).unwrap();
    std::os::unix::fs::symlink("1.file", new.join("3.link")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(new.join("4.pipe")).status().unwrap();
    assert!(made.success());
    drop(open(&place, &retained));
    let listed = retained.between(0, u64::MAX, 100);
    assert_eq!(listed.iter().map(|message| &*message.id).collect::<Vec<_>>(), ["1.file"]);
}

#[test]
fn a_message_never_takes_the_place_of_another() {
    let place = TempFolder::new();
    let (from, to) = (place.path().join("from"), place.path().join("to"));
    fs::write(&from, "second").unwrap();
    fs::write(&to, "first").unwrap();
    let error = RealDisk.publish(&from, &to).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(disk::refusal(&error).code, 451);
    assert_eq!(fs::read_to_string(&to).unwrap(), "first");
    fs::remove_file(&to).unwrap();
    RealDisk.publish(&from, &to).unwrap();
    assert_eq!(fs::read_to_string(&to).unwrap(), "second");
}

#[test]
fn leftovers_go_and_what_others_write_stays() {
    let place = TempFolder::new();
    disk::make(place.path()).unwrap();
    let tmp = place.path().join("tmp");
    let gone = {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    };
    let parent = std::os::unix::process::parent_id();
    let mine = std::process::id();
    let name = |process: u32, host: &str| format!("1700000000.M000001P{process}Q1.{host}");
    let cases = [
        (name(gone, HOST), false),
        (name(mine, HOST), false),
        (name(parent, HOST), true),
        (name(gone, "elsewhere.example"), true),
        ("unknown".to_owned(), true),
        ("old".to_owned(), false),
    ];
    for (name, _) in &cases {
        fs::write(tmp.join(name), "x").unwrap();
    }
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(37 * 3600);
    let old = File::options().write(true).open(tmp.join("old")).unwrap();
    old.set_modified(long_ago).unwrap();
    recovery::clean(&tmp, &UniqueNames::new(HOST, mine)).unwrap();
    for (name, stays) in &cases {
        assert_eq!(tmp.join(name).exists(), *stays, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn messages_that_come_together_share_the_sync_of_the_folder() {
    let (place, retained, metrics) = (TempFolder::new(), retained(1_000), Registry::default());
    let disk = Arc::new(SlowDisk::default());
    let store = Maildir::on(disk.clone(), place.path(), HOST, retained, &metrics).unwrap();
    let store = Arc::new(store);
    let mut senders = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let store = Arc::clone(&store);
        senders.spawn(async move { send(&*store, b"hello").await.unwrap() });
    }
    let names: BTreeSet<String> = senders.join_all().await.into_iter().collect();
    assert_eq!(names.len(), 32);
    assert_eq!(names, place.names("new").into_iter().collect());
    // The first sync lasts until all contents are there, so most of the others wait for the second one.
    let syncs = disk.syncs.load(Ordering::SeqCst);
    assert!(syncs <= 16, "{syncs} syncs of 32 messages");
}

/// A disk on which the first sync of the folder lasts until all contents are there.
#[derive(Debug, Default)]
struct SlowDisk {
    contents: AtomicUsize,
    syncs: AtomicUsize,
}

impl Disk for SlowDisk {
    fn create(&self, path: &Path) -> io::Result<File> {
        RealDisk.create(path)
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        RealDisk.write(file, bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        RealDisk.sync(file)?;
        self.contents.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.publish(from, to)
    }

    fn sync_folder(&self, folder: &File) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        while self.contents.load(Ordering::SeqCst) < 32 {
            std::thread::yield_now();
        }
        RealDisk.sync_folder(folder)
    }
}

/// A disk on which one operation fails, once.
#[derive(Debug)]
struct FailingDisk {
    step: &'static str,
    errno: rustix::io::Errno,
    failures: AtomicUsize,
}

impl FailingDisk {
    fn at(&self, step: &str) -> io::Result<()> {
        if step == self.step && self.failures.fetch_add(1, Ordering::SeqCst) == 0 {
            return Err(self.errno.into());
        }
        Ok(())
    }
}

impl Disk for FailingDisk {
    fn create(&self, path: &Path) -> io::Result<File> {
        self.at("create").and_then(|()| RealDisk.create(path))
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        // Like a disk that becomes full: it writes only a part.
        RealDisk.write(file, &bytes[..bytes.len() / 2])?;
        self.at("write")?;
        RealDisk.write(file, &bytes[bytes.len() / 2..])
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.at("sync").and_then(|()| RealDisk.sync(file))
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.at("publish").and_then(|()| RealDisk.publish(from, to))
    }

    fn sync_folder(&self, folder: &File) -> io::Result<()> {
        self.at("sync_folder").and_then(|()| RealDisk.sync_folder(folder))
    }
}

#[tokio::test]
async fn a_disk_that_says_no_is_a_refusal_and_leaves_nothing() {
    use rustix::io::Errno;
    for step in ["create", "write", "sync", "publish", "sync_folder"] {
        for (errno, code) in [(Errno::NOSPC, 452), (Errno::DQUOT, 452), (Errno::IO, 451)] {
            for size in [10, 3 * IN_MEMORY] {
                let case = format!("{step} {errno} {size}");
                let (place, retained) = (TempFolder::new(), retained(10));
                let disk = Arc::new(FailingDisk { step, errno, failures: AtomicUsize::new(0) });
                let metrics = Registry::default();
                let store =
                    Maildir::on(disk, place.path(), HOST, retained.clone(), &metrics).unwrap();
                let refusal = send(&store, &vec![b'x'; size]).await.unwrap_err();
                assert_eq!(refusal.code, code, "{case}");
                assert!(place.names("tmp").is_empty(), "{case}");
                assert!(place.names("new").is_empty(), "{case}");
                assert!(retained.is_empty(), "{case}");
                // The store continues to work.
                send(&store, b"hello").await.unwrap();
                assert_eq!(place.names("new").len(), 1, "{case}");
            }
        }
    }
}

#[test]
fn a_place_where_no_folder_can_be_is_an_error() {
    let place = TempFolder::new();
    let file = place.path().join("file");
    fs::write(&file, "x").unwrap();
    let opened = Maildir::open(&file, HOST, retained(1), &Registry::default());
    assert!(opened.is_err());
}
