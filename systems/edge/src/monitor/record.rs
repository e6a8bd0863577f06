//! What is known of one caster.

use crate::cast::account::Account;
use crate::cast::frame::{Cast, MOST_LANES};

use super::sequence::{Arrival, Sequence};

/// Counts that add up over casters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Distinct messages.
    pub received: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Messages that came again.
    pub duplicates: u64,
    /// Messages that came after later ones.
    pub out_of_order: u64,
    /// Times that numbers were left out.
    pub gaps: u64,
    /// Numbers that were left out and have not come since.
    pub missing: u64,
    /// Messages sent after they were received, by their own word: of another machine, or made up.
    pub ahead: u64,
    /// Accounts that did not add up to what had been received before them.
    pub unbalanced: u64,
    /// Messages cast and dropped, by the casters' last accounts.
    pub account: Account,
    /// Messages cast and not received; by missing numbers where there is no account.
    pub lost: u64,
}

impl Totals {
    /// Adds those of another.
    pub fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.bytes += other.bytes;
        self.duplicates += other.duplicates;
        self.out_of_order += other.out_of_order;
        self.gaps += other.gaps;
        self.missing = self.missing.saturating_add(other.missing);
        self.ahead += other.ahead;
        self.unbalanced += other.unbalanced;
        self.account.add(&other.account);
        self.lost = self.lost.saturating_add(other.lost);
    }
}

/// Times under way of one caster's messages, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delays {
    /// The shortest; 0 if there is none.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    sum_ns: u128,
    count: u64,
}

impl Delays {
    fn add(&mut self, delay_ns: u64) {
        self.min_ns = if self.count == 0 { delay_ns } else { self.min_ns.min(delay_ns) };
        self.max_ns = self.max_ns.max(delay_ns);
        self.sum_ns += u128::from(delay_ns);
        self.count += 1;
    }

    /// The mean; 0 if there is none.
    pub fn mean_ns(&self) -> u64 {
        let mean = self.sum_ns.checked_div(u128::from(self.count)).unwrap_or(0);
        u64::try_from(mean).unwrap_or(u64::MAX)
    }
}

/// Who brings a caster's frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// The TCP connection of this number.
    Connection(u64),
    /// NATS, where there is no goodbye.
    Bus,
    /// No connection any more.
    Nobody,
}

/// One caster.
#[derive(Debug)]
pub(super) struct Record {
    /// By which the caster knows whether this is the record of before.
    pub number: u64,
    pub name: String,
    pub holder: Holder,
    /// Casts and accounts counted, duplicates among them.
    pub taken: u64,
    /// When the last of them came.
    pub last_at: u64,
    pub delays: Delays,
    base: Account,
    account: Option<Account>,
    lanes: Vec<Sequence>,
    totals: Totals,
}

impl Record {
    /// A record that counts from this account on.
    pub fn new(number: u64, name: &str, holder: Holder, base: Account) -> Self {
        Self {
            number,
            name: name.to_owned(),
            holder,
            taken: 0,
            last_at: 0,
            delays: Delays::default(),
            base,
            account: None,
            lanes: Vec::new(),
            totals: Totals::default(),
        }
    }

    /// Counts a message, and gives its time under way if it is not there already.
    pub fn cast(&mut self, cast: &Cast<'_>, now_ns: u64) -> Option<u64> {
        self.taken += 1;
        self.last_at = now_ns;
        let lane = usize::from(cast.lane) % MOST_LANES;
        if self.lanes.len() <= lane {
            self.lanes.resize_with(lane + 1, Sequence::default);
        }
        let totals = &mut self.totals;
        match self.lanes[lane].take(cast.sequence) {
            Arrival::New { left_out } => {
                totals.gaps += u64::from(left_out > 0);
                totals.missing = totals.missing.saturating_add(left_out);
            }
            Arrival::Late => {
                totals.out_of_order += 1;
                totals.missing -= 1;
            }
            Arrival::Again => {
                totals.duplicates += 1;
                return None;
            }
        }
        totals.received += 1;
        totals.bytes += cast.payload.len() as u64;
        totals.ahead += u64::from(cast.sent_at > now_ns);
        let delay_ns = now_ns.saturating_sub(cast.sent_at);
        self.delays.add(delay_ns);
        Some(delay_ns)
    }

    /// Holds what the caster says against what was received up to here.
    ///
    /// Errors: it says less than when the record began
    pub fn account(&mut self, account: &Account, now_ns: u64) -> Result<(), &'static str> {
        self.taken += 1;
        self.last_at = now_ns;
        let own = account.since(&self.base).ok_or("an account of less than before")?;
        let told = self.totals.received.saturating_add(own.all_dropped());
        self.totals.unbalanced += u64::from(told != own.cast);
        self.account = Some(own);
        Ok(())
    }

    /// The counts up to now.
    pub fn totals(&self) -> Totals {
        let account = self.account.unwrap_or_default();
        let lost = match self.account {
            Some(account) => account.cast.saturating_sub(self.totals.received),
            None => self.totals.missing,
        };
        Totals { account, lost, ..self.totals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cast(lane: u8, sequence: u64, sent_at: u64) -> Cast<'static> {
        Cast { lane, caster: 1, sequence, sent_at, payload: b"abc" }
    }

    fn record() -> Record {
        Record::new(5, "r", Holder::Connection(1), Account { cast: 10, dropped: [2, 0, 0, 0] })
    }

    #[test]
    fn each_message_of_each_lane_counts_once() {
        let mut record = record();
        let delays = [(0, 0), (1, 0), (0, 2), (0, 2), (0, 1), (1, 0), (0, 1)]
            .map(|(lane, sequence)| record.cast(&cast(lane, sequence, 100), 130));
        assert_eq!(delays, [Some(30), Some(30), Some(30), None, Some(30), None, None]);
        let expected = Totals {
            received: 4,
            bytes: 12,
            duplicates: 3,
            out_of_order: 1,
            gaps: 1,
            ..Totals::default()
        };
        assert_eq!(record.totals(), expected);
        assert_eq!(record.taken, 7);
    }

    #[test]
    fn times_under_way_are_never_negative() {
        let mut record = record();
        assert_eq!((record.delays.min_ns, record.delays.mean_ns()), (0, 0));
        for (sequence, sent_at) in [(0, 100), (1, 70), (2, 131)] {
            record.cast(&cast(0, sequence, sent_at), 130);
        }
        let Delays { min_ns, max_ns, .. } = record.delays;
        assert_eq!((min_ns, record.delays.mean_ns(), max_ns), (0, 30, 60));
        assert_eq!(record.totals().ahead, 1);
    }

    #[test]
    fn an_account_is_held_against_what_came_since_the_record_began() {
        let mut record = record();
        record.cast(&cast(0, 10, 1), 2);
        record.cast(&cast(0, 13, 1), 2);
        assert_eq!((record.totals().lost, record.totals().missing), (2, 2), "by numbers");
        let of = |cast, full| Account { cast, dropped: [full, 0, 0, 0] };
        record.account(&of(14, 4), 2).unwrap();
        let totals = record.totals();
        assert_eq!((totals.account, totals.lost, totals.unbalanced), (of(4, 2), 2, 0));
        record.account(&of(14, 3), 2).unwrap();
        assert_eq!(record.totals().unbalanced, 1, "one is lost and nobody dropped it");
        assert!(record.account(&of(9, 2), 2).is_err());
        assert!(record.account(&of(14, 1), 2).is_err());
        assert_eq!(record.taken, 6);
    }
}
