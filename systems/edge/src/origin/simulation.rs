//! Answers as the recipes say.

use std::future::pending;

use hyper::header::HeaderValue;
use hyper::{HeaderMap, Response, StatusCode};
use timer::monotonic;

use super::recipe::EVERYWHERE;
use super::served::{Fate, Served};
use super::tally::RequestOutcome;
use super::timeline::{Fault, Outcome};
use super::worker_state::{HTML, JSON, Outlet, WorkerState, ordinary};

/// An answer of an origin.
pub type Answer = Response<Served>;

/// Answers a request for a path that came at an instant.
///
/// Errors: a stream ends in the place of an answer
pub async fn simulate(
    state: &WorkerState,
    path: &str,
    arrived_ns: u64,
    fate: &Fate,
) -> std::io::Result<Answer> {
    let view = state.view();
    let Some(outlet) = view.table.find(path).map(|place| &view.outlets[place]) else {
        state.tally().count(
            &state.nowhere,
            RequestOutcome::Status(406),
            monotonic() - arrived_ns,
            0,
        );
        return Ok(answer(406, not_set(path), ordinary(view.table.generation, HTML)));
    };
    let (outcome, due_ns) = match outlet.route.at(arrived_ns) {
        None => (None, arrived_ns),
        Some(moment) => {
            let mut draws = outlet.draws.borrow_mut();
            let outcome = moment.draw(&mut draws).clone();
            (Some(outcome), arrived_ns.saturating_add(moment.delay.draw(&mut draws)))
        }
    };
    if due_ns > arrived_ns {
        state.timer.sleep_until(due_ns).await;
    }
    let given = given(state, outlet, path, outcome.as_ref(), fate);
    let came = match &given {
        Ok(answer) => RequestOutcome::Status(answer.status().as_u16()),
        Err(fault) => RequestOutcome::To(fault.end),
    };
    let now_ns = monotonic();
    state.tally().count(
        &outlet.route.name,
        came,
        now_ns - arrived_ns,
        now_ns.saturating_sub(due_ns),
    );
    match given {
        Ok(answer) => Ok(answer),
        Err(fault) => {
            fate.seal(fault.end)?;
            pending().await
        }
    }
}

/// The answer of an outcome; without one, that there is no recipe.
///
/// Errors: what comes in its place
fn given(
    state: &WorkerState,
    outlet: &Outlet,
    path: &str,
    outcome: Option<&Outcome>,
    fate: &Fate,
) -> Result<Answer, Fault> {
    let status = outcome.map_or(406, |outcome| outcome.status);
    let mut answer = match status {
        200 => whole(200, Served::whole(outlet.payload.clone()), outlet.full.clone()),
        status => answer(status, text(status, path), outlet.bare.clone()),
    };
    let Some(outcome) = outcome else { return Ok(answer) };
    if let Some(bytes_per_second) = outcome.bytes_per_second {
        answer = answer.map(|body| body.held_back(bytes_per_second, &state.timer));
    }
    match outcome.fault {
        None => Ok(answer),
        // Of an answer without a body nothing is left when its head is sent.
        Some(fault) if hyper::body::Body::is_end_stream(answer.body()) => Err(fault),
        Some(fault) => match fault.after_bytes {
            Some(after) => Ok(answer.map(|body| body.cut(after, fault.end, fate))),
            None => Err(fault),
        },
    }
}

/// The body of an answer that is not the payload.
fn text(status: u16, path: &str) -> String {
    match status {
        // These two have none, whatever is said.
        204 | 304 => String::new(),
        404 => "Not found".to_owned(),
        406 => not_set(path),
        status => format!("Error {status}"),
    }
}

/// The answer for a path without a recipe.
fn not_set(path: &str) -> String {
    match path {
        EVERYWHERE => NOT_SET.to_owned(),
        path => format!(
            "Recipe not set at {path}, please POST a recipe for this route to /_admin/add_recipe"
        ),
    }
}

/// The answer while there is no recipe at all.
pub const NOT_SET: &str = "Recipe not set, please POST a recipe to /_admin/add_recipe";

/// An answer with text.
fn answer(status: u16, text: String, headers: HeaderMap) -> Answer {
    whole(status, Served::whole(text.into()), headers)
}

fn whole(status: u16, body: Served, headers: HeaderMap) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = StatusCode::from_u16(status).expect("statuses of recipes are in range");
    *answer.headers_mut() = headers;
    answer
}

/// An answer of the administration: its text, and the type of that.
pub fn text_answer(
    status: StatusCode,
    text: String,
    content_type: HeaderValue,
    generation: u64,
) -> Answer {
    whole(status.as_u16(), Served::whole(text.into()), ordinary(generation, content_type))
}

/// The same in JSON.
pub fn json_answer(status: StatusCode, value: &serde_json::Value, generation: u64) -> Answer {
    text_answer(status, value.to_string(), JSON, generation)
}
