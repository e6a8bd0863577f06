//! Requests of one client that follow one another are a session.
//!
//! The requests of a session are written together, once it has ended, so that the log is still read once within a bound
//! of memory; a second file says which session each request belongs to, and how long after the one before it began.
//!
//! Not here: who sent a request (see `client`).

use std::collections::HashMap;
use std::io::{self, Write};

/// A client who asks for nothing so long has left; in nanoseconds. Web statistics count visits so.
const IDLE: u64 = 30 * 60 * 1_000_000_000;
/// A session of more requests is no person's: it ends, and another begins.
const MOST_REQUESTS: usize = 10_000;
/// Requests that are kept until their session has ended, at most, over all sessions.
const MOST_KEPT: usize = 1 << 20;

/// Where sessions go.
pub struct SessionFile<'a> {
    /// The field of JSON that names the client; without one, address and program do.
    pub field: Option<String>,
    /// The file: a line `session,after_ns` for each request.
    pub file: &'a mut dyn Write,
}

/// The sessions that have begun and not ended.
pub(super) struct Sessions<'a> {
    to: SessionFile<'a>,
    open: HashMap<String, Open>,
    /// How many have begun.
    pub(super) begun: u64,
    /// Requests of those that have not ended.
    kept: usize,
    /// When it was last looked for clients that have left.
    swept: u64,
}

struct Open {
    number: u64,
    last: u64,
    /// With the nanoseconds since the one before.
    requests: Vec<(String, u64)>,
}

impl<'a> Sessions<'a> {
    /// None yet.
    pub(super) fn new(to: SessionFile<'a>) -> io::Result<Self> {
        writeln!(to.file, "session,after_ns")?;
        Ok(Self { to, open: HashMap::new(), begun: 0, kept: 0, swept: 0 })
    }

    /// The field that names the client.
    pub(super) fn field(&self) -> Option<&str> {
        self.to.field.as_deref()
    }

    /// Adds a request at an instant, which is not before those of the requests added before; whether a session begins
    /// with it. What has ended goes to `requests`.
    pub(super) fn add(
        &mut self,
        client: String,
        request: String,
        at: u64,
        requests: &mut impl Write,
    ) -> io::Result<bool> {
        if at - self.swept > IDLE {
            self.swept = at;
            self.end_where(|open| at - open.last > IDLE, requests)?;
        }
        if self.kept >= MOST_KEPT {
            self.end_where(|_| true, requests)?;
        }
        let is_over = |open: &Open| at - open.last > IDLE || open.requests.len() >= MOST_REQUESTS;
        if self.open.get(&client).is_some_and(is_over)
            && let Some(open) = self.open.remove(&client)
        {
            self.write(open, requests)?;
        }
        self.kept += 1;
        match self.open.get_mut(&client) {
            Some(open) => {
                open.requests.push((request, at - open.last));
                open.last = at;
                Ok(false)
            }
            None => {
                self.begun += 1;
                let open = Open { number: self.begun, last: at, requests: vec![(request, 0)] };
                self.open.insert(client, open);
                Ok(true)
            }
        }
    }

    /// Writes those that have not ended.
    pub(super) fn end(&mut self, requests: &mut impl Write) -> io::Result<()> {
        self.end_where(|_| true, requests)?;
        self.to.file.flush()
    }

    /// The same log always gives the same files, so they are written in the order in which they began.
    fn end_where(
        &mut self,
        is_over: impl Fn(&Open) -> bool,
        requests: &mut impl Write,
    ) -> io::Result<()> {
        let mut over: Vec<Open> =
            self.open.extract_if(|_, open| is_over(open)).map(|(_, open)| open).collect();
        over.sort_unstable_by_key(|open| open.number);
        over.into_iter().try_for_each(|open| self.write(open, requests))
    }

    fn write(&mut self, open: Open, requests: &mut impl Write) -> io::Result<()> {
        self.kept -= open.requests.len();
        for (request, after) in open.requests {
            writeln!(requests, "{request}")?;
            writeln!(self.to.file, "{},{after}", open.number)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of these requests (client, instant in seconds), with how many sessions there are.
    fn grouped(requests: &[(&str, u64)]) -> (u64, Vec<String>, Vec<u64>) {
        let (mut file, mut written, mut begins) = (Vec::new(), Vec::new(), Vec::new());
        let mut sessions = Sessions::new(SessionFile { field: None, file: &mut file }).unwrap();
        for (place, (client, second)) in requests.iter().enumerate() {
            let (client, at) = ((*client).to_owned(), second * 1_000_000_000);
            if sessions.add(client, format!("GET /{place}"), at, &mut written).unwrap() {
                begins.push(*second);
            }
        }
        sessions.end(&mut written).unwrap();
        let begun = sessions.begun;
        let lines = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (written, file) = (lines(written), lines(file));
        let of = file.lines().skip(1).zip(written.lines());
        let pairs = of.map(|(of, request)| format!("{request} {of}")).collect();
        (begun, pairs, begins)
    }

    #[test]
    fn requests_of_a_client_are_together_in_the_order_in_which_sessions_begin() {
        let (begun, pairs, begins) = grouped(&[("a", 0), ("b", 2), ("a", 3), ("c", 3), ("b", 10)]);
        assert_eq!((begun, begins), (3, vec![0, 2, 3]));
        let expected = [
            "GET /0 1,0",
            "GET /2 1,3000000000",
            "GET /1 2,0",
            "GET /4 2,8000000000",
            "GET /3 3,0",
        ];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn a_client_who_comes_back_later_begins_another() {
        let (begun, pairs, begins) =
            grouped(&[("a", 0), ("b", 1), ("a", 1_800), ("a", 3_601), ("b", 3_700)]);
        assert_eq!((begun, begins), (4, vec![0, 1, 3_601, 3_700]));
        let sessions: Vec<&str> =
            pairs.iter().map(|pair| pair.rsplit_once(' ').unwrap().1).collect();
        assert_eq!(sessions, ["1,0", "1,1800000000000", "2,0", "3,0", "4,0"]);
    }

    #[test]
    fn an_endless_session_is_cut() {
        let robot: Vec<(&str, u64)> = (0..25_000).map(|second| ("robot", second)).collect();
        let (begun, pairs, begins) = grouped(&robot);
        assert_eq!((begun, pairs.len(), begins), (3, 25_000, vec![0, 10_000, 20_000]));
    }
}
