//! What could not be written, and still has to be.
//!
//! That a delivery was not stored was told; that a receiver came, that it went, and what was
//! acknowledged holds all the same. Only so much is kept as makes a difference to the file.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use redb::{Database, Error, ReadableDatabase};

use super::{DELIVERIES, RECEIVERS, Wish};

/// What is owed to the file.
#[derive(Debug, Default)]
pub(super) struct Owed(HashMap<Arc<str>, Debt>);

/// What concerns one receiver, in the order in which it is made up for.
#[derive(Debug, Default)]
struct Debt {
    /// It was forgotten, before anything that follows.
    forget: bool,
    know: Option<String>,
    remove: BTreeSet<u64>,
}

impl Owed {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a wish that was not carried out; of one to store a delivery, nobody knows.
    pub(super) fn take(&mut self, wish: Wish) {
        match wish {
            Wish::Know { key, known } => self.0.entry(key).or_default().know = Some(known),
            Wish::Forget { key } => {
                self.0.insert(key, Debt { forget: true, ..Debt::default() });
            }
            Wish::Store { key, sequence, .. } | Wish::Remove { key, sequence } => {
                self.0.entry(key).or_default().remove.insert(sequence);
            }
        }
    }

    /// As wishes, in order.
    pub(super) fn wishes(&self) -> Vec<Wish> {
        let mut wishes = Vec::new();
        for (key, Debt { forget, know, remove }) in &self.0 {
            let key = || Arc::clone(key);
            wishes.extend(forget.then(|| Wish::Forget { key: key() }));
            let know = know.clone();
            wishes.extend(know.map(|known| Wish::Know { key: key(), known }));
            let removals = remove.iter();
            wishes
                .extend(removals.map(|sequence| Wish::Remove { key: key(), sequence: *sequence }));
        }
        wishes
    }

    /// Drops what is so in the file already: without that it would grow while a disk is full.
    ///
    /// Errors: the file cannot be read
    pub(super) fn settle(&mut self, database: &Database) -> Result<(), Error> {
        let transaction = database.begin_read()?;
        let receivers = transaction.open_table(RECEIVERS)?;
        let deliveries = transaction.open_table(DELIVERIES)?;
        for (key, debt) in &mut self.0 {
            let mut stored = BTreeSet::new();
            for entry in deliveries.range((&**key, 0)..=(&**key, u64::MAX))? {
                stored.insert(entry?.0.value().1);
            }
            debt.remove.retain(|sequence| stored.contains(sequence));
            debt.forget &= !stored.is_empty() || receivers.get(&**key)?.is_some();
        }
        self.0.retain(|_, debt| debt.forget || debt.know.is_some() || !debt.remove.is_empty());
        Ok(())
    }
}
