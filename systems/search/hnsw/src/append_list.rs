//! A list that grows while others read it: elements never move, readers never wait.

use std::sync::OnceLock;

/// Length of the first segment; each further one is twice as long as the one before it.
const FIRST: u32 = 1_024;

/// Enough segments for all numbers of 32 bits.
const SEGMENTS: usize = 23;

/// Elements by number. An element stays in place until the list is dropped.
///
/// Memory for 1,024 elements is reserved at once, and then for as many again as there are and 1,024.
#[derive(Debug)]
pub struct AppendList<T> {
    segments: [OnceLock<Box<[OnceLock<T>]>>; SEGMENTS],
}

impl<T> AppendList<T> {
    /// An empty one.
    pub fn new() -> Self {
        Self { segments: [const { OnceLock::new() }; SEGMENTS] }
    }

    /// What was put there, if anything was. It never waits.
    pub fn get(&self, at: u32) -> Option<&T> {
        let (segment, offset) = place(at);
        self.segments[segment].get()?[offset].get()
    }

    /// Puts something where nothing was put before; what was put first stays.
    ///
    /// Shape: → what is there now
    pub fn put(&self, at: u32, thing: T) -> &T {
        let (segment, offset) = place(at);
        let length = (FIRST as usize) << segment;
        let cells =
            self.segments[segment].get_or_init(|| (0..length).map(|_| OnceLock::new()).collect());
        let is_new = cells[offset].set(thing).is_ok();
        debug_assert!(is_new, "{at} is taken");
        cells[offset].get().expect("it was just put there")
    }
}

impl<T> Default for AppendList<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Which segment, and where in it.
fn place(at: u32) -> (usize, usize) {
    let turn = at / FIRST + 1;
    let segment = turn.ilog2();
    let before = FIRST as usize * ((1_usize << segment) - 1);
    (segment as usize, at as usize - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_a_place_of_its_own() {
        assert_eq!(place(0), (0, 0));
        assert_eq!(place(1_023), (0, 1_023));
        assert_eq!(place(1_024), (1, 0));
        assert_eq!(place(3_071), (1, 2_047));
        assert_eq!(place(3_072), (2, 0));
        assert!(place(u32::MAX).0 < SEGMENTS);
        let shelf = AppendList::new();
        (0..5_000).for_each(|at| assert_eq!(*shelf.put(at, at * 7), at * 7));
        assert!((0..5_000).all(|at| shelf.get(at) == Some(&(at * 7))));
        assert_eq!((shelf.get(5_000), shelf.get(u32::MAX)), (None, None));
    }
}
