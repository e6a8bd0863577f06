//! Which documents to evaluate a filter on: the smallest indexed set that holds all its matches.

use super::Slot;
use super::field::{Index, Range, ranges};
use crate::node::Node;

/// The first size that a set is looked for within; each further one is so many times larger.
const FIRST: usize = 64;
const GROWTH: usize = 8;

/// Ranges of indexes that, taken together, hold all matches.
struct Cover<'v> {
    ranges: Vec<(&'v Index, Range)>,
    /// How many are in them, those counted twice that are in two.
    count: usize,
}

/// Where to look for the matches of a filter among `all`; `None`: everywhere.
///
/// Sets are counted up to a limit that grows until one is within it, so that the cost is that of
/// the smallest set, however large the others are.
pub fn candidates(indexes: &[Index], node: &Node, all: usize) -> Option<Vec<Slot>> {
    let limits = std::iter::successors(Some(FIRST), |limit| limit.checked_mul(GROWTH));
    // An index that more than half are in saves less than it costs.
    let mut covers = limits
        .take_while(|limit| limit / GROWTH < all / 2)
        .map(|limit| cover(indexes, node, limit.min(all / 2)));
    let cover = covers.find_map(|cover| cover)?;
    let mut slots = Vec::with_capacity(cover.count);
    for (index, range) in &cover.ranges {
        index.collect(range, &mut slots);
    }
    if cover.ranges.len() > 1 {
        slots.sort_unstable();
        slots.dedup();
    }
    Some(slots)
}

/// The smallest cover of at most so many.
fn cover<'v>(indexes: &'v [Index], node: &Node, most: usize) -> Option<Cover<'v>> {
    let mut union = Cover { ranges: Vec::new(), count: 0 };
    match node {
        Node::All(parts) => {
            let covers = parts.iter().filter_map(|part| cover(indexes, part, most));
            return covers.min_by_key(|cover| cover.count);
        }
        Node::Any(parts) => {
            for part in parts {
                let part = cover(indexes, part, most - union.count)?;
                union.count += part.count;
                union.ranges.extend(part.ranges);
            }
        }
        Node::Field(path, test) => {
            let index = indexes.iter().find(|index| index.field() == path)?;
            for range in ranges(test)? {
                union.count += index.count(&range, most - union.count)?;
                union.ranges.push((index, range));
            }
        }
        Node::Not(_) => return None,
    }
    Some(union)
}
