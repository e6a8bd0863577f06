//! Many exchanges from many clients, each of them judged.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use exchange::request::{DataRequest, Wanted};

use super::Options;
use super::server::Server;

/// What is asked for, in turn.
const ASKED: [Wanted; 6] = [
    Wanted::Bytes(1_024),
    Wanted::Bytes(262_144),
    Wanted::Users(1),
    Wanted::Users(100),
    Wanted::Bytes(16_384),
    Wanted::Bytes(65_536),
];
/// Longer than any exchange may take among so many.
const DEADLINE: Duration = Duration::from_secs(30);

pub fn run(options: &Options) -> ExitCode {
    let (exchanges, clients) =
        (options.number("exchanges", 1_000_000), options.number("clients", 64));
    let way = options.text("way", "shm").to_owned();
    let server = Arc::new(Server::start(&["--spin", "20us", "--threads", "2", "--workers", "2"]));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let begun = Instant::now();
    let ended = runtime.block_on(async {
        let share =
            |client: u64| (client * exchanges / clients, (client + 1) * exchanges / clients);
        let talks = (0..clients)
            .map(|client| tokio::spawn(talk(server.clone(), way.clone(), share(client))));
        let mut ended = BTreeMap::new();
        for talk in talks.collect::<Vec<_>>() {
            for (kind, count) in talk.await.unwrap() {
                *ended.entry(kind).or_insert(0) += count;
            }
        }
        ended
    });
    let seconds = begun.elapsed().as_secs_f64();
    let line = serde_json::json!({
        "way": way, "clients": clients, "exchanges": exchanges, "seconds": seconds, "ended": ended,
    });
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    let is_whole = ended == BTreeMap::from([("answered", exchanges)]);
    if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One client's exchanges: how many ended how.
async fn talk(
    server: Arc<Server>,
    way: String,
    (first, end): (u64, u64),
) -> BTreeMap<&'static str, u64> {
    let way = server.way(&way, Duration::from_micros(20));
    let mut ended = BTreeMap::new();
    for turn in first..end {
        // Scattered over all 64 bits, another for each exchange of the run.
        let nonce = (turn + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let ask = DataRequest { what: ASKED[turn as usize % ASKED.len()], nonce };
        let kind = match way.fetch(&ask, DEADLINE).await {
            Ok(_) => "answered",
            Err(failure) => failure.kind(),
        };
        *ended.entry(kind).or_insert(0) += 1;
    }
    ended
}
