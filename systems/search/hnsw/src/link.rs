//! Adding nodes: links to the nearest in each direction, and back.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};

use super::node::{Node, room};
use super::walk::LevelSearch;
use super::{Graph, Near};

/// Whether a node can be found.
type IsAlive<'a> = &'a (dyn Fn(u32) -> bool + Sync);

impl Graph {
    /// Links nodes that were put, on so many threads, to those that are alive: links to the dead
    /// lead to where others were, and a node that is looked for would be behind them. Each of them
    /// is linked once; all numbers below the end were put before.
    pub fn link_all(&self, nodes: std::ops::Range<u32>, threads: usize, is_alive: IsAlive<'_>) {
        // A graph of few nodes has nowhere to spread to, and a thread costs more than a few links.
        let threads = threads.min(nodes.len() / 64);
        if threads < 2 {
            return nodes.for_each(|node| self.link(node, is_alive));
        }
        let next = AtomicU32::new(nodes.start);
        let work = || {
            while let Some(node) =
                Some(next.fetch_add(1, Ordering::Relaxed)).filter(|node| *node < nodes.end)
            {
                self.link(node, is_alive);
            }
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
    }

    /// Links a node that was put (algorithm 1).
    fn link(&self, number: u32, is_alive: IsAlive<'_>) {
        let level = self.level(number);
        let mut growing = None;
        if self.entry().is_none_or(|(top, _)| level > top) {
            growing = Some(self.growing.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.entry() {
            None => {
                *self.at(number).lasting() = Some(0);
                self.begin_at(level, number);
            }
            Some((top, entry)) => {
                let highest = level.min(top);
                let near = self.nearest_above(number, entry, top, highest);
                self.link_below(number, highest, near, is_alive);
                if level > top {
                    self.begin_at(level, number);
                }
            }
        }
        drop(growing);
    }

    /// The nearest node on the levels from `top` down to the one above `highest`, from an entry on.
    fn nearest_above(&self, number: u32, entry: u32, top: usize, highest: usize) -> Near {
        let vector = &self.at(number).vector;
        let begin = self.near(vector, entry, self.at(entry));
        let levels = (highest + 1..=top).rev();
        levels.fold(begin, |near, level| self.descend(vector, near, level))
    }

    /// Links a node on all levels from `highest` down.
    fn link_below(&self, number: u32, highest: usize, near: Near, is_alive: IsAlive<'_>) {
        let node = self.at(number);
        let mut begin = vec![near];
        let mut levels = Vec::with_capacity(highest + 1);
        let mut visits = self.visits();
        for level in (0..=highest).rev() {
            let width = self.shape.ef_construction;
            let aim = LevelSearch { vector: &node.vector, level, width, notes_all: false };
            let mut is_wanted = |near: Near| is_alive(near.node);
            let mut found = self.walk(aim, &begin, &mut visits, &mut is_wanted);
            if found.is_empty() {
                // There is no living node here; dead ones at least lead on.
                found = self.walk(aim, &begin, &mut visits, &mut |_| true);
            }
            found.sort_unstable_by(|one, other| other.cmp(one));
            levels.push((level, self.select(&found, self.shape.m)));
            begin = found;
        }
        self.put_back(visits);
        // The lowest level first: a search that comes down through this node then finds its links.
        for (level, mut kept) in levels.into_iter().rev() {
            if level == 0 {
                self.join(number, &begin, &mut kept, is_alive);
            } else {
                node.set(self.shape.m, level, kept.iter().map(|near| near.node));
            }
            for near in &kept {
                self.link_back(near, level, number);
            }
        }
    }

    /// Links a node on the lowest level, so that it stays reachable: the nearest node with space
    /// for a permanent link and this one link to each other. All these links form a tree.
    fn join(&self, number: u32, found: &[Near], kept: &mut Vec<Near>, is_alive: IsAlive<'_>) {
        let m = self.shape.m;
        let node = self.at(number);
        let mut lasting = node.lasting();
        let of = found.iter().find(|near| {
            // Its own links exist before a search finds it.
            let others = kept.iter().filter(|other| other.node != near.node);
            let all = std::iter::once(*near).chain(others);
            node.set(m, 0, all.map(|near| near.node));
            self.link_for_ever(near.node, number, is_alive)
        });
        match of {
            Some(of) => {
                *lasting = Some(1);
                kept.retain(|near| near.node != of.node);
            }
            None => node.set(m, 0, kept.iter().map(|near| near.node)),
        }
    }

    /// Adds a permanent link; `false` if there was no space: half of the links are replaceable.
    fn link_for_ever(&self, from: u32, to: u32, is_alive: IsAlive<'_>) -> bool {
        let m = self.shape.m;
        let node = self.at(from);
        let mut lasting = node.lasting();
        let Some(count) = *lasting else { return false };
        let mut links: Vec<u32> = node.links(m, 0).collect();
        let mut others = links.split_off(count);
        if count == m {
            let is_needed = |link: &u32| is_alive(*link) || !self.give_up(*link);
            let (needed, dead) = links.into_iter().partition(is_needed);
            links = needed;
            others.extend::<Vec<u32>>(dead);
        }
        if links.len() == m {
            return false;
        }
        links.push(to);
        *lasting = Some(links.len());
        self.set_some(node, 0, links, &others);
        true
    }

    /// Removes a node from the tree if no other node depends on it; whether it did.
    fn give_up(&self, number: u32) -> bool {
        // The holder of the lock may wait for the asking node.
        let Ok(mut lasting) = self.at(number).lasting.try_lock() else { return false };
        let is_end = *lasting == Some(1);
        if is_end {
            *lasting = None;
        }
        is_end
    }

    fn link_back(&self, from: &Near, level: usize, to: u32) {
        let m = self.shape.m;
        let node = self.at(from.node);
        let lasting = node.lasting();
        if !node.add(m, level, to) {
            let mut links: Vec<u32> = node.links(m, level).collect();
            let first = lasting.filter(|_| level == 0).unwrap_or(0);
            let mut others = links.split_off(first);
            others.push(to);
            self.set_some(node, level, links, &others);
        }
    }

    /// Sets a node's links: all of the first, and of the others those that lead somewhere if space
    /// is short.
    fn set_some(&self, node: &Node, level: usize, mut links: Vec<u32>, others: &[u32]) {
        let left = room(self.shape.m, level) - links.len();
        if others.len() <= left {
            links.extend(others);
        } else {
            let near = others.iter().map(|link| self.near(&node.vector, *link, self.at(*link)));
            let mut near: Vec<Near> = near.collect();
            near.sort_unstable_by(|one, other| other.cmp(one));
            links.extend(self.select(&near, left).iter().map(|near| near.node));
        }
        node.set(self.shape.m, level, links.into_iter());
    }

    /// Those that lead somewhere (algorithm 4): each is nearer to where it is looked at from than
    /// to any taken before it.
    ///
    /// Shape: `from` nearest first; at most so many
    fn select(&self, from: &[Near], most: usize) -> Vec<Near> {
        let mut kept: Vec<Near> = Vec::with_capacity(most);
        for near in from {
            if kept.len() == most {
                break;
            }
            let vector = &self.at(near.node).vector;
            let is_apart =
                |other: &Near| self.dot.of(vector, &self.at(other.node).vector) < near.score;
            if kept.iter().all(is_apart) {
                kept.push(*near);
            }
        }
        kept
    }
}
