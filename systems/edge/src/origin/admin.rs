//! The administration: recipes in, recipes and counts out.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{Method, Request, StatusCode};
use serde_json::{Map, Value, json};
use serving::nonce::now_ns;

use super::recipe::{self, Problem};
use super::room::{JSON, Room};
use super::simulation::{Answer, NOT_SET, told, told_json};
use super::tally::{self, Counts, Tally};
use super::timeline::Moment;

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
pub async fn administer(room: &Room, request: Request<Incoming>) -> Answer {
    let path = below(request.uri().path()).unwrap_or_default().to_owned();
    match (request.method().clone(), path.as_str()) {
        (Method::POST, "/add_recipe") => match body(room, request.into_body()).await {
            Ok(text) => match add(room, text).await {
                Ok(()) => told_json(StatusCode::CREATED, &recipes(room).into(), generation(room)),
                Err(problems) => refuse(room, StatusCode::BAD_REQUEST, &problems),
            },
            Err((status, problem)) => refuse(room, status, &[problem]),
        },
        (Method::GET, "/restart") => match restart(room).await {
            Ok(()) => plain(room, "ok!"),
            Err(why) => refuse(room, StatusCode::BAD_REQUEST, &[Problem::of("$", why)]),
        },
        (Method::GET, "/clear_current_count") => {
            room.shared.tallies.iter().for_each(Tally::clear);
            told(StatusCode::OK, CLEARED.to_owned(), JSON, generation(room))
        }
        (Method::GET, path) => asked(room, path).unwrap_or_else(|| not_found(room)),
        _ => not_found(room),
    }
}

/// As it is written by the original, with its space.
const CLEARED: &str = r#"{"cleared": "yes"}"#;

/// Answers what changes nothing; `None` if there is no such path.
fn asked(room: &Room, path: &str) -> Option<Answer> {
    let json = |value: &Value| told_json(StatusCode::OK, value, generation(room));
    let rows = || tally::by_route(&room.shared.tallies);
    let view = room.view();
    Some(match path {
        "/status" => plain(room, "ok!"),
        "/current_recipe" => match recipes(room) {
            none if none.is_empty() => json(&NOT_SET.into()),
            all => json(&all.into()),
        },
        "/routes" => {
            let told = view.world.told(now_ns());
            let names: Vec<&str> = told.into_iter().map(|(name, _)| name).collect();
            plain(room, names.join("\n"))
        }
        "/routes_status" => {
            let line = |(name, moment): (&str, Option<Moment<'_>>)| {
                let told = moment.map_or_else(|| "406 0".to_owned(), |moment| moment.told());
                format!("{name} {told}")
            };
            let lines: Vec<String> = view.world.told(now_ns()).into_iter().map(line).collect();
            plain(room, lines.join("\n"))
        }
        "/current_count" => json(&tally::told(&tally::together(&rows()))),
        "/current_count_by_route" => {
            let told =
                |(route, counts): (&Arc<str>, &Counts)| (route.to_string(), tally::told(counts));
            json(&rows().iter().map(told).collect::<Map<_, _>>().into())
        }
        "/ignored_keys" => {
            let routes = view.world.routes().iter().filter(|route| !route.ignored.is_empty());
            let told = routes.map(|route| (route.name.to_string(), json!(route.ignored)));
            json(&told.collect::<Map<_, _>>().into())
        }
        _ => return None,
    })
}

fn recipes(room: &Room) -> Vec<Value> {
    room.view().world.routes().iter().map(|route| route.told.clone()).collect()
}

fn generation(room: &Room) -> u64 {
    room.shared.book.generation()
}

fn plain(room: &Room, text: impl Into<String>) -> Answer {
    told(StatusCode::OK, text.into(), PLAIN, generation(room))
}

/// What is answered to what nobody answers.
pub fn not_found(room: &Room) -> Answer {
    told(StatusCode::NOT_FOUND, "not found".to_owned(), PLAIN, generation(room))
}

/// The body of a request, read whole.
async fn body(room: &Room, body: Incoming) -> Result<Bytes, (StatusCode, Problem)> {
    let limits = &room.shared.limits;
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
async fn add(room: &Room, text: Bytes) -> Result<(), Vec<Problem>> {
    let shared = &room.shared;
    let most_payload = shared.loader.most_payload;
    // Beside the threads that serve: it may take longer than they have.
    let reading = tokio::task::spawn_blocking(move || recipe::read(&text, most_payload));
    let recipes = reading.await.expect("reading a recipe does not panic")?;
    let loaded = shared.loader.load(recipes).await?;
    let added = shared.book.add(loaded, now_ns(), shared.bounds);
    added.map_err(|why| vec![Problem::of("$", why)])
}

async fn restart(room: &Room) -> Result<(), String> {
    let shared = &room.shared;
    shared.book.restart(shared.beginning.clone(), now_ns(), shared.bounds)?;
    shared.tallies.iter().for_each(Tally::clear);
    tokio::time::sleep(RESTART_PAUSE).await;
    Ok(())
}

/// Everything that is wrong, and the first of it where somebody looks who wants to know one thing.
fn refuse(room: &Room, status: StatusCode, problems: &[Problem]) -> Answer {
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
    told_json(status, &told, generation(room))
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
