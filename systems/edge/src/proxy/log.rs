//! The access log: a line of JSON for each answer, written by a thread of its own.
//!
//! No request waits for it: entries that come faster than they can be written are lost, and counted.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime};

use hyper::{Method, StatusCode, Uri};
use serde_json::json;
use serving::metrics::Counter;

use super::tally::CacheStatus;

/// Lines that wait to be written at most.
const WAITING: usize = 8192;
/// Lines that are written at once at most.
const TOGETHER: usize = 256;

/// Where the log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Off,
    Stderr,
    File(String),
}

/// Takes lines. Clones write to the same log.
#[derive(Debug, Clone)]
pub(super) struct Log {
    lines: SyncSender<String>,
    lost: Counter,
}

/// Waits until all lines are written.
#[derive(Debug)]
pub(super) struct Writer(JoinHandle<()>);

impl Writer {
    /// Returns when every [`Log`] is gone and what it took is written.
    pub fn finish(self) {
        // A thread that panicked has told why.
        let _ = self.0.join();
    }
}

/// Opens the log; nothing if it is off.
///
/// Errors: the file cannot be opened for writing, or there is no thread to be had
pub(super) fn open(target: &Target, lost: Counter) -> io::Result<Option<(Log, Writer)>> {
    let output: Box<dyn Write + Send> = match target {
        Target::Off => return Ok(None),
        Target::Stderr => Box::new(io::stderr()),
        Target::File(path) => Box::new(OpenOptions::new().create(true).append(true).open(path)?),
    };
    let (sender, lines) = sync_channel(WAITING);
    let log = Log { lines: sender, lost: lost.clone() };
    let write = move || write(output, &lines, &lost);
    let thread = thread::Builder::new().name("access-log".to_owned()).spawn(write)?;
    Ok(Some((log, Writer(thread))))
}

fn write(mut output: impl Write, lines: &Receiver<String>, lost: &Counter) {
    while let Ok(mut text) = lines.recv() {
        let more: Vec<String> = lines.try_iter().take(TOGETHER - 1).collect();
        more.iter().for_each(|line| text.push_str(line));
        // A disk that is full may have room again later.
        if output.write_all(text.as_bytes()).and_then(|()| output.flush()).is_err() {
            lost.add(1 + more.len() as u64);
        }
    }
}

/// One request's line, written when it is dropped.
#[derive(Debug)]
pub(super) struct Entry {
    log: Log,
    at: SystemTime,
    begun: Instant,
    client: IpAddr,
    method: Method,
    target: String,
    /// What was answered, and where it came from.
    pub answer: Option<(StatusCode, CacheStatus)>,
    /// Bytes of the body that were passed on.
    pub bytes: u64,
    /// Whether all of it was.
    pub is_whole: bool,
}

impl Log {
    /// Begins a line.
    pub fn entry(&self, client: IpAddr, method: &Method, target: &Uri) -> Entry {
        Entry {
            log: self.clone(),
            at: SystemTime::now(),
            begun: Instant::now(),
            client: client.to_canonical(),
            method: method.clone(),
            target: target.to_string(),
            answer: None,
            bytes: 0,
            // Nothing of it is missing where nothing is asked for.
            is_whole: method == Method::HEAD,
        }
    }
}

impl Entry {
    fn line(&self) -> String {
        let at = self.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let line = json!({
            "at_ms": u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
            "client": self.client.to_string(),
            "method": self.method.as_str(),
            "target": self.target,
            "status": self.answer.map(|(status, _)| status.as_u16()),
            "cache": self.answer.map(|(_, how)| how.name()),
            "bytes": self.bytes,
            "whole": self.is_whole,
            "took_us": u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX),
        });
        format!("{line}\n")
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.log.lines.try_send(self.line()).is_err() {
            self.log.lost.one();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_answer_is_a_line_of_json() {
        let path = std::env::temp_dir().join(format!("edge-log-{}", std::process::id()));
        let target = Target::File(path.display().to_string());
        let lost = Counter::default();
        let (log, writer) = open(&target, lost.clone()).unwrap().unwrap();
        let client = "::ffff:192.0.2.1".parse().unwrap();
        let mut entry = log.entry(client, &Method::GET, &"/a/%22?b=c&d".parse().unwrap());
        entry.answer = Some((StatusCode::OK, CacheStatus::Hit));
        entry.bytes = 7;
        entry.is_whole = true;
        drop(entry);
        drop(log.entry(client, &Method::POST, &"/b".parse().unwrap()));
        drop(log);
        writer.finish();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [first, second] = &lines[..] else { panic!("{text}") };
        assert_eq!(first["client"], "192.0.2.1");
        assert_eq!(first["target"], "/a/%22?b=c&d");
        assert_eq!([&first["status"], &first["bytes"]], [200, 7]);
        assert_eq!(first["cache"], "hit");
        assert_eq!(first["method"], "GET");
        assert_eq!([&first["whole"], &second["whole"]], [true, false]);
        assert_eq!(second["status"], Value::Null);
        assert_eq!(lost.get(), 0);
    }

    #[test]
    fn nobody_waits_for_a_log_that_does_not_write() {
        let (sender, lines) = sync_channel(2);
        let log = Log { lines: sender, lost: Counter::default() };
        let client = "192.0.2.1".parse().unwrap();
        (0..5).for_each(|_| drop(log.entry(client, &Method::GET, &"/".parse().unwrap())));
        assert_eq!(log.lost.get(), 3);
        drop(lines);
    }

    #[test]
    fn without_one_there_is_nothing_and_what_cannot_be_opened_is_told() {
        assert!(open(&Target::Off, Counter::default()).unwrap().is_none());
        let nowhere = Target::File("/nowhere/at/all".to_owned());
        assert!(open(&nowhere, Counter::default()).is_err());
    }
}
