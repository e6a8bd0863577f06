//! All that a monitor counts, under one lock that is held for what is read at a time.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use serde_json::{Map, Value};
use serving::observed::{DeliveryTimes, Observed};

use super::recent::{self, Recent, RecentMessage};
use super::record::{Delays, Holder, Record};
use crate::cast::account::{Account, Why};
use crate::cast::frame::{Cast, Frame, FrameError, Hello, Welcome};

pub use super::record::Totals;

/// What a monitor counts beside what every observer does.
pub const COUNTS: [&str; 15] = [
    "cast",
    "dropped",
    "dropped_full",
    "dropped_disconnected",
    "dropped_oversize",
    "dropped_unsent",
    "out_of_order",
    "gaps",
    "missing",
    "unbalanced",
    "ahead",
    "bytes",
    "senders",
    "kept",
    "evicted",
];

/// How the connection of a caster came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The caster or the monitor was told to end.
    Ended,
    /// It broke, or ended within a frame.
    Broken,
    /// What came is no frame, or not this caster's.
    Malformed,
    /// A frame is longer than frames may be.
    Oversize,
    /// A hello or a frame did not come in time.
    Late,
    /// Nothing came for too long.
    Idle,
    /// The caster has another connection.
    Superseded,
    /// There are too many casters.
    Crowded,
    /// There are too many connections.
    TurnedAway,
}

impl End {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 9] = [
        Self::Ended,
        Self::Broken,
        Self::Malformed,
        Self::Oversize,
        Self::Late,
        Self::Idle,
        Self::Superseded,
        Self::Crowded,
        Self::TurnedAway,
    ];

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Broken => "broken",
            Self::Malformed => "malformed",
            Self::Oversize => "oversize",
            Self::Late => "late",
            Self::Idle => "idle",
            Self::Superseded => "superseded",
            Self::Crowded => "crowded",
            Self::TurnedAway => "turned_away",
        }
    }
}

impl From<FrameError> for End {
    fn from(fault: FrameError) -> Self {
        match fault {
            FrameError::Oversize => Self::Oversize,
            FrameError::Malformed(_) => Self::Malformed,
        }
    }
}

/// What a ledger keeps to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Casters at a time; the one that went first gives way to a new one.
    pub senders: usize,
    /// Bytes of the longest frame.
    pub longest_frame: usize,
    pub recent: recent::Bounds,
}

/// The figures of all casters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub totals: Totals,
    pub senders: u64,
    pub connected: u64,
    /// Messages over NATS that are no casts, or of casters beyond the bound.
    pub unexpected: u64,
    pub kept: u64,
    pub evicted: u64,
    pub not_kept: u64,
    /// Connections that ended, in the order of [`End::ALL`].
    pub ends: [u64; End::ALL.len()],
}

/// One caster as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sender {
    pub caster: u64,
    pub name: String,
    pub is_connected: bool,
    pub totals: Totals,
    pub delays: Delays,
}

/// The account of one monitor.
#[derive(Debug)]
pub struct Ledger {
    bounds: Bounds,
    records: HashMap<u64, Record>,
    /// Of those whose record gave way.
    departed: Totals,
    /// Records that were ever begun.
    begun: u64,
    /// Makes numbers of records that no other monitor gives.
    random: RandomState,
    recent: Recent,
    times: DeliveryTimes,
    unexpected: u64,
    ends: [u64; End::ALL.len()],
}

impl Ledger {
    /// An empty account.
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            records: HashMap::new(),
            departed: Totals::default(),
            begun: 0,
            random: RandomState::new(),
            recent: Recent::new(bounds.recent),
            times: DeliveryTimes::default(),
            unexpected: 0,
            ends: [0; End::ALL.len()],
        }
    }

    /// Begins or goes on with the record of a caster, which this connection brings from now on.
    ///
    /// Errors: there are too many casters
    pub(super) fn open(&mut self, hello: &Hello<'_>, connection: u64) -> Result<Welcome, End> {
        let holder = Holder::Connection(connection);
        let record =
            self.record(hello.caster, hello.name, holder, hello.base).ok_or(End::Crowded)?;
        record.holder = holder;
        hello.name.clone_into(&mut record.name);
        let (record, taken) = (record.number, record.taken);
        let longest = u32::try_from(self.bounds.longest_frame).unwrap_or(u32::MAX);
        Ok(Welcome { record, taken, longest })
    }

    /// Counts a frame of the caster that a connection brings; gives how many of its record were counted.
    ///
    /// Errors: it is not that caster's, or another connection brings it by now
    pub(super) fn take(
        &mut self,
        connection: u64,
        caster: u64,
        frame: Frame<'_>,
        now_ns: u64,
    ) -> Result<u64, End> {
        let record = self.records.get_mut(&caster);
        let record = record.filter(|record| record.holder == Holder::Connection(connection));
        let record = record.ok_or(End::Superseded)?;
        match frame {
            Frame::Cast(cast) if cast.caster == caster => {
                let taken = record.taken + 1;
                let delay_ns = record.cast(&cast, now_ns);
                self.keep(&cast, delay_ns, now_ns);
                Ok(taken)
            }
            Frame::Account(owner, account) if owner == caster => {
                record.account(&account, now_ns).map_err(|_| End::Malformed)?;
                Ok(record.taken)
            }
            _ => Err(End::Malformed),
        }
    }

    /// Counts a frame that came over NATS, where there is no hello.
    pub(super) fn take_loose(&mut self, body: &[u8], now_ns: u64) {
        let frame = Frame::read(body).ok();
        let is_counted = match frame {
            Some(Frame::Cast(cast)) => match self.loose(cast.caster) {
                Some(record) => {
                    let delay_ns = record.cast(&cast, now_ns);
                    self.keep(&cast, delay_ns, now_ns);
                    true
                }
                None => false,
            },
            Some(Frame::Account(caster, account)) => {
                self.loose(caster).is_some_and(|record| record.account(&account, now_ns).is_ok())
            }
            _ => false,
        };
        self.unexpected += u64::from(!is_counted);
    }

    fn loose(&mut self, caster: u64) -> Option<&mut Record> {
        self.record(caster, "", Holder::Bus, Account::default())
    }

    fn keep(&mut self, cast: &Cast<'_>, delay_ns: Option<u64>, now_ns: u64) {
        if let Some(delay_ns) = delay_ns {
            self.times.record(delay_ns);
            self.recent.keep(cast, now_ns);
        }
    }

    /// The record of a caster; a new one if there is none and room for it.
    fn record(
        &mut self,
        caster: u64,
        name: &str,
        holder: Holder,
        base: Account,
    ) -> Option<&mut Record> {
        if !self.records.contains_key(&caster) {
            if self.records.len() >= self.bounds.senders {
                self.evict()?;
            }
            self.begun += 1;
            let number = self.random.hash_one(self.begun);
            self.records.insert(caster, Record::new(number, name, holder, base));
        }
        self.records.get_mut(&caster)
    }

    /// Forgets the caster without a connection that was silent for longest; its counts stay in the sums.
    fn evict(&mut self) -> Option<()> {
        let gone = self.records.iter().filter(|(_, record)| record.holder == Holder::Nobody);
        let caster = *gone.min_by_key(|(_, record)| record.last_at)?.0;
        self.departed.add(&self.records.remove(&caster)?.totals());
        Some(())
    }

    /// Counts the end of a connection; a caster that it brought is not there any more.
    pub(super) fn ended(&mut self, connection: u64, caster: Option<u64>, end: End) {
        self.ends[end as usize] += 1;
        if let Some(record) = caster.and_then(|caster| self.records.get_mut(&caster))
            && record.holder == Holder::Connection(connection)
        {
            record.holder = Holder::Nobody;
        }
    }

    /// The sums over all casters, those among them that gave way.
    pub(super) fn sums(&self) -> Sums {
        let mut totals = self.departed;
        self.records.values().for_each(|record| totals.add(&record.totals()));
        let connected = self.records.values().filter(|record| record.holder != Holder::Nobody);
        Sums {
            totals,
            senders: self.begun,
            connected: connected.count() as u64,
            unexpected: self.unexpected,
            kept: self.recent.len() as u64,
            evicted: self.recent.evicted(),
            not_kept: self.recent.too_large(),
            ends: self.ends,
        }
    }

    /// The casters that are known, by their numbers.
    pub(super) fn senders(&self) -> Vec<Sender> {
        let shown = |(caster, record): (&u64, &Record)| Sender {
            caster: *caster,
            name: record.name.clone(),
            is_connected: record.holder != Holder::Nobody,
            totals: record.totals(),
            delays: record.delays,
        };
        let mut senders: Vec<Sender> = self.records.iter().map(shown).collect();
        senders.sort_unstable_by_key(|sender| sender.caster);
        senders
    }

    /// The messages that are kept, from this arrival on.
    pub(super) fn messages(&self, arrival: u64) -> impl Iterator<Item = RecentMessage<'_>> {
        self.recent.from(arrival)
    }

    /// What `GET /observed` answers.
    pub fn observed(&self) -> Observed {
        let Sums { totals, senders, unexpected, kept, evicted, .. } = self.sums();
        let dropped = |why| totals.account.dropped_for(why);
        let values = [
            totals.account.cast,
            totals.account.all_dropped(),
            dropped(Why::Full),
            dropped(Why::Disconnected),
            dropped(Why::Oversize),
            dropped(Why::Unsent),
            totals.out_of_order,
            totals.gaps,
            totals.missing,
            totals.unbalanced,
            totals.ahead,
            totals.bytes,
            senders,
            kept,
            evicted,
        ];
        let details = COUNTS.iter().zip(values);
        let detail: Map<String, Value> =
            details.map(|(name, count)| ((*name).to_owned(), count.into())).collect();
        Observed {
            counts: "messages cast",
            received: totals.received,
            duplicates: totals.duplicates,
            unexpected,
            lost: totals.lost,
            delivery_time: self.times.encode(),
            detail,
        }
    }
}

#[cfg(test)]
mod tests;
