//! Why a producer does not answer, as a number that is the same over every way.

use crate::failure::Failure;

/// Why a producer does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request cannot be parsed.
    #[error("the request cannot be parsed")]
    NotUnderstood,
    /// It asks for more or less than there may be.
    #[error("a request must be for 1 to 6,500 users or 1,024 to 16,777,216 bytes")]
    OutOfBounds,
    /// So many answers are under way that there is no memory for another.
    #[error("too many answers at a time; retry later")]
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

    /// The failure for a refusal's code.
    pub fn from_code(code: u64) -> Failure {
        match Self::ALL.into_iter().find(|refusal| u64::from(refusal.code()) == code) {
            Some(Self::Crowded) => Failure::Crowded,
            Some(refusal) => Failure::Refused(refusal.to_string()),
            None => Failure::Refused(format!("unknown code {code}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{SIZES, USERS};

    #[test]
    fn numbers_are_those_of_the_readme_and_none_is_zero() {
        assert_eq!(Refusal::ALL.map(Refusal::code), [1, 2, 3]);
        assert_eq!(Refusal::from_code(3), Failure::Crowded);
        assert_eq!(Refusal::from_code(1).kind(), "refused");
        assert_eq!(Refusal::from_code(9).kind(), "refused");
    }

    #[test]
    fn the_bounds_in_the_sentence_are_the_bounds() {
        let (users, sizes) = (USERS, SIZES);
        let bounds = format!(
            "a request must be for {} to {} users or {} to {} bytes",
            users.start(),
            users.end(),
            sizes.start(),
            sizes.end()
        );
        assert_eq!(Refusal::OutOfBounds.to_string().replace(',', ""), bounds);
    }
}
