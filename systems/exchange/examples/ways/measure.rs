//! Exchanges a second of each way, one after another from one client.

use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use exchange::prepared::Prepared;
use exchange::records::Records;
use exchange::request::{DataRequest, Wanted};
use exchange::transport::verify;
use serde_json::json;

use super::server::{AnyTransport, Server};
use super::{Options, pin, processors};

/// Name, way, and how long both sides look before they sleep.
const WAYS: [(&str, &str, Duration); 4] = [
    ("http", "http", Duration::ZERO),
    ("unix", "unix", Duration::ZERO),
    // Long enough that nobody ever sleeps.
    ("shm-spin", "shm", Duration::from_millis(2)),
    ("shm-sleep", "shm", Duration::ZERO),
];
const BLOCKS: u64 = 10;
/// Exchanges before each block that are not counted: connecting, preparing, touching memory.
const WARM: u64 = 200;
const DEADLINE: Duration = Duration::from_secs(10);

pub fn run(options: &Options) {
    let (exchanges, size) = (options.number("exchanges", 20_000), options.number("size", 262_144));
    let (client, server) = processors(options);
    pin(client);
    let mut times = WAYS.map(|_| Vec::new());
    for block in 0..BLOCKS {
        for ((_, way, spin), times) in WAYS.iter().zip(&mut times) {
            times.extend(measure(way, *spin, server, (size, block << 32, exchanges / BLOCKS)));
        }
    }
    let rows = times.map(Row::of);
    let judging = judging(size);
    let mut out = std::io::stdout().lock();
    let written = if options.has("json") {
        write_lines(&mut out, &rows, size, judging)
    } else {
        write_table(&mut out, &rows, size, judging)
    };
    written.unwrap();
}

/// The times of one block in nanoseconds, in their order.
fn measure(
    way: &str,
    spin: Duration,
    processor: usize,
    (size, first, exchanges): (u64, u64, u64),
) -> Vec<u64> {
    let looks = format!("{}ns", spin.as_nanos());
    let server = Server::start(&["--spin", &looks, "--processor", &processor.to_string()]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let way = server.way(way, spin);
        for nonce in first..first + WARM {
            exchange(&way, size, nonce).await;
        }
        let mut times = Vec::with_capacity(exchanges as usize);
        for nonce in first + WARM..first + WARM + exchanges {
            times.push(exchange(&way, size, nonce).await);
        }
        times
    })
}

/// One exchange, nonce and checksum checked: how long it took, in nanoseconds.
async fn exchange(way: &AnyTransport, size: u64, nonce: u64) -> u64 {
    let ask = DataRequest { what: Wanted::Bytes(size), nonce };
    let begun = Instant::now();
    drop(way.fetch(&ask, DEADLINE).await.unwrap());
    begun.elapsed().as_nanos() as u64
}

/// What judging alone takes, in nanoseconds, of a payload that lies in the client's cache: no way
/// can be faster.
fn judging(size: u64) -> u64 {
    let ask = DataRequest { what: Wanted::Bytes(size), nonce: 0 };
    let prepared = Prepared::new(0, ask.what, &mut Records::new(1));
    let checksum = u64::from(prepared.checksum(0));
    let mut times: Vec<u64> = (0..1_000)
        .map(|_| {
            let begun = Instant::now();
            verify(black_box(&ask), black_box(prepared.bytes()), checksum).unwrap();
            begun.elapsed().as_nanos() as u64
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// What was seen of one way.
struct Row {
    exchanges: usize,
    per_second: f64,
    p50: u64,
    p99: u64,
}

impl Row {
    fn of(mut times: Vec<u64>) -> Self {
        let per_second = times.len() as f64 * 1e9 / times.iter().sum::<u64>() as f64;
        times.sort_unstable();
        let at = |share: f64| times[((times.len() as f64 * share).ceil() as usize).max(1) - 1];
        Self { exchanges: times.len(), per_second, p50: at(0.5), p99: at(0.99) }
    }
}

fn write_lines(out: &mut impl Write, rows: &[Row], size: u64, judging: u64) -> std::io::Result<()> {
    for ((name, ..), row) in WAYS.iter().zip(rows) {
        let line = json!({
            "way": name,
            "answer_bytes": size,
            "exchanges": row.exchanges,
            "per_second": row.per_second.round(),
            "p50_ns": row.p50,
            "p99_ns": row.p99,
            "per_second_of_http": row.per_second / rows[0].per_second,
            "per_second_of_unix": row.per_second / rows[1].per_second,
            "judging_ns": judging,
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn write_table(out: &mut impl Write, rows: &[Row], size: u64, judging: u64) -> std::io::Result<()> {
    writeln!(out, "answers of {size} bytes; judging one that is there takes {judging} ns\n")?;
    writeln!(out, "| way | exchanges | /s | p50 µs | p99 µs | × HTTP | × Unix socket |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|---:|")?;
    for ((name, ..), row) in WAYS.iter().zip(rows) {
        let Row { exchanges, per_second, p50, p99 } = row;
        let (p50, p99) = (*p50 as f64 / 1e3, *p99 as f64 / 1e3);
        let (http, unix) = (per_second / rows[0].per_second, per_second / rows[1].per_second);
        writeln!(
            out,
            "| {name} | {exchanges} | {per_second:.0} | {p50:.1} | {p99:.1} | {http:.2} | {unix:.2} |"
        )?;
    }
    Ok(())
}
