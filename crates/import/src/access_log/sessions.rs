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
/// How much is kept until its session has ended, at most, over all sessions; see [`weight`].
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
    /// How many of them were ended to make room.
    pub(super) cut: u64,
    /// Weight of those that have not ended.
    kept: usize,
    most_kept: usize,
    /// When it was last looked for clients that have left.
    swept: u64,
}

struct Open {
    number: u64,
    last: u64,
    /// Of its requests and its client.
    weight: usize,
    /// With the nanoseconds since the one before.
    requests: Vec<(String, u64)>,
}

impl<'a> Sessions<'a> {
    /// None yet.
    pub(super) fn new(to: SessionFile<'a>) -> io::Result<Self> {
        writeln!(to.file, "session,after_ns")?;
        let open = HashMap::new();
        Ok(Self { to, open, begun: 0, cut: 0, kept: 0, most_kept: MOST_KEPT, swept: 0 })
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
        if self.kept >= self.most_kept {
            self.make_room(at, requests)?;
        }
        let is_over = |open: &Open| at - open.last > IDLE || open.requests.len() >= MOST_REQUESTS;
        if self.open.get(&client).is_some_and(is_over)
            && let Some(open) = self.open.remove(&client)
        {
            self.write(open, requests)?;
        }
        let more = weight(&request);
        self.kept += more;
        match self.open.get_mut(&client) {
            Some(open) => {
                open.requests.push((request, at - open.last));
                open.weight += more;
                open.last = at;
                Ok(false)
            }
            None => {
                self.begun += 1;
                self.kept += weight(&client);
                let weight = more + weight(&client);
                let requests = vec![(request, 0)];
                self.open.insert(client, Open { number: self.begun, last: at, weight, requests });
                Ok(true)
            }
        }
    }

    /// Ends the sessions whose clients have left, and then those whose last requests are longest ago, until half is free.
    fn make_room(&mut self, at: u64, requests: &mut impl Write) -> io::Result<()> {
        self.end_where(|open| at - open.last > IDLE, requests)?;
        let open = self.open.values().map(|open| ((open.last, open.number), open.weight));
        let mut open: Vec<_> = open.collect();
        open.sort_unstable();
        let (mut kept, mut latest) = (self.kept, None);
        for (place, weight) in open {
            if kept <= self.most_kept / 2 {
                break;
            }
            kept -= weight;
            self.cut += 1;
            latest = Some(place);
        }
        self.end_where(|open| Some((open.last, open.number)) <= latest, requests)
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
        self.kept -= open.weight;
        for (request, after) in open.requests {
            writeln!(requests, "{request}")?;
            writeln!(self.to.file, "{},{after}", open.number)?;
        }
        Ok(())
    }
}

/// What a text counts for where memory is bounded: one, and one more for every 256 bytes.
pub(super) fn weight(text: &str) -> usize {
    1 + text.len() / 256
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of these requests (client, instant in seconds), with how many sessions there are.
    fn grouped(requests: &[(&str, u64)]) -> (u64, Vec<String>, Vec<u64>) {
        let (begun, cut, pairs, begins) = within(MOST_KEPT, requests);
        assert_eq!(cut, 0);
        (begun, pairs, begins)
    }

    /// The same with a limit, and how many were cut.
    fn within(most_kept: usize, requests: &[(&str, u64)]) -> (u64, u64, Vec<String>, Vec<u64>) {
        let (mut file, mut written, mut begins) = (Vec::new(), Vec::new(), Vec::new());
        let mut sessions = Sessions::new(SessionFile { field: None, file: &mut file }).unwrap();
        sessions.most_kept = most_kept;
        for (place, (client, second)) in requests.iter().enumerate() {
            let (client, at) = ((*client).to_owned(), second * 1_000_000_000);
            if sessions.add(client, format!("GET /{place}"), at, &mut written).unwrap() {
                begins.push(*second);
            }
        }
        sessions.end(&mut written).unwrap();
        assert_eq!(sessions.kept, 0);
        let (begun, cut) = (sessions.begun, sessions.cut);
        let lines = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (written, file) = (lines(written), lines(file));
        let of = file.lines().skip(1).zip(written.lines());
        let pairs = of.map(|(of, request)| format!("{request} {of}")).collect();
        (begun, cut, pairs, begins)
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

    /// Each request and each client weighs one, so four of two and one are full; those who asked last go on.
    #[test]
    fn of_too_many_those_are_cut_whose_last_request_is_longest_ago() {
        let requests = [("a", 0), ("b", 1), ("c", 2), ("a", 3), ("d", 4), ("a", 5), ("b", 6)];
        let (begun, cut, pairs, begins) = within(7, &requests);
        assert_eq!((begun, cut, begins), (5, 2, vec![0, 1, 2, 4, 6]));
        let sessions: Vec<&str> =
            pairs.iter().map(|pair| pair.rsplit_once(' ').unwrap().1).collect();
        let second = 1_000_000_000_u64;
        let ours = [
            "2,0".to_owned(),
            "3,0".to_owned(),
            "1,0".to_owned(),
            format!("1,{}", 3 * second),
            format!("1,{}", 2 * second),
            "4,0".to_owned(),
            "5,0".to_owned(),
        ];
        assert_eq!(sessions, ours);
    }

    /// 4,000 clients of half an hour before weigh 8,000, and 600 new ones 1,200.
    #[test]
    fn clients_who_have_left_make_room_first() {
        let clients: Vec<String> = (0..4_600).map(|client| client.to_string()).collect();
        let at = |second| move |client| (String::as_str(client), second);
        let (early, late) = clients.split_at(4_000);
        let mut requests: Vec<(&str, u64)> = early.iter().map(at(100)).collect();
        requests.push(("other", 1_801));
        requests.extend(late.iter().map(at(1_950)));
        let (begun, cut, ..) = within(9_000, &requests);
        assert_eq!((begun, cut), (4_601, 0));
    }
}
