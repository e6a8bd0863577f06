//! The administration: recipes in, recipes and counts out.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{Method, Request, StatusCode};
use serde_json::{Map, Value, json};
use timer::monotonic;

use super::recipe::{self, Problem};
use super::simulation::{Answer, NOT_SET, json_answer, text_answer};
use super::tally::{self, Counts, Tally};
use super::timeline::Moment;
use super::worker_state::{JSON, WorkerState};

/// What the paths of the administration begin with.
pub const PREFIX: &str = "/_admin";

/// How long a restart waits, as the original does.
const RESTART_PAUSE: Duration = Duration::from_millis(10);
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// What is below [`PREFIX`] in a path of the administration; `None` for any other path.
pub fn below(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX).filter(|below| below.is_empty() || below.starts_with('/'))
}

/// Answers a request for a path of the administration.
pub async fn administer(state: &WorkerState, request: Request<Incoming>) -> Answer {
    let path = below(request.uri().path()).unwrap_or_default().to_owned();
    match (request.method().clone(), path.as_str()) {
        (Method::POST, "/add_recipe") => match body(state, request.into_body()).await {
            Ok(text) => match add(state, text).await {
                Ok(()) => {
                    json_answer(StatusCode::CREATED, &recipes(state).into(), generation(state))
                }
                Err(problems) => refuse(state, StatusCode::BAD_REQUEST, &problems),
            },
            Err((status, problem)) => refuse(state, status, &[problem]),
        },
        (Method::GET, "/restart") => match restart(state).await {
            Ok(()) => plain(state, "ok!"),
            Err(why) => refuse(state, StatusCode::BAD_REQUEST, &[Problem::of("$", why)]),
        },
        (Method::GET, "/clear_current_count") => {
            state.shared.tallies.iter().for_each(Tally::clear);
            text_answer(StatusCode::OK, CLEARED.to_owned(), JSON, generation(state))
        }
        (Method::GET, path) => get(state, path).unwrap_or_else(|| not_found(state)),
        _ => not_found(state),
    }
}

/// As it is written by the original, with its space.
const CLEARED: &str = r#"{"cleared": "yes"}"#;

/// Answers what changes nothing; `None` if there is no such path.
fn get(state: &WorkerState, path: &str) -> Option<Answer> {
    let json = |value: &Value| json_answer(StatusCode::OK, value, generation(state));
    let rows = || tally::by_route(&state.shared.tallies);
    let view = state.view();
    Some(match path {
        "/status" => plain(state, "ok!"),
        "/current_recipe" => match recipes(state) {
            none if none.is_empty() => json(&NOT_SET.into()),
            all => json(&all.into()),
        },
        "/routes" => {
            let told = view.table.present(monotonic());
            let names: Vec<&str> = told.into_iter().map(|(name, _)| name).collect();
            plain(state, names.join("\n"))
        }
        "/routes_status" => {
            let line = |(name, moment): (&str, Option<Moment<'_>>)| {
                let told = moment.map_or_else(|| "406 0".to_owned(), |moment| moment.describe());
                format!("{name} {told}")
            };
            let lines: Vec<String> =
                view.table.present(monotonic()).into_iter().map(line).collect();
            plain(state, lines.join("\n"))
        }
        "/current_count" => json(&tally::to_json(&tally::together(&rows()))),
        "/current_count_by_route" => {
            let told =
                |(route, counts): (&Arc<str>, &Counts)| (route.to_string(), tally::to_json(counts));
            json(&rows().iter().map(told).collect::<Map<_, _>>().into())
        }
        "/ignored_keys" => {
            let routes = view.table.routes().iter().filter(|route| !route.ignored.is_empty());
            let told = routes.map(|route| (route.name.to_string(), json!(route.ignored)));
            json(&told.collect::<Map<_, _>>().into())
        }
        _ => return None,
    })
}

fn recipes(state: &WorkerState) -> Vec<Value> {
    state.view().table.routes().iter().map(|route| route.given.clone()).collect()
}

fn generation(state: &WorkerState) -> u64 {
    state.shared.routes.generation()
}

fn plain(state: &WorkerState, text: impl Into<String>) -> Answer {
    text_answer(StatusCode::OK, text.into(), PLAIN, generation(state))
}

/// The answer for an unknown path or method.
pub fn not_found(state: &WorkerState) -> Answer {
    text_answer(StatusCode::NOT_FOUND, "not found".to_owned(), PLAIN, generation(state))
}

/// The body of a request, read whole.
async fn body(state: &WorkerState, body: Incoming) -> Result<Bytes, (StatusCode, Problem)> {
    let limits = &state.shared.limits;
    let most = usize::try_from(limits.max_body_bytes).unwrap_or(usize::MAX);
    let reading = tokio::time::timeout(limits.read_time(), Limited::new(body, most).collect());
    match reading.await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let reason = format!("recipes may have {most} bytes");
            Err((StatusCode::PAYLOAD_TOO_LARGE, Problem::of("$", reason)))
        }
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, Problem::of("$", "the body broke off"))),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, Problem::of("$", "the body is too slow"))),
    }
}

/// Adds recipes, all of them or none.
async fn add(state: &WorkerState, text: Bytes) -> Result<(), Vec<Problem>> {
    let shared = &state.shared;
    let most_payload = shared.loader.most_payload;
    // Beside the threads that serve: it may take longer than they have.
    let reading = tokio::task::spawn_blocking(move || recipe::read(&text, most_payload));
    let recipes = reading.await.expect("reading a recipe does not panic")?;
    let loaded = shared.loader.load(recipes).await?;
    let added = shared.routes.add(loaded, monotonic(), shared.bounds);
    added.map_err(|why| vec![Problem::of("$", why)])
}

async fn restart(state: &WorkerState) -> Result<(), String> {
    let shared = &state.shared;
    shared.routes.restart(shared.beginning.clone(), monotonic(), shared.bounds)?;
    shared.tallies.iter().for_each(Tally::clear);
    tokio::time::sleep(RESTART_PAUSE).await;
    Ok(())
}

/// Everything that is wrong, and the first of it where somebody looks who wants to know one thing.
fn refuse(state: &WorkerState, status: StatusCode, problems: &[Problem]) -> Answer {
    let all: Vec<Value> = (problems.iter())
        .map(|Problem { path, reason }| json!({"path": path, "reason": reason}))
        .collect();
    let first = problems.first();
    let told = json!({
        "error": first.map(Problem::to_string),
        "path": first.map(|problem| &problem.path),
        "reason": first.map(|problem| &problem.reason),
        "problems": all,
    });
    json_answer(status, &told, generation(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_parts_of_a_path_are_the_administrations() {
        for (path, below_it) in [
            ("/_admin", Some("")),
            ("/_admin/status", Some("/status")),
            ("/_administration", None),
            ("/x/_admin/status", None),
        ] {
            assert_eq!(below(path), below_it, "{path}");
        }
    }
}
