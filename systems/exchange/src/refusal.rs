//! Why a producer does not answer, as a number that is the same over every way.

use crate::way::Failure;

/// Why a producer does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request is none.
    #[error("the request is not understood")]
    NotUnderstood,
    /// It asks for more or less than there may be.
    #[error("1 to 6,500 users or 1,024 to 16,777,216 bytes can be asked for")]
    OutOfBounds,
    /// So many answers are under way that there is no memory for another.
    #[error("too many answers are under way")]
    Crowded,
}

impl Refusal {
    /// All, by their numbers from 1 on.
    const ALL: [Self; 3] = [Self::NotUnderstood, Self::OutOfBounds, Self::Crowded];

    /// Its number, above zero.
    pub fn code(self) -> u32 {
        match self {
            Self::NotUnderstood => 1,
            Self::OutOfBounds => 2,
            Self::Crowded => 3,
        }
    }

    /// What a number means to whoever asked.
    pub fn told(code: u64) -> Failure {
        match Self::ALL.into_iter().find(|refusal| u64::from(refusal.code()) == code) {
            Some(Self::Crowded) => Failure::Crowded,
            Some(refusal) => Failure::Refused(refusal.to_string()),
            None => Failure::Refused(format!("with the number {code}, which we do not know")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{SIZES, USERS};

    #[test]
    fn numbers_are_those_of_the_readme_and_none_is_zero() {
        assert_eq!(Refusal::ALL.map(Refusal::code), [1, 2, 3]);
        assert_eq!(Refusal::told(3), Failure::Crowded);
        assert_eq!(Refusal::told(1).kind(), "refused");
        assert_eq!(Refusal::told(9).kind(), "refused");
    }

    #[test]
    fn the_bounds_in_the_sentence_are_the_bounds() {
        let (users, sizes) = (USERS, SIZES);
        let bounds = format!(
            "{} to {} users or {} to {} bytes can be asked for",
            users.start(),
            users.end(),
            sizes.start(),
            sizes.end()
        );
        assert_eq!(Refusal::OutOfBounds.to_string().replace(',', ""), bounds);
    }
}
