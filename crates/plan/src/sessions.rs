//! Recorded sessions: which requests of a list belong together, and how long after one another they began.

use std::fmt;
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::hash;
use crate::schedule::nanos;
use crate::units;

/// The requests of a list, by session. Serialised as its sizes and digest, not its content.
#[derive(Clone, PartialEq, Eq)]
pub struct Sessions {
    /// The file that it came from.
    pub file: String,
    /// By number of the session: the place of its first request in the list, and how many it has.
    spans: Vec<(u32, u32)>,
    /// By place in the list: nanoseconds from the beginning of the request before it in the same session.
    after_ns: Vec<u64>,
}

impl Sessions {
    /// Parses a line `session,after` for each request of a list, in its order. A header `session,after_ns`, `_us`,
    /// `_ms` or `_s` gives the unit of bare numbers; otherwise each has its own unit. Sessions have the numbers 1, 2, 3 …
    /// in the order in which they begin; the lines of a session follow one another, sessions may come in any order.
    ///
    /// Errors: a clause without its subject, which is the file
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let mut sessions = Self { file: file.to_owned(), spans: Vec::new(), after_ns: Vec::new() };
        // Each session has a line of its own at least.
        let most = text.lines().count();
        let (mut unit, mut current) = ("", 0);
        for (number, line) in (1_u64..).zip(text.lines()) {
            let (session, after) = line.split_once(',').unwrap_or((line, ""));
            if line.trim().is_empty() {
                continue;
            }
            let at = |problem: String| format!("line {number}: {problem}");
            if let (1, "session", Some(named)) =
                (number, session.trim(), units::of_column(after.trim(), "after_"))
            {
                unit = named.map_err(at)?;
                continue;
            }
            let (session, after) = read(session.trim(), after.trim(), unit).ok_or_else(|| {
                at(format!("expected a session and a time, such as 12,1.5s, got \"{line}\""))
            })?;
            if session as usize > most {
                return Err(at(format!(
                    "sessions are numbered 1, 2, 3 …, and there are {most} lines (got {session})"
                )));
            }
            sessions.add(session, session == current, after).map_err(at)?;
            current = session;
        }
        match sessions.spans.iter().position(|(_, count)| *count == 0) {
            Some(missing) => {
                Err(format!("has no session {}: number them 1, 2, 3 … without gaps", missing + 1))
            }
            None if sessions.spans.is_empty() => Err("holds no session".to_owned()),
            None => Ok(sessions),
        }
    }

    fn add(&mut self, session: u32, goes_on: bool, after_ns: u64) -> Result<(), String> {
        let place = session as usize - 1;
        let first =
            u32::try_from(self.after_ns.len()).map_err(|_| "too many requests".to_owned())?;
        if place >= self.spans.len() {
            self.spans.resize(place + 1, (0, 0));
        }
        let (begin, count) = &mut self.spans[place];
        match (*count, goes_on) {
            (0, _) => *begin = first,
            (_, true) => {}
            (_, false) => {
                return Err(format!(
                    "the lines of session {session} must stand together: others begin further up"
                ));
            }
        }
        *count += 1;
        self.after_ns.push(after_ns);
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// How many requests they have together.
    pub fn requests(&self) -> usize {
        self.after_ns.len()
    }

    /// How many requests this session has.
    pub fn count(&self, session: usize) -> u32 {
        self.spans[session].1
    }

    /// The place in the list of a request of this session, from 0.
    pub fn place(&self, session: usize, request: u32) -> usize {
        (self.spans[session].0 + request) as usize
    }

    /// Nanoseconds from the beginning of the request before it.
    pub fn after_ns(&self, session: usize, request: u32) -> u64 {
        self.after_ns[self.place(session, request)]
    }

    /// Mean time from the first request of a session to its last.
    pub fn mean_length(&self) -> Duration {
        let first = |(place, _): &(u32, u32)| u128::from(self.after_ns[*place as usize]);
        let all: u128 = self.after_ns.iter().map(|after| u128::from(*after)).sum();
        let between = all - self.spans.iter().map(first).sum::<u128>();
        let mean = between / (self.spans.len() as u128).max(1);
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    fn digest(&self) -> String {
        let spans: Vec<u8> = self
            .spans
            .iter()
            .flat_map(|(first, count)| [first.to_le_bytes(), count.to_le_bytes()])
            .flatten()
            .collect();
        let after: Vec<u8> = self.after_ns.iter().flat_map(|after| after.to_le_bytes()).collect();
        hash::hex(&[&spans, &after])
    }
}

fn read(session: &str, after: &str, unit: &str) -> Option<(u32, u64)> {
    let session = session.parse().ok().filter(|session| *session > 0)?;
    Some((session, nanos(units::duration_in(after, unit)?)))
}

/// Its sizes alone: plans are printed.
impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sessions({}: {} of {} requests)", self.file, self.len(), self.requests())
    }
}

impl Serialize for Sessions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Sessions", 4)?;
        fields.serialize_field("file", &self.file)?;
        fields.serialize_field("count", &self.len())?;
        fields.serialize_field("requests", &self.requests())?;
        fields.serialize_field("digest", &self.digest())?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_read_in_the_order_of_the_list() {
        let read =
            Sessions::parse("s.csv", "session,after_ms\n2,0\n2,1.5\n1,0\n\n3,0\n3,20\n3,2s\n")
                .unwrap();
        assert_eq!((read.len(), read.requests()), (3, 6));
        assert_eq!([0, 1, 2].map(|session| read.count(session)), [1, 2, 3]);
        assert_eq!([0, 1, 2].map(|session| read.place(session, 0)), [2, 0, 3]);
        assert_eq!(read.after_ns(1, 1), 1_500_000);
        assert_eq!(read.after_ns(2, 2), 2_000_000_000);
        // 0, 1.5 and 2,020 ms.
        assert_eq!(read.mean_length(), Duration::from_nanos(673_833_333));
        let other = Sessions::parse("s.csv", "2,0s\n2,1.5ms\n1,0s\n3,0s\n3,20ms\n3,3s\n").unwrap();
        assert_ne!(read.digest(), other.digest());
    }

    #[test]
    fn the_first_time_of_a_session_counts_for_nothing() {
        let read = Sessions::parse("s.csv", "1,5s\n1,1s\n").unwrap();
        assert_eq!(read.mean_length(), Duration::from_secs(1));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, says) in [
            ("", "holds no session"),
            ("session,after_ns\n", "holds no session"),
            ("1,0s\n3,0s\n3,1s\n", "has no session 2: number them"),
            (
                "session,after_sec\n1,0\n",
                "line 1: expected after_ns, after_us, after_ms or after_s, got \"after_sec\"",
            ),
            (
                "1,0s\n2,0s\n1,1s\n",
                "line 3: the lines of session 1 must stand together: others begin further up",
            ),
            ("0,0s", "line 1: expected a session and a time, such as 12,1.5s, got \"0,0s\""),
            ("1", "line 1: expected a session and a time"),
            ("1,5", "line 1: expected a session and a time"),
            ("session,after_ms\n1,x", "line 2: expected a session and a time"),
            ("1,-5s", "line 1: expected a session and a time"),
            (
                "4294967295,0s",
                "line 1: sessions are numbered 1, 2, 3 …, and there are 1 lines (got 4294967295)",
            ),
        ] {
            let message = Sessions::parse("s.csv", text).unwrap_err();
            assert!(message.starts_with(says), "{text}: {message}");
        }
    }
}
