//! Adding nodes: links to the nearest in each direction, and back.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};

use super::node::room;
use super::walk::Aim;
use super::{Graph, Near};

impl Graph {
    /// Links nodes that were put, on so many threads, to those that are alive: links to the dead
    /// lead to where others were, and a node that is looked for would be behind them. Each of them
    /// is linked once.
    pub(crate) fn link_all(
        &self,
        nodes: std::ops::Range<u32>,
        threads: usize,
        is_alive: &(dyn Fn(u32) -> bool + Sync),
    ) {
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
    fn link(&self, number: u32, is_alive: &dyn Fn(u32) -> bool) {
        let level = self.level(number);
        let mut growing = None;
        if self.entry().is_none_or(|(top, _)| level > top) {
            growing = Some(self.growing.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.entry() {
            None => self.begin_at(level, number),
            Some((top, entry)) => {
                self.link_below(number, level.min(top), (top, entry), is_alive);
                if level > top {
                    self.begin_at(level, number);
                }
            }
        }
        drop(growing);
    }

    fn link_below(
        &self,
        number: u32,
        highest: usize,
        (top, entry): (usize, u32),
        is_alive: &dyn Fn(u32) -> bool,
    ) {
        let node = self.at(number);
        let begin = self.near(&node.vector, entry, self.at(entry));
        let near = (highest + 1..=top)
            .rev()
            .fold(begin, |near, level| self.descend(&node.vector, near, level));
        let mut begin = vec![near];
        let mut levels = Vec::with_capacity(highest + 1);
        let mut visits = self.visits();
        for level in (0..=highest).rev() {
            let width = self.shape.ef_construction;
            let aim = Aim { vector: &node.vector, level, width, notes_all: false };
            let mut is_wanted = |near: Near| is_alive(near.node);
            let mut found = self.walk(aim, &begin, &mut visits, &mut is_wanted);
            if found.is_empty() {
                // Nobody is alive here; the dead at least lead on.
                found = self.walk(aim, &begin, &mut visits, &mut |_| true);
            }
            found.sort_unstable_by(|one, other| other.cmp(one));
            levels.push((level, self.select(&found, self.shape.m)));
            begin = found;
        }
        self.put_back(visits);
        // The lowest level first: whoever comes down through this node finds a way on.
        for (level, kept) in levels.into_iter().rev() {
            node.set(self.shape.m, level, kept.iter().map(|near| near.node));
            for near in &kept {
                self.link_back(near, level, number);
            }
        }
    }

    fn link_back(&self, from: &Near, level: usize, to: u32) {
        let m = self.shape.m;
        let node = self.at(from.node);
        let _changing = node.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if node.add(m, level, to) {
            return;
        }
        let links = node.links(m, level);
        let mut all: Vec<Near> =
            links.map(|link| self.near(&node.vector, link, self.at(link))).collect();
        all.push(Near { score: from.score, node: to });
        all.sort_unstable_by(|one, other| other.cmp(one));
        let kept = self.select(&all, room(m, level));
        node.set(m, level, kept.iter().map(|near| near.node));
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
