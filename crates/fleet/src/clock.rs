//! The clock of another machine, from exchanges of four stamps.
//!
//! A request leaves at `sent`, arrives at `received` by the other clock, the answer leaves at `answered` by the other
//! clock and arrives at `returned`. The other clock is ahead by an offset that lies within half of the time on the way
//! of the middle of both differences, however unequal the two ways are. Between exchanges, two clocks may drift apart.

use record::summary::ClockOffset;

/// The most by which two clocks that time services slew may drift apart: 500 ppm each (the limit of adjtimex(2)).
const DRIFT: f64 = 1e-3;

/// One exchange. Nanoseconds; the inner two by the other clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The request left here.
    pub sent: u64,
    /// It arrived there.
    pub received: u64,
    /// The answer left there.
    pub answered: u64,
    /// It arrived here.
    pub returned: u64,
}

/// What is known of another clock.
#[derive(Debug, Clone, Default)]
pub struct PeerClock {
    exchanges: Vec<Exchange>,
    appointment: Option<Appointment>,
}

/// The other side begins at an instant of its clock.
#[derive(Debug, Clone, Copy)]
struct Appointment {
    /// By how much its clock was taken to be ahead.
    assumed_ns: i64,
    /// By how much it was, as known then.
    first: ClockOffset,
    /// How far its instants have been off since, at most.
    error_ns: u64,
}

impl Appointment {
    fn see(&mut self, offset: ClockOffset) {
        let wrong = self.assumed_ns.abs_diff(offset.ahead_ns);
        self.error_ns = self.error_ns.max(wrong.saturating_add(offset.bound_ns));
    }
}

/// Exchanges that are kept: those of the last minutes.
const KEPT: usize = 300;

impl Exchange {
    fn offset(self) -> ClockOffset {
        let there = i128::from(self.received) - i128::from(self.sent);
        let back = i128::from(self.answered) - i128::from(self.returned);
        let round = self.returned.saturating_sub(self.sent);
        let on_the_way = round.saturating_sub(self.answered.saturating_sub(self.received));
        ClockOffset {
            ahead_ns: i64::try_from(i128::midpoint(there, back)).unwrap_or(0),
            // A nanosecond for the division by two.
            bound_ns: on_the_way / 2 + 1,
        }
    }

    /// The offset at another instant of this clock: the bound grows with the distance.
    fn offset_at(self, instant: u64) -> ClockOffset {
        let middle = self.sent.midpoint(self.returned);
        let drifted = (middle.abs_diff(instant) as f64 * DRIFT).ceil() as u64;
        let offset = self.offset();
        ClockOffset { bound_ns: offset.bound_ns.saturating_add(drifted), ..offset }
    }
}

impl PeerClock {
    /// Adds an exchange.
    pub fn add(&mut self, exchange: Exchange) {
        if self.exchanges.len() == KEPT {
            self.exchanges.remove(0);
        }
        self.exchanges.push(exchange);
        if let Some((offset, appointment)) =
            self.offset(exchange.returned).zip(self.appointment.as_mut())
        {
            appointment.see(offset);
        }
    }

    /// The offset at this instant of the clock here: that of the exchange with the least bound. `None` before the
    /// first exchange.
    pub fn offset(&self, instant: u64) -> Option<ClockOffset> {
        let known = self.exchanges.iter().map(|exchange| exchange.offset_at(instant));
        known.min_by_key(|offset| offset.bound_ns)
    }

    /// This instant by the other clock.
    pub fn there(&self, instant: u64) -> Option<u64> {
        instant.checked_add_signed(self.offset(instant)?.ahead_ns)
    }

    /// The other side begins at `at` by its clock, which is meant to be `start` here.
    pub fn appoint(&mut self, start: u64, at: u64) {
        match self.offset(start) {
            Some(first) => self.appoint_again(start, at, first),
            None => self.appointment = None,
        }
    }

    /// The same where another coordinator has appointed it, when this was known of the other clock.
    pub fn appoint_again(&mut self, start: u64, at: u64, first: ClockOffset) {
        let assumed_ns = at.cast_signed().wrapping_sub(start.cast_signed());
        let mut appointment = Appointment { assumed_ns, first, error_ns: 0 };
        appointment.see(first);
        self.appointment = Some(appointment);
    }

    /// By how much the other clock was ahead at the appointed start, and how far its instants may have been off from
    /// then to the last exchange: by a wrong offset, and by what the clocks have drifted.
    pub fn appointed(&self) -> Option<(ClockOffset, u64)> {
        self.appointment.map(|appointment| (appointment.first, appointment.error_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::randomness::{RandomStream, below, draw};

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1_000 * MS;

    /// A clock that began `ahead` of ours and drifts by parts per million.
    struct Other {
        ahead: i64,
        ppm: f64,
    }

    impl Other {
        fn at(&self, instant: u64) -> u64 {
            let drifted = (instant as f64 * self.ppm * 1e-6).round() as i64;
            instant.checked_add_signed(self.ahead + drifted).expect("clocks are positive")
        }
    }

    /// Up to 20 ms each way, drawn, and never alike.
    fn exchange(other: &Other, at: u64, seed: u64) -> Exchange {
        let way = |index| below(draw(seed, RandomStream::Content, index), 20 * MS);
        let (arrives, answers) = (at + way(1), at + way(1) + way(2) / 100);
        Exchange {
            sent: at,
            received: other.at(arrives),
            answered: other.at(answers),
            returned: answers + way(3),
        }
    }

    #[test]
    fn the_true_offset_lies_within_the_bound() {
        for seed in 1..=200 {
            let ahead =
                below(draw(seed, RandomStream::Row, 0), 40 * MS).cast_signed() - 20 * MS as i64;
            let ppm = below(draw(seed, RandomStream::Row, 1), 100) as f64 - 50.0;
            let other = Other { ahead, ppm };
            let mut clock = PeerClock::default();
            for number in 0..60 {
                clock.add(exchange(&other, SECOND + number * SECOND, seed * 1_000 + number));
                let now = SECOND + number * SECOND + 700 * MS;
                let offset = clock.offset(now).expect("an exchange");
                let truth = other.at(now).cast_signed() - now.cast_signed();
                let off = truth.abs_diff(offset.ahead_ns);
                assert!(off <= offset.bound_ns, "seed {seed}: off by {off}, {offset:?}");
            }
            // The other side begins at `there` by its clock: how far from `start` is that, and ten minutes later?
            let start = 62 * SECOND;
            let there = clock.there(start).expect("an exchange");
            clock.appoint(start, there);
            for number in 62..662 {
                clock.add(exchange(&other, number * SECOND, seed * 1_000 + number));
            }
            let (_, error) = clock.appointed().expect("exchanges");
            let now = 662 * SECOND;
            let assumed = there.cast_signed() - start.cast_signed();
            let off =
                |instant: u64| other.at(instant).abs_diff(instant.wrapping_add_signed(assumed));
            assert!(off(start).max(off(now)) <= error, "seed {seed}");
            assert!(error < 60 * MS, "seed {seed}: {error}");
        }
    }

    #[test]
    fn the_exchange_with_the_shortest_way_counts() {
        let other = Other { ahead: 5_000, ppm: 0.0 };
        let mut clock = PeerClock::default();
        let with_way = |at: u64, way: u64| Exchange {
            sent: at,
            received: other.at(at + way),
            answered: other.at(at + way),
            returned: at + 2 * way,
        };
        clock.add(with_way(SECOND, 10 * MS));
        clock.add(with_way(SECOND, 1_000));
        clock.add(with_way(SECOND, 10 * MS));
        let offset = clock.offset(SECOND).expect("exchanges");
        assert_eq!(offset, ClockOffset { ahead_ns: 5_000, bound_ns: 1_002 });
    }

    /// A coordinator that takes over knows at which instant the agents began, but not how its predecessor came to it.
    #[test]
    fn an_instant_that_was_agreed_on_with_a_wrong_offset_is_off_by_that() {
        let mut clock = PeerClock::default();
        let (sent, received) = (SECOND, SECOND + 7_000);
        clock.add(Exchange { sent, received, answered: received, returned: sent });
        let mut error = |at| {
            clock.appoint(SECOND, at);
            clock.appointed().map(|(first, error)| (first.ahead_ns, error))
        };
        assert_eq!(error(SECOND + 7_000), Some((7_000, 1)));
        assert_eq!(error(SECOND + 9_000), Some((7_000, 2_001)));
        assert_eq!(error(SECOND), Some((7_000, 7_001)));
        // Another coordinator, a minute later: what the first one knew is not aged by its absence.
        let first = ClockOffset { ahead_ns: 7_000, bound_ns: 1 };
        let mut clock = PeerClock::default();
        clock.appoint_again(SECOND, SECOND + 7_000, first);
        let (sent, received) = (61 * SECOND, 61 * SECOND + 7_500);
        clock.add(Exchange { sent, received, answered: received, returned: sent });
        assert_eq!(clock.appointed(), Some((first, 501)));
    }

    #[test]
    fn nothing_is_known_before_the_first_exchange() {
        assert_eq!(PeerClock::default().offset(7), None);
        assert_eq!(PeerClock::default().there(7), None);
    }
}
