//! A process in another language asks over the channel.

use std::path::Path;
use std::process::{Command, Output};

use serving::options::Options;

use super::TestProducer;

fn ask(house: &TestProducer, words: &[&str]) -> Output {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Command::new("python3")
        .arg("-B")
        .arg(here.join("python/users.py"))
        .arg(house.path("shm"))
        .args(words)
        .output()
        .expect("python3 is on PATH: install it (apt-get install python3)")
}

#[test]
fn python_asks_for_users_and_judges_them() {
    let house = TestProducer::start(Options::default());
    for (words, says) in [
        (["users", "100", "50"], "50 answers with 100 users each"),
        (["bytes", "65536", "20"], "20 answers with 27 users each"),
    ] {
        let run = ask(&house, &words);
        let failed = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{failed}");
        let said = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(said.starts_with(says), "{said}");
    }
    let run = ask(&house, &["users", "0", "1"]);
    let failed = String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success() && failed.contains("refused: 2"), "{failed}");
}
