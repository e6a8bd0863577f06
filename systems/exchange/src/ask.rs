//! What is asked of a producer, and how it stands on the wire: `users 100 00000000000000ff`.

/// Fewest and most bytes of a payload that is asked for by its size.
pub const SIZES: std::ops::RangeInclusive<u64> = 1024..=16 << 20;
/// Fewest and most users.
pub const USERS: std::ops::RangeInclusive<u32> = 1..=6_500;
/// Longest request that is read, in bytes.
pub const LONGEST: usize = 4096;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// So many user records, however long they are.
    Users(u32),
    /// As many user records as fit into exactly so many bytes, and padding.
    Bytes(u64),
}

/// A question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// What is wanted.
    pub what: What,
    /// What must come back inside the payload, as 16 hexadecimal digits.
    pub nonce: u64,
}
