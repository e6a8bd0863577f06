//! One request after another: how long each takes, and how much of that lies on either way.

use std::io::Write;
use std::time::Instant;

use shm_channel::{Client, Times};

use super::server::{Server, Shape};
use super::{BLOCKS, Check, PATIENCE, REQUEST, SIZES, WAYS, Way, add_up, look, median, now};

pub fn run(exchanges: usize, processor: usize) {
    for size in SIZES {
        for (read, check) in [("nonce", look as Check), ("all", add_up)] {
            // Large answers take longer; the number goes down with their size.
            let exchanges = (exchanges * 4096 / size.max(4096)).max(BLOCKS * 100);
            measure((size, read, check), exchanges, processor);
        }
    }
}

fn measure((size, read, check): (usize, &str, Check), exchanges: usize, processor: usize) {
    let shape = Shape { size, slots: 8, room: 64 * 1024 };
    let servers = WAYS.map(|way| Server::start(way, shape, processor));
    let mut ways = Way::all(&servers, size);
    let mut times = WAYS.map(|_| Vec::with_capacity(exchanges));
    for block in 0..=BLOCKS {
        for (way, times) in ways.iter_mut().zip(&mut times) {
            for turn in 0..exchanges / BLOCKS {
                let nonce = (block * exchanges + turn) as u64;
                let begun = Instant::now();
                exchange(way, size, check, nonce);
                let took = begun.elapsed().as_nanos() as u64;
                // The first block touches memory for the first time.
                if block > 0 {
                    times.push(took);
                }
            }
        }
    }
    let mut out = std::io::stdout().lock();
    let rows = times.map(Row::of);
    for (place, (name, row)) in WAYS.iter().zip(&rows).enumerate() {
        let parted = match &mut ways[place] {
            Way::Unix(..) => String::new(),
            Way::Shm(client) => parted(client, size, exchanges / BLOCKS),
        };
        let what = format!("\"way\": \"{name}\", \"answer_bytes\": {size}, \"read\": \"{read}\"");
        writeln!(out, "{{{what}, {}{parted}}}", row.line(&rows[0])).unwrap();
    }
}

fn exchange(way: &mut Way, size: usize, check: Check, nonce: u64) {
    way.send(nonce, size);
    way.receive(|answer| check(answer, nonce));
}

/// Medians of what the producer's times part of a round trip.
fn parted(client: &mut Client, size: usize, exchanges: usize) -> String {
    client.ask_for_times(true);
    let mut parts = [const { Vec::new() }; 3];
    for nonce in 0..exchanges as u64 {
        let mut request = [7; REQUEST];
        request[..8].copy_from_slice(&nonce.to_le_bytes());
        let asked_at = now();
        let answer = client.call(&request, size, PATIENCE).unwrap();
        let seen_at = now();
        let Times { taken_at, ready_at } = answer.times().expect("they were asked for");
        let lengths = [taken_at - asked_at, ready_at - taken_at, seen_at - ready_at];
        parts.iter_mut().zip(lengths).for_each(|(part, length)| part.push(length));
    }
    let [there, producer, back] = parts.map(median);
    format!(", \"there_p50_ns\": {there}, \"producer_p50_ns\": {producer}, \"back_p50_ns\": {back}")
}

struct Row {
    exchanges: usize,
    p50: u64,
    p99: u64,
    rate: f64,
}

impl Row {
    fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let at = |share: f64| times[((times.len() as f64 * share).ceil() as usize).max(1) - 1];
        let rate = times.len() as f64 * 1e9 / times.iter().sum::<u64>() as f64;
        Self { exchanges: times.len(), p50: at(0.5), p99: at(0.99), rate }
    }

    fn line(&self, unix: &Self) -> String {
        let Self { exchanges, p50, p99, rate } = self;
        let (p50_ratio, p99_ratio) = (*p50 as f64 / unix.p50 as f64, *p99 as f64 / unix.p99 as f64);
        let rate_ratio = rate / unix.rate;
        format!(
            "\"exchanges\": {exchanges}, \"p50_ns\": {p50}, \"p99_ns\": {p99}, \
             \"per_second\": {rate:.0}, \"p50_of_unix\": {p50_ratio:.3}, \
             \"p99_of_unix\": {p99_ratio:.3}, \"per_second_of_unix\": {rate_ratio:.3}"
        )
    }
}
