//! Values from the environment reach the target and are never written to files.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::lab::files_below;
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

/// The target echoes the request, so a report that quotes an answer quotes the token.
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

/// A mail server that refuses every login and echoes the credentials, encoded and decoded; it ends with the test
/// process.
fn telltale() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let _ = refuse_logins(&stream);
            });
        }
    });
    format!("smtp://{address}")
}

fn refuse_logins(mut stream: &TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    stream.write_all(b"220 telltale\r\n")?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let told = line.trim().strip_prefix("AUTH PLAIN ").unwrap_or(line.trim());
        let decoded = STANDARD.decode(told).unwrap_or_default();
        let decoded = String::from_utf8_lossy(&decoded).replace('\0', " ");
        let reply = match line.trim() {
            "AUTH LOGIN" => "334 VXNlcm5hbWU6\r\n".to_owned(),
            // Base64 of the name.
            "bG9hZA==" => "334 UGFzc3dvcmQ6\r\n".to_owned(),
            hello if hello.starts_with("EHLO") => "250-telltale\r\n250 AUTH PLAIN LOGIN\r\n".into(),
            _ => format!("535 5.7.8 no: {told} is {decoded}\r\n"),
        };
        stream.write_all(reply.as_bytes())?;
        line.clear();
    }
    Ok(())
}

#[test]
fn a_password_that_a_mail_server_repeats_is_written_nowhere() {
    for (mechanism, password) in [
        ("plain", "{{env.PROOFLOAD_TEST_TOKEN}}"),
        ("login", "{{env.PROOFLOAD_TEST_TOKEN}}"),
        ("plain", TOKEN),
    ] {
        let lab = Lab::new();
        let auth = format!(
            "auth = {{ user = \"load\", password = \"{password}\", mechanism = \"{mechanism}\" }}"
        );
        let experiment = format!(
            "title = \"telltale\"\n[target]\nurl = \"{}\"\n[load]\nconnections = 1\noperations = 3\n\
             warm_up = \"0s\"\n[[operation]]\nname = \"mail\"\n\
             smtp = {{ to = \"a@b.example\", size = \"1KiB\", {auth} }}\n",
            telltale()
        );
        lab.write("mail.toml", &experiment);
        let tried = with_token(&lab, &["check", "mail.toml", "--try"]);
        let ran = with_token(&lab, &["run", "mail.toml", "--out", "run"]);
        for ran in [&tried, &ran] {
            assert_silent(ran);
            assert!(format!("{}{}", ran.stdout, ran.stderr).contains("535 5.7.8 no: "), "{ran:?}");
            for told in encodings() {
                let seen = ran.stdout.contains(&told) || ran.stderr.contains(&told);
                assert!(!seen, "{mechanism}: {told} in {ran:?}");
            }
        }
        assert_absent(&lab, "run");
        for file in files_below(&lab.path("run")) {
            let bytes = std::fs::read(&file).expect("readable");
            let text = String::from_utf8_lossy(&bytes);
            let told = encodings().into_iter().find(|told| text.contains(told.as_str()));
            assert_eq!(told, None, "{mechanism}: in {}", file.display());
        }
    }
}

/// The encoded forms of a login with the token, without the letters that also encode part of the name.
fn encodings() -> [String; 2] {
    let whole = STANDARD.encode(format!("\0load\0{TOKEN}"));
    [STANDARD.encode(TOKEN), whole["\0load\0".len() * 4 / 3..].to_owned()]
}

/// The target echoes the request, so the record of an unexpected answer quotes the token.
#[test]
fn credentials_that_a_server_repeats_are_hidden_in_part_too() {
    let lab = Lab::new();
    let (url, _received) = echo();
    let header = format!("authorization: Basic {}", STANDARD.encode(format!("load:{TOKEN}")));
    let flags = ["--requests", "3", "--connections", "1", "--warm-up", "0s", "--out", "run"];
    let file = format!(
        "title = \"basic\"\n[target]\nurl = \"{url}\"\n[load]\nconnections = 1\noperations = 3\n\
         warm_up = \"0s\"\n[[operation]]\nhttp = {{ path = \"/{TOKEN}\", \
         header = {{ authorization = \"Basic {}\" }} }}\nexpect = {{ contains = \"never there\" }}\n",
        STANDARD.encode(format!("load:{TOKEN}"))
    );
    lab.write("basic.toml", &file);
    for arguments in [
        &[&["run", url.as_str(), "--header", &header], &flags[..]].concat()[..],
        &["check", "basic.toml", "--try"],
        &["run", "basic.toml", "--out", "second"],
    ] {
        let ran = lab.proofload(arguments);
        assert_silent(&ran);
        assert!(!ran.stdout.contains(&header[21..]) && !ran.stderr.contains(&header[21..]));
    }
    assert_absent(&lab, "run");
    assert_absent(&lab, "second");
}
