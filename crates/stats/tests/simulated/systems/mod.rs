//! Systems whose response times have known quantiles: in closed form, or from many other runs.

mod changing;
mod times;

use std::fmt;

use stats::quantile::rank;

pub use changing::Changing;
pub use times::Times;

const NANOSECONDS: f64 = 1e9;

/// One operation: the second of its intended start, and its response time in nanoseconds.
pub struct Draw {
    pub second: usize,
    pub time: u64,
}

#[derive(Clone, Copy)]
pub enum System {
    /// M/M/1 at a load ρ: response time is exponential with rate μ(1 − ρ), and successive operations
    /// share the queue.
    Queue { service_rate: f64, load: f64 },
    /// A server without queue, 1 ms of work on average, that stands still for `down` seconds at a time, after
    /// `up` seconds on average.
    Pauses { rate: f64, up: f64, down: f64 },
    /// So many exponential draws of 1 ms on average, evenly spaced.
    Independent { count: u32 },
    /// Poisson arrivals without a queue, 1 ms of work on average.
    Draws { rate: f64, times: Times },
    /// One server with this load, Poisson arrivals and work of this shape.
    Jobs { rate: f64, load: f64, times: Times },
    /// What changes through a run.
    Changing { rate: f64, change: Changing },
}

/// Rate of the work that is not queued for.
const WORK_RATE: f64 = 1_000.0;

impl System {
    /// The run of a seed.
    pub fn run(&self, seed: u64, seconds: u32) -> Vec<Draw> {
        let mut randomness = Randomness::new(seed);
        match *self {
            Self::Draws { rate, times } => {
                poisson(&mut randomness, rate, seconds, |_, chance| times.draw(chance) / WORK_RATE)
            }
            Self::Jobs { rate, load, times } => {
                jobs(&mut randomness, rate, (load / rate, times), seconds)
            }
            Self::Changing { rate, change } => change.run(&mut randomness, rate, seconds),
            Self::Queue { service_rate, load } => {
                queue(&mut randomness, service_rate, load, f64::from(seconds))
            }
            Self::Pauses { rate, up, down } => {
                pauses(&mut randomness, rate, (up, down), f64::from(seconds))
            }
            Self::Independent { count } => (0..count)
                .map(|place| {
                    let start = f64::from(place) / f64::from(count) * f64::from(seconds);
                    draw(start, randomness.exponential(WORK_RATE))
                })
                .collect(),
        }
    }

    /// The quantile of response time, in nanoseconds: in closed form, or that of so many other runs together.
    pub fn truth(&self, q: f64, seconds: u32, runs: u64) -> u64 {
        let exponential = |rate: f64| -(1.0 - q).ln() / rate;
        let seconds = match *self {
            Self::Draws { times, .. } => times.quantile(q) / WORK_RATE,
            Self::Changing { change: Changing::Growth { from, to, noise }, .. } => {
                changing::grown_quantile(q, from, to, noise)
            }
            Self::Jobs { .. } | Self::Changing { .. } => return self.seen(q, seconds, runs),
            Self::Queue { service_rate, load } => exponential(service_rate * (1.0 - load)),
            Self::Independent { .. } => exponential(WORK_RATE),
            Self::Pauses { up, down, .. } => paused_quantile(q, up, down),
        };
        (seconds * NANOSECONDS) as u64
    }

    fn seen(&self, q: f64, seconds: u32, runs: u64) -> u64 {
        const ENOUGH: usize = 30_000_000;
        let runs = (1..=runs).flat_map(|seed| self.run(1_000_000 + seed, seconds));
        let mut times: Vec<u64> = runs.map(|draw| draw.time).take(ENOUGH).collect();
        let place = rank(q, times.len() as u64) as usize - 1;
        *times.select_nth_unstable(place).1
    }
}

impl fmt::Display for System {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue { service_rate, load } => {
                write!(out, "M/M/1, μ = {service_rate:.0}/s, ρ = {load}")
            }
            Self::Pauses { rate, up, down } => {
                write!(out, "pauses of {:.0} ms every {:.0} s, {rate}/s", down * 1e3, up + down)
            }
            Self::Independent { count } => write!(out, "{count} independent draws"),
            Self::Draws { rate, times } => write!(out, "draws, {times}, {rate}/s"),
            Self::Jobs { rate, load, times } => write!(out, "M/G/1, {times}, {rate}/s, ρ = {load}"),
            Self::Changing { rate, change } => write!(out, "{change}, {rate}/s"),
        }
    }
}

fn draw(start: f64, time: f64) -> Draw {
    Draw { second: start as usize, time: (time * NANOSECONDS) as u64 }
}

/// Poisson arrivals, each with the time that is made for its instant.
fn poisson(
    randomness: &mut Randomness,
    rate: f64,
    seconds: u32,
    mut time: impl FnMut(f64, &mut Randomness) -> f64,
) -> Vec<Draw> {
    let mut draws = Vec::new();
    let mut arrival = randomness.exponential(rate);
    while arrival < f64::from(seconds) {
        draws.push(draw(arrival, time(arrival, randomness)));
        arrival += randomness.exponential(rate);
    }
    draws
}

/// Lindley's recursion after ten seconds that nobody sees.
fn jobs(
    randomness: &mut Randomness,
    rate: f64,
    (work, times): (f64, Times),
    seconds: u32,
) -> Vec<Draw> {
    const BEFORE: u32 = 10;
    let mut free = 0.0;
    let mut draws = poisson(randomness, rate, seconds + BEFORE, |arrival, chance| {
        free = f64::max(free, arrival) + work * times.draw(chance);
        free - arrival
    });
    draws.retain(|draw| draw.second >= BEFORE as usize);
    draws.iter_mut().for_each(|draw| draw.second -= BEFORE as usize);
    draws
}

/// By Lindley's recursion. The first arrival meets the stationary wait: none with probability 1 − ρ,
/// else exponential with rate μ(1 − ρ).
fn queue(randomness: &mut Randomness, service_rate: f64, load: f64, seconds: f64) -> Vec<Draw> {
    let arrival_rate = service_rate * load;
    let mut arrival = randomness.exponential(arrival_rate);
    let mut free = arrival;
    if randomness.uniform() < load {
        free += randomness.exponential(service_rate - arrival_rate);
    }
    let mut draws = Vec::new();
    while arrival < seconds {
        free = free.max(arrival) + randomness.exponential(service_rate);
        draws.push(draw(arrival, free - arrival));
        arrival += randomness.exponential(arrival_rate);
    }
    draws
}

/// Time up is exponential, so that the first pause needs no past; the run may start within one.
fn pauses(
    randomness: &mut Randomness,
    rate: f64,
    (up, down): (f64, f64),
    seconds: f64,
) -> Vec<Draw> {
    let mut end = 0.0;
    if randomness.uniform() < down / (up + down) {
        end = randomness.uniform() * down;
    }
    let mut next = end + randomness.exponential(1.0 / up);
    let mut draws = Vec::new();
    let mut arrival = randomness.exponential(rate);
    while arrival < seconds {
        while next <= arrival {
            end = next + down;
            next = end + randomness.exponential(1.0 / up);
        }
        let wait = f64::max(end - arrival, 0.0);
        draws.push(draw(arrival, wait + randomness.exponential(WORK_RATE)));
        arrival += randomness.exponential(rate);
    }
    draws
}

/// Bisects P(R > x) for x < down: R is work alone, or work after the rest of a pause, which is uniform.
fn paused_quantile(q: f64, up: f64, down: f64) -> f64 {
    let paused = down / (up + down);
    let beyond = |x: f64| {
        let work = (-WORK_RATE * x).exp();
        let after_pause = 1.0 - x / down + (1.0 - work) / (WORK_RATE * down);
        (1.0 - paused) * work + paused * after_pause
    };
    let (mut low, mut high) = (0.0, down);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if beyond(middle) > 1.0 - q { low = middle } else { high = middle }
    }
    low
}

/// xorshift64*: enough for a simulation, the same on every machine.
struct Randomness(u64);

impl Randomness {
    fn new(seed: u64) -> Self {
        let mut fresh = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        // Neighbouring seeds differ in few bits at first.
        for _ in 0..8 {
            fresh.uniform();
        }
        fresh
    }

    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        bits as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, rate: f64) -> f64 {
        -(1.0 - self.uniform()).ln() / rate
    }

    fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential(1.0)).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
