//! Bodies, files and credentials of requests.

use super::*;
use crate::template::Scope;

#[test]
fn a_body_file_is_sent_word_for_word() {
    let text = HOME.replace("path = \"/\"", "path = \"/\", body_file = \"body.txt\"");
    let operation = plan(&text).arms[0].operations[0].clone();
    let body = operation.table.get("body").unwrap().node.clone();
    let template = Template::compile(body.as_str().unwrap(), body.span, Scope::default()).unwrap();
    assert_eq!(template.literal(), Some("a {{mustache}} {{{"));
    assert!(operation.table.get("body_file").is_none());
}

#[test]
fn files_of_a_multipart_body_are_read_as_they_are() {
    let with = |parts: &str| HOME.replace("path = \"/\"", &format!("multipart = {{ {parts} }}"));
    let plan = plan(&with(
        "title = \"x\", one = { file = \"body.txt\", type = \"text/plain\" }, \
         many = [{ file = \"data/queries.csv\" }, { file = \"body.txt\", name = \"b\" }]",
    ));
    let expected = serde_json::json!({
        "title": "x",
        "one": { "content": "YSB7e211c3RhY2hlfX0ge3t7", "type": "text/plain", "name": "body.txt" },
        "many": [
            { "content": "cXVlcnkKcmVkIHNob2VzCmJsdWUgaGF0Cg==", "name": "queries.csv" },
            { "content": "YSB7e211c3RhY2hlfX0ge3t7", "name": "b" },
        ],
    });
    assert_eq!(plan.arms[0].operations[0].table.to_json()["multipart"], expected);
    let refused = |parts: &str| read(&with(parts), &Options::default()).unwrap_err();
    let missing =
        refused("a = { file = \"nowhere.png\" }, b = [{ file = \"no.png\" }, { file = 5 }]");
    for expected in [
        "cannot read nowhere.png",
        "cannot read no.png",
        "expected the name of a file, got 5",
        "file = \"nowhere.png\"",
    ] {
        assert!(missing.contains(expected), "{expected}\n{missing}");
    }
}

#[test]
fn message_files_are_read_one_or_many_and_each_problem_points_at_its_name() {
    let home = HOME.replace("http://127", "smtp://127");
    let with =
        |files: &str| home.replace("http = { path = \"/\" }", &format!("smtp = {{ {files} }}"));
    let one = plan(&with("message_file = \"body.txt\"")).arms[0].operations[0].table.to_json();
    assert_eq!(one["message"], "a {{{{mustache}} {{{{{");
    let many = plan(&with("message_file = [\"body.txt\", \"offsets.csv\"]"));
    let many = many.arms[0].operations[0].table.to_json();
    assert_eq!(many["message"][1], "offset_ms\n0\n1.5\n1000\n");
    assert!(many.get("message_file").is_none());
    let refused = |files: &str| read(&with(files), &Options::default()).unwrap_err();
    let missing = refused("message_file = [\"body.txt\", \"nowhere.eml\"]");
    assert!(missing.contains("cannot read nowhere.eml"), "{missing}");
    let both = refused("message_file = \"body.txt\", message = \"x\"");
    assert!(both.contains("`message` and `message_file` exclude each other"), "{both}");
}

#[test]
fn credentials_of_http_that_are_written_out_stand_in_no_output() {
    for auth in [
        "auth = { basic = { user = \"u\", password = \"hunter22\" } }",
        "auth = { bearer = \"hunter22\" }",
    ] {
        let plan = plan(&HOME.replace("path = \"/\"", &format!("path = \"/hunter22\", {auth}")));
        let written = serde_json::to_string(&plan).unwrap();
        assert!(!written.contains("hunter22") && written.contains("{{env."), "{written}");
        assert!(!plan.secrets.redact("dTpodW50ZXIyMg==").contains("aHVudGVyMjI"));
    }
}

#[test]
fn a_file_brings_along_those_that_it_names_each_once_from_its_folder_or_one_above() {
    let with = |files: &str| HOME.replace("path = \"/\"", &format!("sources = {files}"));
    let plan = plan(&with("\"api/a/one.txt\""));
    let table = plan.arms[0].operations[0].table.to_json();
    let expected = serde_json::json!([
        { "name": "a/one.txt", "content": "import b/two.txt\nimport lost.txt\n{{{{x}}" },
        { "name": "b/two.txt", "content": "import a/one.txt\nimport three.txt" },
        { "name": "three.txt", "content": "3" },
    ]);
    assert_eq!(table["sources"], expected);
    let lost = read(&with("[\"api/a/one.txt\", \"nowhere.txt\", 3]"), &Options::default());
    let lost = lost.unwrap_err();
    assert!(lost.contains("cannot read nowhere.txt"), "{lost}");
    assert!(lost.contains("expected the name of a file"), "{lost}");
}
