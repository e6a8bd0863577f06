//! What was learned about queries: rows that are to rank higher, or lower, than their nearness says.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use crate::api_error::{ApiError, Code};
use crate::embed::words;
use crate::index::Near;
use crate::metadata::Metadata;
use crate::metadata::disk::{LEARNED, Write};
use crate::row::{LONGEST_TEXT, check_id};

/// Most entries.
pub const MOST: usize = 10_000;

/// Most entries of one query.
pub const MOST_OF_A_QUERY: usize = 64;

/// Least and greatest boost.
pub const BOOSTS: RangeInclusive<f32> = -1.0..=1.0;

/// Between the names of a query and of a row in the file; neither has it.
const BETWEEN: char = '\0';

/// One thing learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The query's text; it applies to all texts of the same [`normal`] form, in which it is shown.
    pub query: String,
    /// The row; it need not be there.
    pub id: String,
    /// What is added to its score, one of [`BOOSTS`]; 0 forgets the entry.
    pub boost: f32,
}

/// What was learned about one query: rows, and what is added to their scores.
pub type Boosts = BTreeMap<Arc<str>, f32>;

/// Queries in their normal form to what was learned about them.
type Learned = BTreeMap<String, Arc<Boosts>>;

/// The form in which two queries are the same to the playbook: their words, lower-cased, each once, in the order of
/// their characters, a space between them.
///
/// Shape: `"CNC operator,  Gdansk cnc"` → `"cnc gdansk operator"`
pub fn normal(query: &str) -> String {
    let mut all = BTreeSet::new();
    words::each(query, &mut Vec::new(), |word| {
        all.insert(word.iter().collect::<String>());
    });
    all.into_iter().collect::<Vec<_>>().join(" ")
}

/// What was learned; clones are the same.
#[derive(Debug, Clone)]
pub struct Playbook(Arc<StoredEntries>);

#[derive(Debug)]
struct StoredEntries {
    beside: Metadata,
    learned: RwLock<Arc<Learned>>,
    /// Held by who learns, so that one begins with what the other ended with.
    learning: tokio::sync::Mutex<()>,
}

impl Playbook {
    /// Opens what is kept beside the metadata: in its file, or in memory.
    ///
    /// Errors: `Unavailable` if the file cannot be read
    pub fn open(beside: &Metadata) -> Result<Self, ApiError> {
        let mut learned = Learned::new();
        let kept = beside.disk().map(|disk| disk.all(LEARNED)).transpose()?;
        for (name, value) in kept.unwrap_or_default() {
            if let Some((query, id)) = name.split_once(BETWEEN)
                && let Ok(boost) = <[u8; 4]>::try_from(value)
            {
                put(&mut learned, query, id, f32::from_le_bytes(boost));
            }
        }
        let learned = RwLock::new(Arc::new(learned));
        let learning = tokio::sync::Mutex::default();
        Ok(Self(Arc::new(StoredEntries { beside: beside.clone(), learned, learning })))
    }

    /// What was learned about a query; the disk is not asked.
    pub fn boosts(&self, query: &str) -> Option<Arc<Boosts>> {
        let learned = self.learned();
        if learned.is_empty() { None } else { learned.get(&normal(query)).cloned() }
    }

    /// Everything that was learned, in the order of queries and rows.
    pub fn entries(&self) -> Vec<Entry> {
        let learned = self.learned();
        let of = |(query, boosts): (&String, &Arc<Boosts>)| -> Vec<Entry> {
            let entry = |(id, &boost): (&Arc<str>, &f32)| Entry {
                query: query.clone(),
                id: id.to_string(),
                boost,
            };
            boosts.iter().map(entry).collect()
        };
        learned.iter().flat_map(of).collect()
    }

    /// Learns: all of it or nothing. With `replace` everything else is forgotten first.
    ///
    /// Shape:  → how many entries there are now
    /// Errors: `InvalidRequest` with the place in the list (`/3/boost`); `TooLarge` beyond [`MOST`] or
    ///         [`MOST_OF_A_QUERY`]; `Unavailable` if the disk does not take it
    pub async fn learn(&self, entries: &[Entry], replace: bool) -> Result<usize, ApiError> {
        let _turn = self.0.learning.lock().await;
        let mut learned = if replace { Learned::new() } else { Learned::clone(&self.learned()) };
        let mut touched = BTreeSet::new();
        for (number, entry) in entries.iter().enumerate() {
            let query = check(entry).map_err(|error| {
                let place = format!("/{number}{}", error.at.as_deref().unwrap_or_default());
                error.at(place)
            })?;
            put(&mut learned, &query, &entry.id, entry.boost);
            touched.insert((query, entry.id.as_str()));
        }
        let size = bounded(&learned)?;
        if let Some(disk) = self.0.beside.disk() {
            disk.write(written(&learned, touched, replace)).await?;
        }
        *self.0.learned.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(learned);
        Ok(size)
    }

    fn learned(&self) -> Arc<Learned> {
        self.0.learned.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn put(learned: &mut Learned, query: &str, id: &str, boost: f32) {
    let boosts = Arc::make_mut(learned.entry(query.into()).or_default());
    if boost == 0.0 {
        boosts.remove(id);
    } else {
        boosts.insert(id.into(), boost);
    }
    if boosts.is_empty() {
        learned.remove(query);
    }
}

/// What brings the file to what was learned, where only the touched ones were changed.
fn written(learned: &Learned, touched: BTreeSet<(String, &str)>, drop: bool) -> Write {
    let mut write = Write { table: LEARNED, drop, put: Vec::new(), delete: Vec::new() };
    for (query, id) in touched {
        let name = format!("{query}{BETWEEN}{id}");
        match learned.get(&query).and_then(|boosts| boosts.get(id)) {
            Some(boost) => write.put.push((name, boost.to_le_bytes().to_vec())),
            None => write.delete.push(name),
        }
    }
    write
}

/// The query's normal form.
fn check(entry: &Entry) -> Result<String, ApiError> {
    let invalid = |message: &str, at| ApiError::new(Code::InvalidRequest, message).at(at);
    if entry.query.len() > LONGEST_TEXT {
        return Err(invalid(&format!("query must have at most {LONGEST_TEXT} bytes"), "/query"));
    }
    check_id(&entry.id).map_err(|error| ApiError { code: Code::InvalidRequest, ..error })?;
    if !BOOSTS.contains(&entry.boost) {
        let (least, most) = (BOOSTS.start(), BOOSTS.end());
        return Err(invalid(&format!("boost must be {least} to {most}"), "/boost"));
    }
    let query = normal(&entry.query);
    if query.is_empty() {
        return Err(invalid("the query contains no word", "/query"));
    }
    Ok(query)
}

/// How many entries there are, if they are not too many.
fn bounded(learned: &Learned) -> Result<usize, ApiError> {
    let size = learned.values().map(|boosts| boosts.len()).sum();
    let too_large = |message| Err(ApiError::new(Code::TooLarge, message));
    if size > MOST {
        return too_large(format!(
            "a playbook must have at most {MOST} entries (would have {size})"
        ));
    }
    match learned.iter().find(|(_, boosts)| boosts.len() > MOST_OF_A_QUERY) {
        None => Ok(size),
        Some((query, boosts)) => {
            let count = boosts.len();
            too_large(format!(
                "a query must have at most {MOST_OF_A_QUERY} entries ({query:?} would have {count})"
            ))
        }
    }
}

/// A row in its rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// Its name.
    pub id: Arc<str>,
    /// Cosine of the angle, and the boost added to it: in \[−2, 2\].
    pub score: f32,
    /// The boost, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boost: Option<f32>,
    /// In which write it came, as it was found.
    #[serde(skip)]
    pub born: u64,
}

/// Ranks rows by their scores with boosts; rows of equal scores by their names.
///
/// `found` are, in any order, the nearest k + b rows, where b is the number of boosts, and beside them each boosted row
/// that is there and that the filter admits, with its own score. That is enough: of the nearest k + b at most b are
/// boosted, so k are left that no row beyond them exceeds without a boost. A row that is named twice counts once.
///
/// Shape: → at most k rows, the best first
pub fn rank(found: impl IntoIterator<Item = Near>, boosts: &Boosts, k: usize) -> Vec<Ranked> {
    let ranked = |near: Near| {
        let boost = boosts.get(&near.id).copied();
        let score = near.score + boost.unwrap_or(0.0);
        Ranked { score, id: near.id, boost, born: near.born }
    };
    let mut ranked: Vec<Ranked> = found.into_iter().map(ranked).collect();
    ranked.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    let mut named = BTreeSet::new();
    ranked.retain(|row| named.insert(row.id.clone()));
    ranked.truncate(k);
    ranked
}

#[cfg(test)]
mod tests;
