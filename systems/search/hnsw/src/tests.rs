use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;

const SHAPE: Shape = Shape { dimension: 32, m: 12, ef_construction: 80 };

/// Unit vectors from a seed: uniform directions, or around so many centres.
fn vectors(seed: u64, count: usize, centres: usize) -> Vec<Arc<[f32]>> {
    let mut source = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = |scale: f32| -> Vec<f32> {
        let uniform = |bits: u64| (bits >> 40) as f32 / (1_u64 << 24) as f32;
        let sum = |source: &mut Xoshiro256PlusPlus| -> f32 {
            (0..12).map(|_| uniform(source.next_u64())).sum::<f32>() - 6.0
        };
        (0..SHAPE.dimension).map(|_| scale * sum(&mut source)).collect()
    };
    let middles: Vec<Vec<f32>> = (0..centres).map(|_| normal(1.0)).collect();
    (0..count)
        .map(|at| {
            let mut vector = normal(if centres == 0 { 1.0 } else { 0.4 });
            if let Some(middle) = middles.get(at % centres.max(1)) {
                vector.iter_mut().zip(middle).for_each(|(one, other)| *one += other);
            }
            let length = vector.iter().map(|one| one * one).sum::<f32>().sqrt();
            vector.iter().map(|one| one / length).collect()
        })
        .collect()
}

fn graph(vectors: &[Arc<[f32]>], threads: usize) -> Graph {
    let graph = Graph::new(SHAPE);
    vectors.iter().zip(0..).for_each(|(vector, node)| graph.put(node, vector.clone()));
    graph.link_all(0..vectors.len() as u32, threads, &|_| true);
    graph
}

/// The mean share of the true ten nearest admitted ones that are found.
fn recall(
    graph: &Graph,
    vectors: &[Arc<[f32]>],
    queries: &[Arc<[f32]>],
    (width, admitted): (usize, fn(u32) -> bool),
) -> f64 {
    let mut hits = 0;
    for query in queries {
        let mut exact: Vec<f32> = (0..vectors.len() as u32)
            .filter(|node| admitted(*node))
            .filter_map(|node| graph.score(node, query))
            .collect();
        exact.sort_unstable_by(|one, other| other.total_cmp(one));
        let found = graph.nearest(query, 10, width, &mut |node| admitted(node));
        assert!(found.is_sorted_by(|one, other| one > other));
        assert!(found.iter().all(|near| admitted(near.node)));
        let good = found.iter().take(10).filter(|near| near.score >= exact[9] - 1e-6);
        hits += good.count();
    }
    hits as f64 / (10 * queries.len()) as f64
}

#[test]
fn nearly_all_of_the_nearest_are_found_and_a_walk_without_width_finds_clearly_fewer() {
    for centres in [0, 40] {
        let all = vectors(1, 4_100, centres);
        let (rows, queries) = all.split_at(4_000);
        for threads in [1, 4] {
            let graph = graph(rows, threads);
            let good = recall(&graph, rows, queries, (100, |_| true));
            assert!(good >= 0.98, "{good} around {centres}, {threads} threads");
            let bad = recall(&graph, rows, queries, (1, |_| true));
            assert!(bad < 0.8, "{bad} around {centres}, {threads} threads");
        }
    }
}

#[test]
fn who_is_not_admitted_is_walked_through_and_never_found() {
    let all = vectors(2, 4_100, 40);
    let (rows, queries) = all.split_at(4_000);
    let graph = graph(rows, 1);
    for admitted in [(|node| node % 2 == 0) as fn(u32) -> bool, |node| node % 20 == 7] {
        let found = recall(&graph, rows, queries, (64, admitted));
        assert!(found >= 0.95, "{found}");
    }
}

#[test]
fn the_same_numbers_give_the_same_graph() {
    let rows = vectors(3, 500, 5);
    let (one, other) = (graph(&rows, 1), graph(&rows, 1));
    for query in &rows[..50] {
        let found = |graph: &Graph| graph.nearest(query, 10, 20, &mut |_| true);
        assert_eq!(found(&one), found(&other));
    }
}

#[test]
fn few_nodes_are_all_found() {
    let rows = vectors(4, 30, 0);
    let graph = graph(&rows, 4);
    assert!(Graph::new(SHAPE).nearest(&rows[0], 3, 3, &mut |_| true).is_empty());
    for width in [1, 64] {
        let found = graph.nearest(&rows[0], 5, width, &mut |_| true);
        assert!(found.len() >= 5);
        assert_eq!(found[0].node, 0);
    }
}

#[test]
fn one_node_in_m_is_on_the_next_level() {
    let above = (0..160_000).filter(|number| node::level(*number, 16) > 0).count();
    assert!((9_600..10_400).contains(&above), "{above}");
}

/// Those of the first so many nodes that a walk without an end would not meet.
fn lost(graph: &Graph, from: u32, nodes: u32) -> Vec<u32> {
    let mut seen = vec![false; nodes as usize];
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut seen[node as usize], true) {
            open.extend(graph.at(node).links(SHAPE.m, 0));
        }
    }
    (0..nodes).filter(|node| !seen[*node as usize]).collect()
}

/// Nodes in clumps prefer each other's links; there is a way from each to each, also after the
/// graph was written and read, and to the living when most of those that were there are dead.
#[test]
fn there_is_a_way_from_each_node_to_each() {
    let rows = vectors(5, 6_000, 50);
    for threads in [1, 4] {
        let graph = graph(&rows, threads);
        for from in [0, 77, 5_999] {
            assert_eq!(lost(&graph, from, 6_000), [0_u32; 0], "{threads} threads");
        }
        let mut bytes = Vec::new();
        graph.write(6_000, &mut bytes).unwrap();
        let read = Graph::read(SHAPE, 6_000, &mut &bytes[..]).unwrap();
        let more = vectors(6, 3_000, 1);
        more.iter().zip(6_000..).for_each(|(vector, node)| read.put(node, vector.clone()));
        for node in 6_000..9_000 {
            let is_alive = |other| other % 7 == 0 || other + 20 > node;
            read.link_all(node..node + 1, 1, &is_alive);
        }
        let mut lost = lost(&read, 7, 9_000);
        lost.retain(|node| node % 7 == 0 || node + 20 > 9_000);
        assert_eq!(lost, [0_u32; 0], "{threads} threads, then more");
    }
}
