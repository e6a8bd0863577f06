//! FastAPI with bearer tokens: values out of JSON, a list whose elements are opened, a file that is uploaded, and an
//! answer that is polled for.

use sha2::{Digest, Sha256};

use super::application::uvicorn;
use super::{assert_counted, failures, only_journey, step, visit};
use crate::lab::server::get;
use crate::lab::{Lab, only_trial};

const USERS: u64 = 40;
const PICTURE: usize = 70_000;

#[test]
fn fastapi_sees_each_user_s_own_token_orders_and_file() {
    let lab = Lab::new();
    let application = uvicorn(&lab, "orders:app");
    let names = (0..USERS).map(|user| format!("user{user},secret of user{user}\n"));
    lab.write("accounts.csv", &format!("name,password\n{}", names.collect::<String>()));
    let picture: Vec<u8> = (0..PICTURE).map(|at| ((at * at) >> 3) as u8).collect();
    std::fs::write(lab.path("invoice.png"), &picture).expect("writes the file");
    let digest: String =
        Sha256::digest(&picture).iter().map(|byte| format!("{byte:02x}")).collect();
    let (ran, summary) = visit(&lab, &application.url, &experiment(&digest));
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.failed, 0, "{}", failures(trial));
    assert_counted(&ran);
    let journey = only_journey(trial);
    assert_eq!(journey.whole.succeeded, USERS, "one journey for each row");
    let opened = trial.operations.iter().find(|one| one.name == "open").expect("it is there");
    assert_eq!(opened.succeeded, 3 * USERS, "three of ten orders");
    assert_eq!(step(journey, "open").succeeded, USERS, "a step counts once");
    let tally: serde_json::Value =
        serde_json::from_str(&get(application.address(), "/tally")).expect("JSON");
    let expected = serde_json::json!({
        "login": USERS, "open": 3 * USERS, "poll": 3 * USERS, "bytes": PICTURE as u64 * USERS,
    });
    assert_eq!(tally, expected);
}

fn experiment(digest: &str) -> String {
    format!(
        r#"
criteria = ["failed == 0"]
[target]
url = "http://127.0.0.1:1"
[load]
operations = {USERS}
connections = 4
warm_up = "0s"
[[operation]]
name = "login"
http = {{ path = "/login", form = {{ username = "{{{{row.name}}}}", password = "{{{{row.password}}}}" }} }}
capture = {{ token = "$.access_token" }}
[[operation]]
name = "list"
http = {{ path = "/orders", query = {{ size = 10 }}, auth = {{ bearer = "{{{{login.token}}}}" }} }}
expect = {{ json = {{ "$.length()" = 10 }} }}
capture = {{ ids = {{ json = "$[*].id", all = true }}, last = "$[9].id" }}
[[operation]]
name = "open"
http = {{ path = "/orders/{{{{each}}}}", auth = {{ bearer = "{{{{login.token}}}}" }} }}
expect = {{ json = {{ "$.owner" = "{{{{row.name}}}}" }} }}
[[operation]]
name = "upload"
[operation.http]
method = "PUT"
path = "/orders/{{{{list.last}}}}/invoice"
auth = {{ bearer = "{{{{login.token}}}}" }}
multipart = {{ note = "for {{{{row.name}}}}", invoice = {{ file = "invoice.png", type = "image/png" }} }}
[operation.expect.json]
"$.name" = "invoice.png"
"$.type" = "image/png"
"$.note" = "for {{{{row.name}}}}"
"$.size" = {PICTURE}
"$.digest" = "{digest}"
[[operation]]
name = "export"
http = {{ method = "POST", path = "/exports", auth = {{ bearer = "{{{{login.token}}}}" }} }}
expect = {{ status = 202 }}
capture = {{ number = "$.export" }}
[[operation]]
name = "poll"
http = {{ path = "/exports/{{{{export.number}}}}", auth = {{ bearer = "{{{{login.token}}}}" }} }}
[[journey]]
name = "accountant"
rows = {{ file = "accounts.csv", order = "once" }}
steps = [
  "login", "list", {{ do = "open", each = "list.ids", at_most = 3 }}, "upload", "export",
  {{ do = "poll", until = "$.state == 'done'", every = "20ms", within = "5s" }},
]
"#
    )
}
