//! The front over fake transports: what it answers, counts and limits. The transports' checks are
//! not tested here.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};
use serving::http::{Answer, Handler};
use serving::metrics::Registry;
use serving::supervisor::ChildState;

use super::handler::{AnswerPolicy, Transports, UsersHandler};
use crate::failure::Failure;
use crate::payload::Payload;
use crate::request::DataRequest;
use crate::transport::Transport;

/// Answers with this text and the nonce in it, or fails so.
#[derive(Debug, Clone)]
struct Fake(Result<&'static str, Failure>);

impl Transport for Fake {
    async fn fetch(&self, ask: &DataRequest, _: Duration) -> Result<Payload, Failure> {
        let text = self.0.clone()?.replace("NONCE", &format!("{:016x}", ask.nonce));
        Ok(text.into_bytes().into())
    }
}

type Front = UsersHandler<Fake, Fake, Fake>;

const MANNER: AnswerPolicy =
    AnswerPolicy { users: 100, deadline: Duration::from_secs(1), reencodes: true, room: 1 << 20 };
const USERS: Fake = Fake(Ok(r#"{ "nonce": "NONCE", "users": [1.50, "é"] }"#));

fn front(http: Fake, policy: AnswerPolicy) -> (Front, Registry) {
    let registry = Registry::default();
    let transports = Transports { http, unix: USERS, shm: USERS };
    (UsersHandler::new(transports, policy, ChildState::unknown(), &registry), registry)
}

async fn ask(front: &Front, method: Method, path: &str) -> Answer {
    let request = Request::builder().method(method).uri(path).body(Bytes::new()).unwrap();
    front.handle(request).await
}

async fn body(answer: Answer) -> String {
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.into()).unwrap()
}

async fn get(front: &Front, path: &str) -> (StatusCode, String) {
    let answer = ask(front, Method::GET, path).await;
    (answer.status(), body(answer).await)
}

#[tokio::test]
async fn an_answer_is_encoded_anew_or_passed_on_as_it_came() {
    let path = "/api/users-via-api?nonce=00000000000000ab";
    let (front_anew, _) = front(USERS, MANNER);
    let anew = r#"{"nonce":"00000000000000ab","users":[1.5,"é"]}"#;
    assert_eq!(get(&front_anew, path).await, (StatusCode::OK, anew.to_owned()));
    let (front_as_is, _) = front(USERS, AnswerPolicy { reencodes: false, ..MANNER });
    let as_is = r#"{ "nonce": "00000000000000ab", "users": [1.50, "é"] }"#;
    assert_eq!(get(&front_as_is, path).await, (StatusCode::OK, as_is.to_owned()));
}

#[tokio::test]
async fn the_parts_tell_their_times_where_the_producer_was_asked() {
    let (front, _) = front(Fake(Err(Failure::Deadline)), MANNER);
    for (path, is_told) in [
        ("/api/users-via-shm", true),
        ("/api/users-via-api", true),
        ("/api/users-via-api?users=0", false),
        ("/nowhere", false),
    ] {
        let answer = ask(&front, Method::GET, path).await;
        assert_eq!(answer.headers().contains_key("server-timing"), is_told, "{path}");
    }
}

#[tokio::test]
async fn each_failure_has_its_status_and_its_word() {
    for (failure, status, code) in [
        (Failure::Damaged("x".to_owned()), 502, "damaged"),
        (Failure::Refused("x".to_owned()), 502, "refused"),
        (Failure::Unreachable("x".to_owned()), 503, "unreachable"),
        (Failure::Crowded, 503, "crowded"),
        (Failure::Deadline, 504, "deadline"),
    ] {
        let (front, registry) = front(Fake(Err(failure.clone())), MANNER);
        let answer = ask(&front, Method::GET, "/api/users-via-api").await;
        assert_eq!(answer.status().as_u16(), status);
        assert_eq!(answer.headers().contains_key("retry-after"), status == 503);
        let text: Value = serde_json::from_str(&body(answer).await).unwrap();
        let expected = json!({ "error": { "code": code, "message": failure.to_string() } });
        assert_eq!(text, expected);
        let line = format!("exchange_front_requests_total{{way=\"http\",outcome=\"{code}\"}} 1\n");
        assert!(registry.render().contains(&line), "{line}");
    }
}

#[tokio::test]
async fn what_is_no_json_is_damaged() {
    let (front, _) = front(Fake(Ok("{\"nonce\":")), MANNER);
    let (status, text) = get(&front, "/api/users-via-api").await;
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    assert!(text.contains("\"damaged\"") && text.contains("it is not JSON"), "{text}");
}

#[tokio::test]
async fn paths_and_methods_that_there_are_not_are_told() {
    let (front, registry) = front(USERS, MANNER);
    assert_eq!(get(&front, "/api/users").await.0, StatusCode::NOT_FOUND);
    let posted = ask(&front, Method::POST, "/api/users-via-api").await;
    assert_eq!(posted.status(), StatusCode::METHOD_NOT_ALLOWED);
    let text = registry.render();
    assert!(text.contains("{way=\"none\",outcome=\"not_found\"} 1\n"), "{text}");
    assert!(text.contains("{way=\"http\",outcome=\"method_not_allowed\"} 1\n"), "{text}");
}

#[tokio::test]
async fn a_request_that_never_was_whole_has_the_code_of_its_status() {
    let (front, registry) = front(USERS, MANNER);
    for (status, code) in [
        (StatusCode::BAD_REQUEST, "bad_input"),
        (StatusCode::REQUEST_TIMEOUT, "too_slow"),
        (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
        (StatusCode::SERVICE_UNAVAILABLE, "crowded"),
    ] {
        let answer = front.refuse(status, "a reason");
        assert_eq!(answer.status(), status);
        let text: Value = serde_json::from_str(&body(answer).await).unwrap();
        assert_eq!(text, json!({ "error": { "code": code, "message": "a reason" } }));
        let line = format!("{{way=\"none\",outcome=\"{code}\"}} 1\n");
        assert!(registry.render().contains(&line), "{line}");
    }
}

/// An answer takes its room until it is sent, whether it was encoded anew or not.
#[tokio::test]
async fn answers_share_a_room_until_they_are_sent() {
    for reencodes in [true, false] {
        let (front, _) = front(USERS, AnswerPolicy { reencodes, ..MANNER });
        let path = "/api/users-via-uds?size=1MiB";
        let held = ask(&front, Method::GET, path).await;
        assert_eq!(held.status(), StatusCode::OK);
        assert_eq!(get(&front, path).await.0, StatusCode::SERVICE_UNAVAILABLE);
        drop(held);
        assert_eq!(get(&front, path).await.0, StatusCode::OK);
        assert_eq!(get(&front, "/api/users-via-uds?size=2MiB").await.0, 503);
    }
}

#[tokio::test]
async fn health_says_whether_the_producer_answers() {
    let (well, _) = front(USERS, MANNER);
    let answer = well.health().await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(body(answer).await, r#"{"producer":{"restarts":0,"state":"serving"}}"#);
    let (ill, _) = front(Fake(Err(Failure::Deadline)), MANNER);
    let answer = ill.health().await;
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    let text = body(answer).await;
    assert!(text.contains("\"away\"") && text.contains("no answer in time"), "{text}");
}
