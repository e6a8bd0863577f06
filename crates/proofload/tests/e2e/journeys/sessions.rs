//! Express with express-session: the cookie of a journey's session, which changes at login, and no other's.

use super::application::{Application, node};
use super::{assert_counted, failures, only_journey, visit};
use crate::lab::{Lab, only_trial};

const JOURNEYS: u64 = 200;

const EXPERIMENT: &str = r#"
criteria = ["failed == 0"]
[target]
url = "http://127.0.0.1:1"
[load]
operations = 200
connections = 10
workers = 2
warm_up = "0s"
[[operation]]
name = "login"
http = { path = "/login", json = { user = "{{row.name}}" }, follow = 1 }
expect = { json = { "$.count" = 1, "$.user" = "{{row.name}}" } }
[[operation]]
name = "again"
http = { path = "/count" }
expect = { json = { "$.user" = "{{row.name}}" } }
[[operation]]
name = "last"
http = { path = "/count" }
expect = { json = { "$.count" = 8, "$.user" = "{{row.name}}" } }
[[operation]]
name = "logout"
http = { method = "POST", path = "/logout" }
expect = { status = 204 }
[[operation]]
name = "after"
http = { path = "/count" }
expect = { status = 401 }
[[journey]]
name = "counter"
rows = { file = "names.csv", order = "once" }
connections = "CONNECTIONS"
steps = ["login", { do = "again", times = 6 }, "last", ["again", "again"], "logout", "after"]
"#;

#[test]
fn express_counts_each_session_on_its_own_over_connections_of_a_journey() {
    count("own");
}

/// Journeys share connections, but no cookies.
#[test]
fn express_counts_each_session_on_its_own_over_connections_of_the_load() {
    count("pool");
}

fn count(connections: &str) {
    let lab = Lab::new();
    let application = Application::start(node(&lab, "sessions.js"));
    let names = (0..JOURNEYS).map(|user| format!("user{user}\n"));
    lab.write("names.csv", &format!("name\n{}", names.collect::<String>()));
    let experiment = EXPERIMENT.replace("CONNECTIONS", connections);
    let (ran, summary) = visit(&lab, &application.url, &experiment);
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.failed, 0, "{}", failures(trial));
    assert_counted(&ran);
    assert_eq!(only_journey(trial).whole.succeeded, JOURNEYS);
    assert_eq!(trial.accounting.succeeded, 12 * JOURNEYS);
}
