//! Values from the environment arrive at the target and are written nowhere.

use crate::lab::process::files_below;
use crate::lab::server::echo;
use crate::lab::{Lab, Ran};

const TOKEN: &str = "s3cr3t-0f-the-t3sts";

fn with_token(lab: &Lab, arguments: &[&str]) -> Ran {
    let output = lab.command(arguments).env("PROOFLOAD_TEST_TOKEN", TOKEN).output();
    Ran::from(output.expect("the binary starts"))
}

fn assert_silent(ran: &Ran) {
    assert!(!ran.stdout.contains(TOKEN), "on stdout:\n{}", ran.stdout);
    assert!(!ran.stderr.contains(TOKEN), "on stderr:\n{}", ran.stderr);
}

fn assert_absent(lab: &Lab, folder: &str) {
    let files = files_below(&lab.path(folder));
    assert!(files.len() >= 7, "a whole run: {files:?}");
    for file in files {
        let bytes = std::fs::read(&file).expect("readable");
        let found = bytes.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes());
        assert!(!found, "in {}", file.display());
    }
}

/// The target answers with the request, so that a report that quotes an answer quotes the token.
#[test]
fn a_token_of_the_environment_arrives_and_is_written_nowhere() {
    let lab = Lab::new();
    let (url, received) = echo();
    let experiment = format!(
        "title = \"with a token\"\nquestion = \"Is {{{{env.PROOFLOAD_TEST_TOKEN}}}} kept?\"\n[target]\nurl = \"{url}\"\n\
         [load]\nconnections = 1\noperations = 3\nwarm_up = \"0s\"\n\
         [[operation]]\nname = \"home\"\n\
         http = {{ path = \"/{{{{env.PROOFLOAD_TEST_TOKEN}}}}\", \
         header = {{ authorization = \"Bearer {{{{env.PROOFLOAD_TEST_TOKEN}}}}\" }} }}\n\
         expect = {{ contains = \"not in the answer\" }}\n"
    );
    lab.write("token.toml", &experiment);

    let checked = with_token(&lab, &["check", "token.toml"]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    assert_silent(&checked);
    assert!(checked.stdout.contains("{{env.PROOFLOAD_TEST_TOKEN}}"), "{}", checked.stdout);

    let tried = with_token(&lab, &["check", "token.toml", "--try"]);
    assert_silent(&tried);
    assert!(received.recv().expect("a request").contains(&format!("Bearer {TOKEN}")));

    let ran = with_token(&lab, &["run", "token.toml", "--out", "run", "--samples"]);
    assert_silent(&ran);
    assert_eq!(lab.summary("run").expect("a summary").arms[0].trials[0].total.failed, 3);
    assert!(received.recv().expect("a request").contains(&format!("Bearer {TOKEN}")));
    assert_absent(&lab, "run");

    let missing = lab.proofload(&["check", "token.toml"]);
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(missing.stderr.contains("PROOFLOAD_TEST_TOKEN"), "{}", missing.stderr);
}

#[test]
fn a_header_of_the_command_line_is_written_nowhere() {
    let lab = Lab::new();
    let (url, received) = echo();
    let header = format!("authorization: Bearer {TOKEN}");
    let flags = ["--header", &header, "--requests", "3", "--connections", "1", "--warm-up", "0s"];
    let ran = lab.proofload(&[&["run", &url, "--out", "run"], &flags[..]].concat());
    assert_silent(&ran);
    assert!(received.recv().expect("a request").contains(&format!("Bearer {TOKEN}")));
    assert_absent(&lab, "run");
}
