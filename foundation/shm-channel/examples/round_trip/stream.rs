//! Several requests under way at once: how much goes through.

use std::collections::VecDeque;
use std::io::Write;
use std::time::{Duration, Instant};

use super::server::{Server, Shape};
use super::{BLOCKS, SIZES, WAYS, Way, add_up, median};

/// Requests under way at once.
const DEPTHS: [usize; 3] = [1, 4, 16];

pub fn run(exchanges: usize, processor: usize) {
    for size in SIZES {
        // Large answers take longer; the number goes down with their size.
        let exchanges = (exchanges * 4096 / size.max(4096)).max(BLOCKS * 100);
        for depth in DEPTHS {
            measure(size, depth, exchanges, processor);
        }
    }
}

fn measure(size: usize, depth: usize, exchanges: usize, processor: usize) {
    let shape = Shape { size, slots: depth as u32, room: size };
    let servers = WAYS.map(|way| Server::start(way, shape, processor));
    let mut ways = Way::all(&servers, size);
    let mut seen = WAYS.map(|_| (Duration::ZERO, Vec::new()));
    for block in 0..=BLOCKS {
        for (way, (took, times)) in ways.iter_mut().zip(&mut seen) {
            let begun = Instant::now();
            let block_times = stream(way, (size, depth), exchanges / BLOCKS);
            // The first block touches memory for the first time.
            if block > 0 {
                *took += begun.elapsed();
                times.extend(block_times);
            }
        }
    }
    let mut out = std::io::stdout().lock();
    let mut unix = None;
    for (way, (took, times)) in WAYS.iter().zip(seen) {
        let (exchanges, rate) = (times.len(), times.len() as f64 / took.as_secs_f64());
        let of_unix = rate / *unix.get_or_insert(rate);
        writeln!(
            out,
            "{{\"way\": \"{way}\", \"answer_bytes\": {size}, \"depth\": {depth}, \
             \"exchanges\": {exchanges}, \"per_second\": {rate:.0}, \
             \"bytes_per_second\": {:.0}, \"p50_ns\": {}, \"per_second_of_unix\": {of_unix:.3}}}",
            rate * size as f64,
            median(times),
        )
        .unwrap();
    }
}

/// From each request to its answer, all of which was read, in nanoseconds.
fn stream(way: &mut Way, (size, depth): (usize, usize), exchanges: usize) -> Vec<u64> {
    let mut under_way: VecDeque<(u64, Instant)> = VecDeque::with_capacity(depth);
    let mut times = Vec::with_capacity(exchanges);
    let mut nonces = 0..exchanges as u64;
    loop {
        for nonce in nonces.by_ref().take(depth - under_way.len()) {
            under_way.push_back((nonce, Instant::now()));
            way.send(nonce, size);
        }
        // One producer answers its client's requests in their order.
        let Some((nonce, begun)) = under_way.pop_front() else { return times };
        way.receive(|answer| add_up(answer, nonce));
        times.push(begun.elapsed().as_nanos() as u64);
    }
}
