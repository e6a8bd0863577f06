//! What the service and its parts are started with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serving::error::BadOptions;
use serving::limits::Limits;
use serving::options::Options;
use serving::settings::Settings;

use crate::corpus;
use crate::embed::hashed::DIMENSIONS;
use crate::front::child::Front;
use crate::gateway::Tuning;
use crate::index::local;

/// Default length of vectors.
const DIMENSION: usize = 256;
/// Default number of cached vectors.
const CACHE: u64 = 10_000;
/// Default time-out of parts.
const PART_NS: u64 = 2_000_000_000;
/// Default share of searches that is sampled for the recall observer.
const SAMPLE: f64 = 0.01;
/// Default number of samples.
const SAMPLES: u64 = 1_000;

/// Text to vector: in this process, or asked for elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Embedder {
    /// By the model of a folder, or by hashing.
    Local { model: Option<PathBuf>, dimension: usize, seed: u64 },
    /// At this URL.
    Remote(String),
}

/// Vector to rows: in this process, or asked for elsewhere.
#[derive(Debug, Clone)]
pub(crate) enum Index {
    /// Here; of the embedder's dimension, which only the embedder knows.
    Local(local::Settings),
    /// At this URL.
    Remote(String),
}

/// The settings of `search`.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub embedder: Embedder,
    /// Vectors of queries that are remembered.
    pub cache: usize,
    pub index: Index,
    /// Folder of what is kept; without it all is in memory.
    pub folder: Option<PathBuf>,
    /// Rows made at the start, where there are none.
    pub workers: u64,
    /// Of those rows.
    pub seed: u64,
    /// Within which a part in another process answers.
    pub part_timeout: Duration,
    pub tuning: Tuning,
    pub front: Front,
    pub threads: usize,
    pub limits: Limits,
}

/// The settings of `search-embedder`.
#[derive(Debug)]
pub(crate) struct EmbedderPart {
    pub model: Option<PathBuf>,
    pub dimension: usize,
    pub seed: u64,
    pub cache: usize,
    pub threads: usize,
    pub limits: Limits,
}

/// The settings of `search-index`.
#[derive(Debug)]
pub(crate) struct IndexPart {
    pub index: local::Settings,
    pub threads: usize,
    pub limits: Limits,
}

/// Reads those of the service.
///
/// Errors: every problem at once
pub(crate) fn service(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let threads = threads(&settings);
    let seed = seed(&settings);
    let folder = folder(&settings);
    let embedder = match url(&settings, "embedder") {
        Some(url) => Embedder::Remote(url),
        None => {
            let (model, dimension) = shape(&settings);
            Embedder::Local { model, dimension, seed }
        }
    };
    let index = match url(&settings, "index") {
        Some(url) => Index::Remote(url),
        None => {
            let below = folder.as_ref().map(|folder| folder.join("index"));
            Index::Local(local(&settings, DIMENSION, threads, below))
        }
    };
    let workers = settings.count("workers", 0, 0..=corpus::MOST);
    if let Index::Local(local::Settings { max_rows, .. }) = index
        && max_rows < workers
    {
        let what = format!("must be at least {workers}, the rows of `workers` (got {max_rows})");
        settings.wrong("max_rows", what);
    }
    let configuration = Configuration {
        embedder,
        cache: cache(&settings),
        index,
        folder,
        workers,
        seed,
        part_timeout: Duration::from_nanos(settings.positive_time("part_timeout", PART_NS)),
        tuning: tuning(&settings, threads),
        front: Front::read(&settings),
        threads,
        limits: limits(&settings),
    };
    settings.finish("the search service")?;
    Ok(configuration)
}

/// Reads those of an embedder on its own.
///
/// Errors: every problem at once
pub(crate) fn embedder(options: &Options) -> Result<EmbedderPart, BadOptions> {
    let settings = Settings::new(&options.settings);
    let (model, dimension) = shape(&settings);
    let part = EmbedderPart {
        model,
        dimension,
        seed: seed(&settings),
        cache: cache(&settings),
        threads: threads(&settings),
        limits: limits(&settings),
    };
    settings.finish("the embedder")?;
    Ok(part)
}

/// Reads those of an index on its own.
///
/// Errors: every problem at once
pub(crate) fn index(options: &Options) -> Result<IndexPart, BadOptions> {
    let settings = Settings::new(&options.settings);
    let dimension = dimension(&settings);
    let (threads, folder) = (threads(&settings), folder(&settings));
    let mut limits = limits(&settings);
    if !settings.has("max_body") {
        // A bulk that the gateway has taken is larger here, with a vector a row.
        limits.max_body_bytes = 512 << 20;
        limits.max_bodies_bytes = limits.max_bodies_bytes.map(|most| most.max(1 << 30));
    }
    let part = IndexPart { index: local(&settings, dimension, threads, folder), threads, limits };
    settings.finish("the index")?;
    Ok(part)
}

fn local(
    settings: &Settings<'_>,
    dimension: usize,
    threads: usize,
    folder: Option<PathBuf>,
) -> local::Settings {
    let default = local::Settings::new(dimension);
    let count = |key, default: usize, least, most| {
        settings.count(key, default as u64, least..=most) as usize
    };
    local::Settings {
        dimension,
        m: count("m", default.m, 2, 512),
        ef_construction: count("ef_construction", default.ef_construction, 1, 1 << 16),
        ef: count("ef", default.ef, 1, 1 << 16),
        brute_force_below: settings.count(
            "brute_force_below",
            default.brute_force_below,
            0..=u64::MAX,
        ),
        max_rows: settings.count("max_rows", default.max_rows, 1..=u64::from(u32::MAX / 4)),
        threads,
        snapshot_every: settings.count("snapshot_every", default.snapshot_every, 0..=u64::MAX),
        rebuild_share: rebuild_share(settings, default.rebuild_share),
        folder,
    }
}

fn rebuild_share(settings: &Settings<'_>, default: f64) -> f64 {
    let share = settings.ratio("rebuild_share", default);
    if !(local::LEAST_REBUILD_SHARE..=1.0).contains(&share) {
        settings.wrong("rebuild_share", format!("expected a share from 1% to 100%, got {share}"));
    }
    share
}

/// A limit of 0 bytes would refuse every request.
fn limits(settings: &Settings<'_>) -> Limits {
    let limits = Limits::read_with_bodies(settings);
    if limits.max_body_bytes == 0 {
        settings.wrong("max_body", "expected a size above zero such as 16MiB, got 0");
    }
    limits
}

fn threads(settings: &Settings<'_>) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    settings.count("threads", processors, 1..=1_024) as usize
}

/// The folder of a model, which decides the dimension, or the dimension of hashing.
fn shape(settings: &Settings<'_>) -> (Option<PathBuf>, usize) {
    let model = settings.text("model", "");
    if model.is_empty() {
        return (None, dimension(settings));
    }
    if !Path::new(&model).is_dir() {
        settings.wrong("model", format!("expected the folder of a model, got \"{model}\""));
    }
    (Some(model.into()), DIMENSION)
}

fn dimension(settings: &Settings<'_>) -> usize {
    let (least, most) = (*DIMENSIONS.start() as u64, *DIMENSIONS.end() as u64);
    settings.count("dimension", DIMENSION as u64, least..=most) as usize
}

fn seed(settings: &Settings<'_>) -> u64 {
    settings.count("seed", corpus::SEED, 0..=u64::MAX)
}

fn cache(settings: &Settings<'_>) -> usize {
    settings.count("cache", CACHE, 0..=10_000_000) as usize
}

fn folder(settings: &Settings<'_>) -> Option<PathBuf> {
    let path = settings.text("path", "");
    // What is not there yet is made.
    let there = Path::new(&path).ancestors().find(|path| path.exists());
    if there.is_some_and(|there| !there.is_dir()) {
        settings.wrong("path", format!("expected a folder, got \"{path}\""));
    }
    (!path.is_empty()).then(|| path.into())
}

fn tuning(settings: &Settings<'_>, threads: usize) -> Tuning {
    let share = settings.ratio("sample", SAMPLE);
    Tuning {
        sample_every: if share > 0.0 { (1.0 / share).round() as u64 } else { 0 },
        samples: settings.count("samples", SAMPLES, 1..=100_000) as usize,
        // Half of the processors are left to searches.
        bulks: (threads / 2).max(1),
    }
}

fn url(settings: &Settings<'_>, key: &'static str) -> Option<String> {
    let text = settings.text(key, "");
    let address = text.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
    let is_whole =
        address.and_then(|address| address.rsplit_once(':')).is_some_and(|(host, port)| {
            !host.is_empty() && !host.contains(['/', '@']) && port.parse::<u16>().is_ok()
        });
    if !text.is_empty() && !is_whole {
        settings.wrong(key, format!("expected http://HOST:PORT, got \"{text}\""));
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_a_default() {
        let plain = service(&Options::default()).unwrap();
        assert_eq!(plain.embedder, Embedder::Local { model: None, dimension: 256, seed: 1 });
        assert_eq!((plain.cache, plain.workers, plain.tuning.sample_every), (10_000, 0, 100));
        assert!(plain.folder.is_none() && matches!(plain.index, Index::Local(_)));
        assert_eq!(plain.front, Front::Direct);
        embedder(&Options::default()).unwrap();
        assert!(index(&Options::default()).unwrap().limits.max_body_bytes > 1 << 28);
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let bad = Options::default()
            .with("workers", 1_u64 << 60)
            .with("dimension", 3)
            .with("embedder", "127.0.0.1:1")
            .with("index", "http://nowhere")
            .with("sample", "7")
            .with("front_serial", true)
            .with("nonsense", 1);
        let problems = service(&bad).unwrap_err().sentences();
        for key in ["workers", "embedder", "index", "sample", "front", "nonsense"] {
            assert!(problems.iter().any(|problem| problem.starts_with(key)), "{key}: {problems:?}");
        }
    }

    #[test]
    fn what_cannot_work_is_refused_before_anything_is_opened() {
        for (key, value) in [
            ("rebuild_share", "0"),
            ("max_rows", "3"),
            ("model", "/nonexistent"),
            ("path", "/etc/passwd"),
            ("path", "/etc/passwd/below"),
            ("max_body", "0"),
            ("front_cost", "abc"),
            ("front_slow_share", "2"),
            ("front_slow_share", "50%"),
        ] {
            let mut options = Options::default().with("workers", 5).with(key, value);
            if key.starts_with("front_") {
                options = options.with("front", "front");
            }
            let problems = service(&options).unwrap_err().sentences();
            assert_eq!(problems.len(), 1, "{key}={value}: {problems:?}");
            assert!(problems[0].starts_with(key), "{key}={value}: {problems:?}");
        }
        for key in ["max_body", "rebuild_share"] {
            assert!(index(&Options::default().with(key, "0")).is_err(), "{key}");
        }
        assert!(embedder(&Options::default().with("max_body", "0B")).is_err());
    }

    #[test]
    fn a_part_elsewhere_has_settings_of_its_own() {
        let remote = Options::default().with("embedder", "http://h:1").with("index", "http://h:2/");
        assert!(service(&remote).is_ok());
        let model = Options::default().with("model", "/").with("dimension", 64);
        assert_eq!(service(&model).unwrap_err().problems.len(), 1);
        let both = remote.with("dimension", 64).with("ef", 10);
        let problems = service(&both).unwrap_err().problems;
        assert_eq!(problems.len(), 2, "{problems:?}");
    }

    #[test]
    fn a_share_of_samples_is_one_in_so_many() {
        for (share, every) in [("1%", 100), ("100%", 1), ("0", 0), ("0.3", 3)] {
            let options = Options::default().with("sample", share);
            assert_eq!(service(&options).unwrap().tuning.sample_every, every, "{share}");
        }
    }
}
