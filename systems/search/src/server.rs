//! Puts the service together and serves it; likewise each part of it on its own.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use serving::error::ServeError;
use serving::http;
use serving::limits::{self, Limits};
use serving::listener;
use serving::metrics::Registry;
use serving::options::Options;
use serving::ready::{Process, Ready};
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;

use crate::api_error::{ApiError, Code};
use crate::embed::cache::Cached;
use crate::embed::{self, Embed};
use crate::front;
use crate::front::child::{Front, Running};
use crate::gateway::times::PARTS;
use crate::gateway::{Gateway, Parts};
use crate::index::local::{self, Local};
use crate::index::{self, Index};
use crate::metadata::{Metadata, origin};
use crate::parts::embedder::EmbedderServer;
use crate::parts::index::IndexServer;
use crate::playbook::Playbook;
use crate::settings::{self, Configuration};

mod filling;

/// The service.
pub const SYSTEM: System = System {
    name: "search",
    about: "vector search: embed, find, join",
    page: "systems/search/README.md",
    surface,
    check: |options| settings::service(options).map(drop),
    start,
};

/// An embedder on its own.
pub const EMBEDDER: System = System {
    name: "search-embedder",
    about: "the embedder of a search service, by itself",
    page: "systems/search/README.md",
    surface: |_| Surface::default(),
    check: |options| settings::embedder(options).map(drop),
    start: start_embedder,
};

/// An index on its own.
pub const INDEX: System = System {
    name: "search-index",
    about: "the index of a search service, by itself",
    page: "systems/search/README.md",
    surface: |_| Surface::default(),
    check: |options| settings::index(options).map(drop),
    start: start_index,
};

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || {
        let configuration = settings::service(options)?;
        let is_direct = configuration.front == Front::Direct;
        // Clients get the front's address; the service behind it takes any port.
        let own = if is_direct { options.listen } else { SocketAddr::new(options.listen.ip(), 0) };
        Ok((configuration.threads, (configuration, listener::bind(own)?)))
    };
    start::run(stop, prepare, async |(configuration, listener), stop| {
        open(configuration, options.listen, HttpEndpoint::new(listener, stop)?, announce).await
    })
}

fn start_embedder(
    options: &Options,
    stop: Option<Stop>,
    announce: Announce<'_>,
) -> Result<(), ServeError> {
    let prepare = || {
        let part = settings::embedder(options)?;
        Ok((part.threads, (part, listener::bind(options.listen)?)))
    };
    start::run(stop, prepare, async |(part, listener), stop| {
        let endpoint = HttpEndpoint::new(listener, stop)?;
        let embed = embedder(part.model.as_deref(), part.dimension, part.seed)?;
        let identity = embed::identity(&embed).await;
        let identity = identity.map_err(stopped("embed a text", "give another `model`"))?;
        let embed = Cached::new(embed, part.cache);
        let effective = endpoint.effective(
            json!({ "embedder": embed.effective() }),
            &part.limits,
            part.threads,
        );
        let ready = Ready::new(EMBEDDER.name, effective);
        endpoint.serve(ready, EmbedderServer::new(embed, identity), part.limits, announce).await
    })
}

fn start_index(
    options: &Options,
    stop: Option<Stop>,
    announce: Announce<'_>,
) -> Result<(), ServeError> {
    let prepare = || {
        let part = settings::index(options)?;
        Ok((part.threads, (part, listener::bind(options.listen)?)))
    };
    start::run(stop, prepare, async |(part, listener), stop| {
        let endpoint = HttpEndpoint::new(listener, stop)?;
        let dimension = part.index.dimension;
        let index = local(part.index)?;
        let effective =
            endpoint.effective(json!({ "index": index.effective() }), &part.limits, part.threads);
        let served = IndexServer::new(Arc::new(index), dimension);
        endpoint.serve(Ready::new(INDEX.name, effective), served, part.limits, announce).await
    })
}

fn surface(options: &Options) -> Surface {
    let front = options.settings.get("front").and_then(Value::as_str).unwrap_or_default();
    let is_direct = matches!(front, "" | "direct");
    Surface {
        listening: vec!["http", "gateway"],
        processes: if is_direct { Vec::new() } else { vec!["front"] },
        parts: parts(),
        // A front that is somebody else's may report its own.
        other_parts: !is_direct && front != "front",
        ..Surface::default()
    }
}

/// The parts whose times are in answers of the service, with or without the bundled front.
pub fn parts() -> Vec<&'static str> {
    PARTS.into_iter().chain([front::NAME]).collect()
}

/// The listener and what belongs to it.
struct HttpEndpoint {
    listener: TcpListener,
    address: SocketAddr,
    stop: Stop,
    metrics: Registry,
}

impl HttpEndpoint {
    fn new(listener: TcpListener, stop: Stop) -> Result<Self, ServeError> {
        let address = listener::address(&listener)?;
        Ok(Self { listener, address, stop, metrics: Registry::default() })
    }

    /// A part's configuration, with what all parts have.
    fn effective(&self, mut own: Value, limits: &Limits, threads: usize) -> Value {
        own["limits"] = json!(limits);
        own["threads"] = json!(threads);
        own["backlog"] = json!(listener::backlog(&self.listener).ok());
        own["open_files"] = json!(limits::open_files());
        own
    }

    async fn serve(
        self,
        ready: Ready,
        handler: impl http::Handler,
        limits: Limits,
        announce: impl FnOnce(&Ready),
    ) -> Result<(), ServeError> {
        announce(&ready.listening("http", self.address));
        let served = http::serve(self.listener, handler, limits, self.metrics, self.stop).await;
        served.map_err(ServeError::while_doing("serve"))
    }
}

/// What can be done about what a folder holds.
const FOLDER: &str = "restore a copy of the whole folder of `path` without notes that end in `.damaged`, or start with an empty folder";

/// What can be done about a folder that came about otherwise.
const OTHERWISE: &str =
    "start with the seed, dimension or model that it was made with, or with another folder";

/// What a folder of a model is.
const MODEL: &str = "`model` is a folder with config.json, tokenizer.json and model.safetensors of a model2vec model";

/// An error in a folder's content, as an error of the start: of `path`, or of the model.
fn of_folder(doing: &'static str) -> impl FnOnce(ApiError) -> ServeError {
    move |error| {
        let hint = match error.code {
            Code::InvalidVector => OTHERWISE,
            Code::InvalidRequest => MODEL,
            _ => FOLDER,
        };
        stopped(doing, hint)(error)
    }
}

/// An API error at the start, as an error of the environment.
fn stopped(doing: &'static str, hint: &'static str) -> impl FnOnce(ApiError) -> ServeError {
    move |error| ServeError::Stopped { doing, why: error.message, hint }
}

fn embedder(
    model: Option<&Path>,
    dimension: usize,
    seed: u64,
) -> Result<embed::local::Local, ServeError> {
    embed::local::Local::open(model, dimension, seed).map_err(stopped("open the embedder", MODEL))
}

fn local(settings: local::Settings) -> Result<Local, ServeError> {
    Local::open(settings).map_err(of_folder("open the index"))
}

async fn open(
    configuration: Configuration,
    listen: SocketAddr,
    endpoint: HttpEndpoint,
    announce: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    let within = configuration.part_timeout;
    match configuration.embedder.clone() {
        settings::Embedder::Local { model, dimension, seed } => {
            let embed = embedder(model.as_deref(), dimension, seed)?;
            with_embedder(configuration, embed, listen, endpoint, announce).await
        }
        settings::Embedder::Remote(url) => {
            let hint = "start it before the service: `proofload serve search-embedder`";
            let embed = embed::remote::Remote::connect(&url, within).await;
            let embed = embed.map_err(stopped("reach the embedder", hint))?;
            with_embedder(configuration, embed, listen, endpoint, announce).await
        }
    }
}

async fn with_embedder<E: Embed>(
    configuration: Configuration,
    embed: E,
    listen: SocketAddr,
    endpoint: HttpEndpoint,
    announce: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    if let Some(folder) = &configuration.folder {
        let make = ServeError::while_doing("make the folder of `path`");
        std::fs::create_dir_all(folder).map_err(make)?;
    }
    let metadata = Metadata::open(configuration.folder.as_deref());
    let metadata = metadata.map_err(of_folder("open the metadata"))?;
    let playbook = Playbook::open(&metadata).map_err(of_folder("open the playbook"))?;
    let compare = "compare the embedding with that of the rows";
    origin::check(&metadata, &embed).await.map_err(of_folder(compare))?;
    let embed = Cached::new(embed, configuration.cache);
    match configuration.index.clone() {
        settings::Index::Local(settings) => {
            let dimension = embed.dimension();
            let index = local(local::Settings { dimension, ..settings })?;
            let parts = Parts { embed, index, metadata, playbook };
            with_parts(configuration, parts, listen, endpoint, announce).await
        }
        settings::Index::Remote(url) => {
            let hint =
                "start it before the service, with its dimension: `proofload serve search-index`";
            let index = index::remote::Remote::connect(&url, configuration.part_timeout).await;
            let index = index.and_then(|index| fitting(index, embed.dimension()));
            let index = index.map_err(stopped("reach the index", hint))?;
            let parts = Parts { embed, index, metadata, playbook };
            with_parts(configuration, parts, listen, endpoint, announce).await
        }
    }
}

fn fitting(
    index: index::remote::Remote,
    dimension: usize,
) -> Result<index::remote::Remote, ApiError> {
    if index.dimension() == dimension {
        return Ok(index);
    }
    let what =
        format!("its vectors have {} numbers, the embedder's {dimension}", index.dimension());
    Err(ApiError::new(Code::InvalidVector, what))
}

async fn with_parts<E: Embed, I: Index>(
    configuration: Configuration,
    parts: Parts<E, I>,
    listen: SocketAddr,
    endpoint: HttpEndpoint,
    announce: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    let Configuration { tuning, limits, threads, workers, seed, front, .. } = configuration;
    let effective = json!({
        "embedder": parts.embed.effective(),
        "index": parts.index.effective(),
        "metadata": parts.metadata.effective()["metadata"],
        "sample_every": tuning.sample_every,
        "front": front.name(),
    });
    let mut effective = endpoint.effective(effective, &limits, threads);
    let gateway = Gateway::new(parts, tuning, &endpoint.metrics);
    let filled = filling::fill(&gateway, workers, seed, threads).await;
    let filled = filled.map_err(stopped("fill the index", filling::HINT))?;
    effective["rows"] = json!(filled.rows);
    effective["rows_forgotten"] = json!(filled.forgotten);
    let HttpEndpoint { listener, address, stop, metrics } = endpoint;
    // Behind a front it stops after the front, which may still have to answer.
    let (stopper, behind) = Stop::pair();
    let serving = tokio::spawn(http::serve(listener, gateway, limits, metrics, behind));
    let front = front.start(listen, address).await?;
    announce(&ready(effective, address, front.as_ref()));
    let ended = wait(stop, front).await;
    stopper.stop();
    let served = serving.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    ended.and(served.map_err(ServeError::while_doing("serve")))
}

fn ready(mut effective: Value, address: SocketAddr, front: Option<&Running>) -> Ready {
    let Some(front) = front else {
        let ready = Ready::new(SYSTEM.name, effective).listening("http", address);
        return ready.listening("gateway", address);
    };
    effective["front_settings"] = front.effective().clone();
    let ready = Ready::new(SYSTEM.name, effective).listening("http", front.address());
    let mut ready = ready.listening("gateway", address);
    ready.processes.push(Process { name: "front".to_owned(), pid: front.pid() });
    ready
}

/// Waits for the stop, and ends the front first; its unexpected end is an error.
async fn wait(mut stop: Stop, front: Option<Running>) -> Result<(), ServeError> {
    let Some(mut front) = front else {
        stop.pulled().await;
        return Ok(());
    };
    tokio::select! {
        () = stop.pulled() => {
            front.stop().await;
            Ok(())
        }
        error = front.died() => Err(error),
    }
}
