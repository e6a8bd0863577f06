//! Steps at the same time: over several connections with HTTP/1.1, over streams of one with HTTP/2.

use super::{failures, visit};
use crate::lab::nginx::nginx_listening;
use crate::lab::{Lab, only_trial};

const JOURNEYS: u64 = 30;

#[track_caller]
fn check(protocol: &str, listen: &str, connections: u64) {
    let lab = Lab::new();
    let server = "keepalive_requests 1000000; location / { return 200 hello; }";
    let (_nginx, port) = nginx_listening(&lab, "together", server, listen);
    let operations = ["a", "b", "c"].map(|name| {
        format!("[[operation]]\nname = \"{name}\"\n{protocol} = {{ path = \"/{name}\" }}\n")
    });
    let file = format!(
        "[target]\nurl = \"http://127.0.0.1:1\"\n[load]\noperations = {JOURNEYS}\nconnections = 4\n\
         warm_up = \"0s\"\n{}\n[[journey]]\nname = \"page\"\nsteps = [\"a\", [\"a\", \"b\", \"c\"], [\"b\", \"c\"]]\n",
        operations.concat()
    );
    let (_, summary) = visit(&lab, &format!("http://127.0.0.1:{port}"), &file);
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.failed, 0, "{}", failures(trial));
    assert_eq!(trial.accounting.succeeded, 6 * JOURNEYS);
    assert_eq!(trial.total.spans["connect"].count, connections * JOURNEYS, "{protocol}");
}

#[test]
fn http1_uses_a_connection_for_each_request_at_the_same_time() {
    check("http", "", 3);
}

#[test]
fn http2_uses_streams_of_one_connection() {
    check("http2", "http2", 1);
}
