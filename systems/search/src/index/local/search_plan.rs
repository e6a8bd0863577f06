//! One search: the cheapest plan that finds what the query wants, and its execution.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use filtering::lookup::Slot;
use filtering::{Bounds, Filter};

use super::generation::{Published, Row};
use super::intake::direction;
use super::writer::Shared;
use crate::api_error::{ApiError, Code};
use crate::index::{Found, Near, Query};

/// How many rows show what share of all a filter admits.
const SAMPLE: u32 = 256;

/// Results that a walk of the set width is for.
const USUAL_K: usize = 10;

/// How a search finds its results.
#[derive(Debug)]
enum SearchPlan {
    /// Compares all rows.
    All,
    /// Compares these.
    Slots(Vec<Slot>),
    /// Walks the graph.
    Walk,
}

/// A search that was read and planned.
#[derive(Debug)]
pub(super) struct Search {
    published: Arc<Published>,
    vector: Arc<[f32]>,
    k: usize,
    width: usize,
    filter: Option<Filter>,
    /// Rows that came later are left out.
    newest: u64,
    plan: SearchPlan,
}

impl Search {
    /// Errors: a vector or filter that does not fit
    pub(super) fn plan(query: &Query, shared: &Shared) -> Result<Self, ApiError> {
        let (settings, published) = (&shared.settings, shared.front.now());
        let vector = direction(&query.vector, settings.dimension, "/vector")?;
        if query.k == 0 {
            return Err(ApiError::new(Code::InvalidQuery, "must be at least 1").at("/k"));
        }
        let filter = query.filter.as_ref().map(|filter| read(filter, &published)).transpose()?;
        // Reserves memory for the results: no more than there are rows.
        let k = query.k.min(usize::try_from(published.size).unwrap_or(usize::MAX));
        let mut search = Self {
            vector,
            k,
            width: shared.ef.load(Ordering::Relaxed).saturating_add(k.saturating_sub(USUAL_K)),
            filter: filter.filter(|filter| !filter.is_everybody()),
            newest: query.as_of.unwrap_or(u64::MAX).min(published.sequence),
            plan: SearchPlan::All,
            published,
        };
        let is_exact = query.exact || query.as_of.is_some();
        search.plan = search.choose(is_exact || search.published.size < settings.brute_force_below);
        Ok(search)
    }

    /// How many rows are compared, at least; a walk compares few.
    pub(super) fn cost(&self) -> usize {
        match &self.plan {
            SearchPlan::All => self.published.slots as usize,
            SearchPlan::Slots(slots) => slots.len(),
            SearchPlan::Walk => 0,
        }
    }

    fn choose(&self, is_exact: bool) -> SearchPlan {
        let size = usize::try_from(self.published.size).unwrap_or(usize::MAX);
        // To keep `width` admitted ones, a walk looks at the links, sixteen or so of them new, of
        // `width · size / admitted` nodes. Comparing all admitted ones is cheaper below their root.
        let few = (16 * self.width).saturating_mul(size).isqrt();
        match &self.filter {
            None if is_exact => SearchPlan::All,
            None => SearchPlan::Walk,
            Some(filter) => {
                let most = if is_exact { size / 2 } else { few };
                match self.published.generation.catalog().candidates(filter, most) {
                    Some(slots) => SearchPlan::Slots(slots),
                    None if is_exact || self.admitted(filter) <= few => SearchPlan::All,
                    None => SearchPlan::Walk,
                }
            }
        }
    }

    /// About how many rows a filter admits, from some of them.
    fn admitted(&self, filter: &Filter) -> usize {
        let slots = u64::from(self.published.slots);
        // Evenly spread in any insertion order: multiples of the golden ratio.
        let place = |turn: u32| (u64::from(turn.wrapping_mul(0x9e37_79b1)) * slots) >> 32;
        let rows = (0..SAMPLE).filter_map(|turn| self.published.generation.row(place(turn) as u32));
        let count = rows.filter(|row| filter.matches(&row.attributes)).count() as u64;
        usize::try_from(count * slots / u64::from(SAMPLE)).unwrap_or(usize::MAX)
    }

    /// Executes the plan.
    pub(super) fn find(&self) -> Found {
        let mut top = NearestHeap { most: self.k, heap: BinaryHeap::new() };
        let is_exact = match &self.plan {
            SearchPlan::All => self.compare_all(&mut top),
            SearchPlan::Slots(slots) => self.compare(slots, &mut top),
            SearchPlan::Walk => self.walk(&mut top),
        };
        Found {
            nearest: top.nearest(),
            size: self.published.size,
            sequence: self.published.sequence,
            exact: is_exact,
        }
    }

    fn compare_all<'s>(&'s self, top: &mut NearestHeap<'s>) -> bool {
        let generation = &self.published.generation;
        for node in 0..self.published.nodes {
            let Some(score) = generation.graph.score(node, &self.vector) else { continue };
            if top.may_take(score) {
                self.offer(node, score, top);
            }
        }
        true
    }

    fn compare<'s>(&'s self, slots: &[Slot], top: &mut NearestHeap<'s>) -> bool {
        let generation = &self.published.generation;
        let rows = slots.iter().filter_map(|slot| generation.row(*slot));
        for row in rows.filter(|row| self.admits(row)) {
            if let Some(score) = generation.graph.score(row.node, &self.vector) {
                top.offer(score, row);
            }
        }
        true
    }

    /// Walks; one that is narrower than what is asked for and ends with too few is widened. Where
    /// even a wide one does, links lead no further, and all rows are looked at.
    fn walk<'s>(&'s self, top: &mut NearestHeap<'s>) -> bool {
        let generation = &self.published.generation;
        let mut is_admitted = |node| generation.rows_of(node).any(|row| self.admits(row));
        let mut width = self.width;
        loop {
            let found = generation.graph.nearest(&self.vector, self.k, width, &mut is_admitted);
            for near in found {
                if !top.may_take(near.score) {
                    break;
                }
                self.offer(near.node, near.score, top);
            }
            if top.heap.len() >= self.k {
                return false;
            }
            top.heap.clear();
            if width >= self.k {
                return self.compare_all(top);
            }
            width = (2 * width).min(self.k);
        }
    }

    /// All rows with a node's vector.
    fn offer<'s>(&'s self, node: u32, score: f32, top: &mut NearestHeap<'s>) {
        for row in self.published.generation.rows_of(node).filter(|row| self.admits(row)) {
            top.offer(score, row);
        }
    }

    fn admits(&self, row: &Row) -> bool {
        row.born <= self.newest
            && row.is_there(self.published.sequence)
            && self.filter.as_ref().is_none_or(|filter| filter.matches(&row.attributes))
    }
}

/// Errors: what cannot be read; a field that no row has
fn read(filter: &serde_json::Value, published: &Published) -> Result<Filter, ApiError> {
    let refuse = |message: String, at: String| ApiError::new(Code::InvalidFilter, message).at(at);
    let filter = Filter::parse(filter, Bounds::default())
        .map_err(|refusal| refuse(refusal.message, refusal.at))?;
    if published.size > 0 {
        let catalog = published.generation.catalog();
        if let Some((absent, at)) = filter.fields().find(|(field, _)| !catalog.has(field)) {
            return Err(refuse(format!("no row has the field `{absent}`"), at.to_owned()));
        }
    }
    Ok(filter)
}

/// The nearest so far, the least near on top.
struct NearestHeap<'s> {
    most: usize,
    heap: BinaryHeap<Reverse<Hit<'s>>>,
}

/// A row and its score. The nearest is the greatest; of those equally near, the first by name.
struct Hit<'s> {
    score: f32,
    id: &'s Arc<str>,
    born: u64,
}

impl<'s> NearestHeap<'s> {
    /// Whether a row of such a score may be among them.
    fn may_take(&self, score: f32) -> bool {
        self.heap.len() < self.most
            || self.heap.peek().is_some_and(|Reverse(least)| score >= least.score)
    }

    fn offer(&mut self, score: f32, row: &'s Row) {
        let hit = Reverse(Hit { score, id: &row.id, born: row.born });
        if self.heap.len() < self.most {
            self.heap.push(hit);
        } else if let Some(mut least) = self.heap.peek_mut()
            && hit < *least
        {
            *least = hit;
        }
    }

    fn nearest(self) -> Vec<Near> {
        let near = |Reverse(Hit { score, id, born }): Reverse<Hit<'_>>| Near {
            id: id.clone(),
            score: score.clamp(-1.0, 1.0),
            born,
        };
        self.heap.into_sorted_vec().into_iter().map(near).collect()
    }
}

impl Ord for Hit<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.id.cmp(self.id))
    }
}

impl PartialOrd for Hit<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Hit<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Hit<'_> {}
