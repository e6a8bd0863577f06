//! Injected faults: delays and refusals at each phase, in known shares.
//!
//! Whether the k-th message, recipient or connection is affected depends only on the seed, the
//! phase and k. So a run of n of them has a known number of faults, for any order of the
//! connections.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;
use serving::settings::Settings;

use crate::refusal::Refusal;

/// Where a fault may be injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A new connection.
    Greeting,
    /// `MAIL`.
    Mail,
    /// `RCPT`.
    Rcpt,
    /// `DATA`, or the first `BDAT`.
    Data,
    /// The content: the connection is dropped in the middle.
    Content,
    /// The end of the content.
    Accept,
}

/// The faults in force; all are off by default.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Faults {
    /// Decides which ones are affected.
    pub seed: u64,
    /// Before the greeting.
    pub greeting_delay_ns: u64,
    /// Before the reply to `MAIL`.
    pub delay_mail_ns: u64,
    /// Before the reply to each `RCPT`.
    pub delay_rcpt_ns: u64,
    /// Before the reply to `DATA`.
    pub delay_data_ns: u64,
    /// Between the end of the content and its reply.
    pub delay_accept_ns: u64,
    /// Share of connections that are refused.
    pub refuse_greeting: f64,
    /// Share of `MAIL` commands that are refused.
    pub refuse_mail: f64,
    /// Share of `RCPT` commands that are refused.
    pub refuse_rcpt: f64,
    /// Share of `DATA` commands that are refused.
    pub refuse_data: f64,
    /// Share of complete messages that are refused; nothing of them is stored.
    pub refuse_accept: f64,
    /// The reply code of a refusal.
    pub refuse_with: u16,
    /// Share of messages during whose content the connection is dropped.
    pub drop_in_data: f64,
    /// Pause after each accepted connection, while other connections wait in the backlog.
    pub accept_pause_ns: u64,
    /// Pause after the first accepted connection, like a server that is still starting up.
    pub accept_stall_ns: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            seed: 1,
            greeting_delay_ns: 0,
            delay_mail_ns: 0,
            delay_rcpt_ns: 0,
            delay_data_ns: 0,
            delay_accept_ns: 0,
            refuse_greeting: 0.0,
            refuse_mail: 0.0,
            refuse_rcpt: 0.0,
            refuse_data: 0.0,
            refuse_accept: 0.0,
            refuse_with: 451,
            drop_in_data: 0.0,
            accept_pause_ns: 0,
            accept_stall_ns: 0,
        }
    }
}

impl Faults {
    /// Reads the faults by the names of their fields; times have names without the unit suffix.
    pub fn read(settings: &Settings<'_>) -> Self {
        Self {
            seed: settings.count("seed", 1, 0..=u64::MAX),
            greeting_delay_ns: settings.time("greeting_delay", 0),
            delay_mail_ns: settings.time("delay_mail", 0),
            delay_rcpt_ns: settings.time("delay_rcpt", 0),
            delay_data_ns: settings.time("delay_data", 0),
            delay_accept_ns: settings.time("delay_accept", 0),
            refuse_greeting: settings.ratio("refuse_greeting", 0.0),
            refuse_mail: settings.ratio("refuse_mail", 0.0),
            refuse_rcpt: settings.ratio("refuse_rcpt", 0.0),
            refuse_data: settings.ratio("refuse_data", 0.0),
            refuse_accept: settings.ratio("refuse_accept", 0.0),
            // The range holds only numbers of sixteen bits.
            refuse_with: settings.count("refuse_with", 451, 400..=599) as u16,
            drop_in_data: settings.ratio("drop_in_data", 0.0),
            accept_pause_ns: settings.time("accept_pause", 0),
            accept_stall_ns: settings.time("accept_stall", 0),
        }
    }

    /// The delay before the reply of this phase; `None` for none.
    pub fn delay(&self, phase: Phase) -> Option<Duration> {
        let ns = match phase {
            Phase::Greeting => self.greeting_delay_ns,
            Phase::Mail => self.delay_mail_ns,
            Phase::Rcpt => self.delay_rcpt_ns,
            Phase::Data => self.delay_data_ns,
            Phase::Content => 0,
            Phase::Accept => self.delay_accept_ns,
        };
        (ns > 0).then(|| Duration::from_nanos(ns))
    }

    /// The reply that refuses a phase.
    pub fn refusal(&self) -> Refusal {
        let class = if self.refuse_with < 500 { 4 } else { 5 };
        Refusal::new(self.refuse_with, (class, 3, 0), "Refused by an injected fault")
    }

    fn share(&self, phase: Phase) -> f64 {
        match phase {
            Phase::Greeting => self.refuse_greeting,
            Phase::Mail => self.refuse_mail,
            Phase::Rcpt => self.refuse_rcpt,
            Phase::Data => self.refuse_data,
            Phase::Content => self.drop_in_data,
            Phase::Accept => self.refuse_accept,
        }
    }
}

/// Counts of each phase so far, over all connections.
#[derive(Debug, Default)]
pub struct FaultDraws {
    ordinals: [AtomicU64; 6],
}

impl FaultDraws {
    /// Whether the next one of this phase is affected.
    pub fn hits(&self, faults: &Faults, phase: Phase) -> bool {
        let share = faults.share(phase);
        if share <= 0.0 {
            return false;
        }
        let ordinal = self.ordinals[phase as usize].fetch_add(1, Ordering::Relaxed);
        is_hit(faults.seed, phase, ordinal, share)
    }
}

/// Whether the one with this ordinal is affected.
fn is_hit(seed: u64, phase: Phase, ordinal: u64, share: f64) -> bool {
    let drawn = mix(mix(seed ^ ((phase as u64) << 56)).wrapping_add(ordinal));
    // 53 bits fit exactly into a number in [0, 1).
    ((drawn >> 11) as f64) / ((1_u64 << 53) as f64) < share
}

/// One step of SplitMix64: every input bit affects every output bit.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(seed: u64, phase: Phase, share: f64) -> usize {
        (0..10_000).filter(|ordinal| is_hit(seed, phase, *ordinal, share)).count()
    }

    #[test]
    fn the_mixer_is_splitmix() {
        // The published generator's first outputs for seed 0.
        assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mix(0x9E37_79B9_7F4A_7C15), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn shares_have_known_counts_and_phases_are_strangers() {
        assert_eq!(count(1, Phase::Mail, 0.0), 0);
        assert_eq!(count(1, Phase::Mail, 1.0), 10_000);
        // 500 are expected; three standard deviations of the binomial are 65.
        for (seed, phase) in [(1, Phase::Mail), (1, Phase::Rcpt), (2, Phase::Mail)] {
            assert!(count(seed, phase, 0.05).abs_diff(500) < 65, "{seed} {phase:?}");
        }
        let both = (0..10_000).filter(|ordinal| {
            is_hit(1, Phase::Mail, *ordinal, 0.5) && is_hit(1, Phase::Rcpt, *ordinal, 0.5)
        });
        assert!(both.count().abs_diff(2_500) < 130);
    }

    #[test]
    fn draws_follow_the_ordinals_whoever_asks() {
        let faults = Faults { refuse_mail: 0.1, ..Faults::default() };
        let draws = FaultDraws::default();
        let hits = (0..1_000).filter(|_| draws.hits(&faults, Phase::Mail)).count();
        assert_eq!(hits, (0..1_000).filter(|k| is_hit(1, Phase::Mail, *k, 0.1)).count());
        assert!(!draws.hits(&faults, Phase::Rcpt), "a phase whose share is none is never hit");
    }
}
