//! What became of what was cast, as numbers that add up.

/// Why a message was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The buffer of a connected peer had no room.
    Full,
    /// The buffer had no room while there was no connection.
    Disconnected,
    /// It is larger than messages may be.
    Oversize,
    /// It was cast, or not yet acknowledged, when the caster ended.
    Unsent,
}

/// How many reasons there are.
pub const REASONS: usize = 4;

impl Why {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; REASONS] = [Self::Full, Self::Disconnected, Self::Oversize, Self::Unsent];

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Disconnected => "disconnected",
            Self::Oversize => "oversize",
            Self::Unsent => "unsent",
        }
    }
}

/// What was cast since some moment, and what of it was dropped by its sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// Messages cast, the dropped ones among them.
    pub cast: u64,
    /// Messages dropped, in the order of [`Why::ALL`].
    pub dropped: [u64; REASONS],
}

impl Account {
    /// Counts messages as dropped.
    pub fn drop(&mut self, why: Why, messages: u64) {
        self.dropped[why as usize] += messages;
    }

    /// Messages dropped for one reason.
    pub fn dropped_for(&self, why: Why) -> u64 {
        self.dropped[why as usize]
    }

    /// Messages dropped.
    pub fn all_dropped(&self) -> u64 {
        self.dropped.iter().fold(0, |sum, one| sum.saturating_add(*one))
    }

    /// Adds another sender's.
    pub fn add(&mut self, other: &Self) {
        self.cast = self.cast.saturating_add(other.cast);
        for (sum, one) in self.dropped.iter_mut().zip(other.dropped) {
            *sum = sum.saturating_add(one);
        }
    }

    /// What came after an earlier one of the same sender; `None` if that is not earlier.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let mut dropped = [0; REASONS];
        for (place, rest) in dropped.iter_mut().enumerate() {
            *rest = self.dropped[place].checked_sub(earlier.dropped[place])?;
        }
        Some(Self { cast: self.cast.checked_sub(earlier.cast)?, dropped })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_add_up_and_are_told_apart() {
        let mut account = Account { cast: 10, ..Account::default() };
        account.drop(Why::Oversize, 3);
        account.drop(Why::Full, 1);
        assert_eq!((account.all_dropped(), account.dropped_for(Why::Oversize)), (4, 3));
        let later = Account { cast: 12, dropped: [1, 1, 3, 0] };
        assert_eq!(later.since(&account), Some(Account { cast: 2, dropped: [0, 1, 0, 0] }));
        assert_eq!(account.since(&later), None);
        account.add(&later);
        assert_eq!(account, Account { cast: 22, dropped: [2, 1, 6, 0] });
    }

    #[test]
    fn each_reason_is_counted_at_its_own_place() {
        for (place, why) in Why::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, place, "{}", why.name());
        }
    }
}
