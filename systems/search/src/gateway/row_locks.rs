//! Writes that touch the same rows follow each other, so that metadata and index end with the same one; others need
//! not wait, and share the disk's commits.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use tokio::sync::{Mutex, MutexGuard};

/// Number of locks; a row's name maps to one of them.
const TURNS: usize = 64;

/// Locks of rows.
#[derive(Debug)]
pub(super) struct RowLocks([Mutex<()>; TURNS]);

impl Default for RowLocks {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl RowLocks {
    /// Locks these rows, always in one order to avoid deadlock.
    pub async fn take<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Vec<MutexGuard<'_, ()>> {
        self.take_of(ids.fold(0, |wanted, id| wanted | 1 << turn(id))).await
    }

    /// The same of all rows there may be.
    pub async fn take_all(&self) -> Vec<MutexGuard<'_, ()>> {
        self.take_of(u64::MAX).await
    }

    async fn take_of(&self, wanted: u64) -> Vec<MutexGuard<'_, ()>> {
        let mut taken = Vec::with_capacity(wanted.count_ones() as usize);
        for (place, turn) in self.0.iter().enumerate() {
            if wanted >> place & 1 == 1 {
                taken.push(turn.lock().await);
            }
        }
        taken
    }
}

fn turn(id: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(id) % TURNS as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_same_row_waits_and_another_does_not() {
        let turns = RowLocks::default();
        let held = turns.take(["a", "a"].into_iter()).await;
        assert_eq!(held.len(), 1);
        let other = (0..).map(|n| n.to_string()).find(|id| turn(id) != turn("a")).unwrap();
        drop(turns.take([&*other].into_iter()).await);
        let mut again = std::pin::pin!(turns.take(["a"].into_iter()));
        tokio::select! {
            biased;
            _ = &mut again => panic!("both have it"),
            () = tokio::task::yield_now() => {}
        }
        drop(held);
        assert_eq!(again.await.len(), 1);
        assert_eq!(turns.take_all().await.len(), TURNS);
    }
}
