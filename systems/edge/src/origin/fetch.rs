//! Makes recipes ready to be served: an origin is asked once, all else is made here.

use std::pin::pin;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use proxying::authority::split;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::draws::Draws;
use super::payload::Payload;
use super::recipe::{Piece, Problem, Recipe, Source};
use super::routes::Loaded;
use super::trust::Trust;

/// How long an origin may take, all in all.
const PATIENCE: Duration = Duration::from_secs(3);

/// What payloads are made with.
#[derive(Debug, Clone)]
pub struct Loader {
    /// Of random content, where a recipe has none of its own.
    pub seed: u64,
    /// Bytes of one payload.
    pub most_payload: u64,
    /// Bytes of all payloads of one addition.
    pub most_together: u64,
    /// Whom origins over TLS must be known by.
    pub trust: Trust,
}

impl Loader {
    /// Makes the payloads of recipes that were read of one text.
    ///
    /// Errors: every origin that did not answer with what is asked for
    pub async fn load(&self, recipes: Vec<Recipe>) -> Result<Vec<Loaded>, Vec<Problem>> {
        let too_much =
            || Problem::of("$", format!("all payloads may have {} bytes", self.most_together));
        // Before any is made, as far as it can be known.
        if recipes.iter().map(least).fold(0, u64::saturating_add) > self.most_together {
            return Err(vec![too_much()]);
        }
        let mut loaded = Vec::with_capacity(recipes.len());
        let mut problems = Vec::new();
        let mut bytes = 0;
        for recipe in recipes {
            let payload = match &recipe.source {
                Source::Origin(uri) => self.fetched(uri, &recipe).await,
                Source::Pieces(pieces) => Ok(self.made(pieces.clone(), &recipe).await),
            };
            match payload {
                Ok(payload) => {
                    bytes += payload.bytes.len() as u64;
                    loaded.push(Loaded { recipe, payload });
                }
                Err(why) => problems.push(Problem::of(format!("{}.origin", recipe.at), why)),
            }
            // Before there are all of them, which may be far more than there is memory for.
            if bytes > self.most_together {
                problems.push(too_much());
                break;
            }
        }
        if problems.is_empty() { Ok(loaded) } else { Err(problems) }
    }

    async fn made(&self, pieces: Vec<Piece>, recipe: &Recipe) -> Payload {
        let mut draws = Draws::of(recipe.seed.unwrap_or(self.seed), &["payload", &recipe.route]);
        let gzip = recipe.is_gzip();
        apart(move || Payload::of(&pieces, gzip, &mut draws)).await
    }

    async fn fetched(&self, uri: &Uri, recipe: &Recipe) -> Result<Payload, String> {
        let answer = timeout(PATIENCE, self.ask(uri, recipe)).await;
        let answer = answer.map_err(|_| format!("{uri} did not answer within 3 s"))?;
        let answer = answer.map_err(|why| format!("{uri}: {why}"))?;
        if answer.status() != StatusCode::OK {
            return Err(format!("{uri} answered with status {}", answer.status().as_u16()));
        }
        let coding = answer.headers().get(CONTENT_ENCODING).cloned();
        let body = answer.into_body();
        match (coding, recipe.coding()) {
            // Some origins do not compress even if they are asked to.
            (None, Some(asked)) if asked == "gzip" => {
                Ok(apart(move || Payload::plain(body, true)).await)
            }
            (None, None) => Ok(Payload::plain(body, false)),
            (had, asked) if had.as_ref() == asked => Ok(Payload::compressed(body)),
            (had, asked) => {
                let (had, asked) = (describe(had.as_ref()), describe(asked));
                Err(format!("{uri} answered {had}, and the recipe's headers announce it {asked}"))
            }
        }
    }

    /// One question on a connection of its own.
    async fn ask(&self, uri: &Uri, recipe: &Recipe) -> Result<Response<Bytes>, String> {
        let authority = uri.authority().ok_or("it has no host")?;
        let (host, port) =
            split(authority.as_str()).ok_or("its host is missing, or its port is not valid")?;
        let is_tls = uri.scheme_str() == Some("https");
        let port = port.unwrap_or(if is_tls { 443 } else { 80 });
        let stream = TcpStream::connect((host, port)).await.map_err(|error| error.to_string())?;
        let request = request(uri, authority, recipe).map_err(|error| error.to_string())?;
        if is_tls {
            let stream = self.trust.connect(host, stream).await?;
            exchange(stream, request, self.most_payload).await
        } else {
            exchange(stream, request, self.most_payload).await
        }
    }
}

/// Bytes that a recipe's payload takes at least; of one that is fetched nothing is known.
fn least(recipe: &Recipe) -> u64 {
    let Source::Pieces(pieces) = &recipe.source else { return 0 };
    let of = |piece: &Piece| match (recipe.is_gzip(), piece) {
        (false, piece) => piece.length(),
        // Each random character has six bits to tell, of which some slack is left to the coding.
        (true, Piece::Random(size)) => size / 2,
        // A text may say the same again and again.
        (true, Piece::Text(_)) => 0,
    };
    pieces.iter().map(of).fold(0, u64::saturating_add)
}

fn describe(coding: Option<&HeaderValue>) -> String {
    match coding {
        Some(coding) => format!("in the coding {}", String::from_utf8_lossy(coding.as_bytes())),
        None => "without a coding".to_owned(),
    }
}

/// Makes a payload beside the threads that serve.
async fn apart(make: impl FnOnce() -> Payload + Send + 'static) -> Payload {
    tokio::task::spawn_blocking(make).await.expect("making a payload does not panic")
}

fn request(
    uri: &Uri,
    authority: &Authority,
    recipe: &Recipe,
) -> Result<Request<Empty<Bytes>>, hyper::http::Error> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::builder().uri(path).header(HOST, authority.as_str());
    if recipe.is_gzip() {
        request = request.header(ACCEPT_ENCODING, "gzip");
    }
    for (name, value) in recipe.headers.iter().filter(|(name, _)| name != HOST) {
        request = request.header(name, value);
    }
    request.body(Empty::new())
}

/// Sends the one request of a connection, and takes the answer whole.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    request: Request<Empty<Bytes>>,
    most: u64,
) -> Result<Response<Bytes>, String> {
    let made = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = made.map_err(|error| error.to_string())?;
    let mut asked = pin!(async {
        let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let (head, body) = answer.into_parts();
        let state = usize::try_from(most).unwrap_or(usize::MAX);
        let whole = Limited::new(body, state).collect().await.map_err(|error| error.to_string())?;
        Ok(Response::from_parts(head, whole.to_bytes()))
    });
    // The connection may end before all that came over it was taken.
    tokio::select! {
        answer = &mut asked => answer,
        _ = connection => asked.await,
    }
}

#[cfg(test)]
mod tests {
    use super::super::recipe;
    use super::*;
    use serde_json::json;

    /// What comes of recipes of which the first cannot be fetched, where all payloads have so many bytes.
    async fn describe(most_together: u64, coding: &str) -> Vec<String> {
        let headers = json!({"content-encoding": coding});
        let recipes = json!([
            // Nobody listens there.
            {"origin": "http://127.0.0.1:1/", "route": "/a"},
            {"random_content": "1kb", "route": "/b", "headers": headers},
            {"body": "<<1kb>>xx", "route": "/c", "headers": headers},
        ]);
        let recipes = recipe::read(recipes.to_string().as_bytes(), 2_048).unwrap();
        let trust = Trust::default();
        let loader = Loader { seed: 1, most_payload: 2_048, most_together, trust };
        let problems = loader.load(recipes).await.unwrap_err();
        problems.into_iter().map(|problem| problem.path).collect()
    }

    #[tokio::test]
    async fn payloads_that_are_too_large_together_are_not_begun() {
        // Whoever began was told first that nobody is there.
        assert_eq!(describe(2_049, "identity").await, ["$"]);
        assert_eq!(describe(2_050, "identity").await, ["$[0].origin"]);
        // Compressed they are smaller, but not by as much as that.
        assert_eq!(describe(1_023, "gzip").await, ["$"]);
        assert_eq!(describe(2_049, "gzip").await, ["$[0].origin"]);
    }
}
