//! From node to node towards a vector.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::PoisonError;

use super::node::{Node, level};
use super::{Graph, Near};

/// Every so many numbers of a vector begin another line of the processor's cache.
const LINE: usize = 16;

/// Which nodes a walk has seen. Kept from walk to walk: a new one begins with another stamp.
#[derive(Debug, Default)]
pub(super) struct Visits {
    stamps: Vec<u16>,
    stamp: u16,
}

impl Visits {
    /// Forgets what was seen.
    pub(super) fn clear(&mut self) {
        self.stamp = self.stamp.checked_add(1).unwrap_or_else(|| {
            self.stamps.fill(0);
            1
        });
    }

    /// Marks a node; whether it was not seen before.
    pub(super) fn is_first(&mut self, node: u32) -> bool {
        let at = node as usize;
        if at >= self.stamps.len() {
            self.stamps.resize((at + 1).next_power_of_two(), 0);
        }
        std::mem::replace(&mut self.stamps[at], self.stamp) != self.stamp
    }
}

/// What a walk on one level looks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct LevelSearch<'v> {
    pub(super) vector: &'v [f32],
    pub(super) level: usize,
    /// How many of the nearest.
    pub(super) width: usize,
    /// Whether those are noted, too, that are not among the nearest.
    pub(super) notes_all: bool,
}

/// What a walk on one level has found so far.
struct Found {
    /// The nearest admitted ones, the least near on top.
    best: BinaryHeap<Reverse<Near>>,
    width: usize,
}

impl Found {
    /// The least near that counts, once there are enough.
    fn least(&self) -> Option<Near> {
        (self.best.len() >= self.width).then(|| self.best.peek().expect("it is full").0)
    }

    fn add(&mut self, near: Near) {
        self.best.push(Reverse(near));
        if self.best.len() > self.width {
            self.best.pop();
        }
    }
}

impl Graph {
    /// The nearest admitted nodes (algorithm 5), `width` of them; where that is fewer than `most`,
    /// the `most` nearest of all that were met on the way.
    ///
    /// Shape:  a vector of length 1 → nearest first; fewer where no more are admitted, or links lead
    ///         to no more
    pub fn nearest(
        &self,
        vector: &[f32],
        most: usize,
        width: usize,
        is_admitted: &mut dyn FnMut(u32) -> bool,
    ) -> Vec<Near> {
        let Some((top, node)) = self.entry() else { return Vec::new() };
        let entry = self.at(node);
        let begin = (1..=top)
            .rev()
            .fold(self.near(vector, node, entry), |near, level| self.descend(vector, near, level));
        let mut met = BinaryHeap::new();
        let mut note = |near: Near| {
            let is_in = is_admitted(near.node);
            if is_in && width < most {
                met.push(Reverse(near));
                if met.len() > most {
                    met.pop();
                }
            }
            is_in
        };
        let mut visits = self.visits();
        // A walk narrower than what is asked for would forget some that it has met.
        let aim = LevelSearch { vector, level: 0, width, notes_all: width < most };
        let best = self.walk(aim, &[begin], &mut visits, &mut note);
        self.put_back(visits);
        let mut found = match width < most {
            true => met.into_iter().map(|Reverse(near)| near).collect(),
            false => best,
        };
        found.sort_unstable_by(|one, other| other.cmp(one));
        found
    }

    /// The nearest on one level (algorithm 2), of those that are noted.
    ///
    /// Shape:  at most `width`, in no order
    pub(super) fn walk(
        &self,
        aim: LevelSearch<'_>,
        begin: &[Near],
        visits: &mut Visits,
        note: &mut dyn FnMut(Near) -> bool,
    ) -> Vec<Near> {
        let LevelSearch { vector, level, width, notes_all } = aim;
        let mut found = Found { best: BinaryHeap::with_capacity(width + 1), width };
        let mut open = BinaryHeap::with_capacity(width);
        visits.clear();
        for near in begin {
            visits.is_first(near.node);
            open.push(*near);
            if note(*near) {
                found.add(*near);
            }
        }
        let mut next = Vec::with_capacity(2 * self.shape.m);
        while let Some(near) = open.pop() {
            if found.least().is_some_and(|least| near.score < least.score) {
                break;
            }
            self.gather(near.node, level, visits, &mut next);
            for (number, node) in next.drain(..) {
                let near = self.near(vector, number, node);
                let is_near = found.least().is_none_or(|least| near.score > least.score);
                let is_in = (is_near || notes_all) && note(near);
                if is_near {
                    open.push(near);
                }
                if is_near && is_in {
                    found.add(near);
                }
            }
        }
        found.best.into_iter().map(|Reverse(near)| near).collect()
    }

    /// A node's links that were not seen yet, their vectors on their way from memory: what is
    /// asked for at once arrives together, and not one after the other.
    fn gather<'g>(
        &'g self,
        node: u32,
        level: usize,
        visits: &mut Visits,
        next: &mut Vec<(u32, &'g Node)>,
    ) {
        let mut touched = 0.0;
        for number in self.at(node).links(self.shape.m, level) {
            if visits.is_first(number)
                && let Some(node) = self.nodes.get(number)
            {
                touched += node.vector.iter().step_by(4 * LINE).sum::<f32>();
                next.push((number, node));
            }
        }
        std::hint::black_box(touched);
    }

    /// As near as links on one level lead, always to the nearest (algorithm 2 with a width of 1).
    pub(super) fn descend(&self, vector: &[f32], from: Near, level: usize) -> Near {
        let mut near = from;
        loop {
            let links = self.at(near.node).links(self.shape.m, level);
            let there = links.filter_map(|number| {
                self.nodes.get(number).map(|node| self.near(vector, number, node))
            });
            match there.max().filter(|there| there.score > near.score) {
                Some(nearer) => near = nearer,
                None => return near,
            }
        }
    }

    pub(super) fn near(&self, vector: &[f32], number: u32, node: &Node) -> Near {
        Near { score: self.dot.of(vector, &node.vector), node: number }
    }

    /// A node that something links to.
    pub(super) fn at(&self, node: u32) -> &Node {
        self.nodes.get(node).expect("nothing is linked to before it is there")
    }

    pub(super) fn level(&self, node: u32) -> usize {
        level(node, self.shape.m)
    }

    pub(super) fn visits(&self) -> Visits {
        let kept = self.visits.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_default()
    }

    pub(super) fn put_back(&self, visits: Visits) {
        self.visits.lock().unwrap_or_else(PoisonError::into_inner).push(visits);
    }
}
