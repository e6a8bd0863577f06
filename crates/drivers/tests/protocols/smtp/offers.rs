//! What a server offers is used, what it does not offer is not taken for granted.

use record::{FailureKind, Outcome};

use crate::smtp::stand::{Step, Talk, accepted, hear, say, talk, welcome};

fn bye() -> Vec<Step> {
    vec![hear("QUIT"), say("221 bye")]
}

/// A message after the offers, whose `MAIL` is this.
fn mail(table: &str, offers: &[&str], mail: &str) -> Talk {
    let text = format!("smtp = {{ to = \"a@b.example\", {table} }}");
    let mut script = accepted();
    script[0] = hear(mail);
    talk(&text, 1, &[welcome(offers), script, bye()])
}

#[test]
fn mail_says_what_is_offered_and_of_use() {
    let all = ["SIZE 10000000", "8BITMIME", "SMTPUTF8"];
    for (table, offers, line) in [
        ("", &all[..1], "MAIL FROM:<load@client.example> SIZE=1024"),
        ("", &all, "MAIL FROM:<load@client.example> SIZE=1024"),
        ("from = \"\"", &[], "MAIL FROM:<>"),
        ("eight_bit = true", &all[1..], "MAIL FROM:<load@client.example> BODY=8BITMIME"),
        ("body = \"h\\u00e9\"", &all[1..], "MAIL FROM:<load@client.example> BODY=8BITMIME"),
        ("subject = \"h\\u00e9\"", &all[1..], "MAIL FROM:<load@client.example> BODY=8BITMIME"),
        (
            "from = \"\\u00e9@x\", utf8 = true, header = { From = \"x\" }",
            &all[1..],
            "MAIL FROM:<é@x> SMTPUTF8",
        ),
        ("size = \"20KiB\"", &all, "MAIL FROM:<load@client.example> SIZE=20480"),
    ] {
        let talk = mail(table, offers, line);
        assert_eq!(talk.only_outcome(), Outcome::Succeeded, "{table}: {:?}", talk.exchange.detail);
    }
}

#[test]
fn what_is_needed_and_not_offered_is_a_failure_before_anything_is_sent() {
    for (table, what) in [
        ("eight_bit = true", "8BITMIME"),
        ("body = \"h\\u00e9\"", "8BITMIME"),
        ("utf8 = true", "SMTPUTF8"),
    ] {
        let text = format!("smtp = {{ to = \"a@b.example\", {table} }}");
        let talk = talk(&text, 1, &[welcome(&["PIPELINING"]), bye()]);
        talk.failed(FailureKind::WrongContent, &format!("the server does not offer {what}"));
        assert_eq!((talk.left, talk.exchange.status.code()), (0, 0));
    }
    let auth = "smtp = { to = \"a@b.example\", auth = { user = \"u\", password = \"secret\" } }";
    let talk = talk(auth, 1, &[welcome(&["AUTH CRAM-MD5"])]);
    talk.failed_to_connect(FailureKind::WrongContent, "the server does not offer AUTH PLAIN");
    let tls = "smtp = { to = \"a@b.example\", tls = \"starttls\" }";
    let talk = crate::smtp::stand::talk(tls, 1, &[welcome(&["SIZE"])]);
    talk.failed_to_connect(FailureKind::WrongContent, "the server does not offer STARTTLS");
    let if_offered = "smtp = { to = \"a@b.example\", tls = \"if_offered\" }";
    let talk =
        crate::smtp::stand::talk(if_offered, 1, &[welcome(&["PIPELINING"]), accepted(), bye()]);
    assert_eq!(talk.only_outcome(), Outcome::Succeeded);
}

#[test]
fn a_refused_proof_is_a_refusal() {
    let auth = "smtp = { to = \"a@b.example\", auth = { user = \"u\", password = \"secret\" } }";
    let script = vec![hear("AUTH PLAIN AHUAc2VjcmV0"), say("535 5.7.8 no")];
    let talk = talk(auth, 1, &[welcome(&["AUTH PLAIN"]), script]);
    talk.failed_to_connect(FailureKind::Permanent, "AUTH: 535 5.7.8 no");
    assert_eq!(talk.exchange.status, 535);
}

#[test]
fn bytes_ahead_of_the_handshake_are_refused() {
    let tls = "smtp = { to = \"a@b.example\", tls = \"starttls\" }";
    let script = vec![hear("STARTTLS"), Step::Say("220 go\r\n250 injected\r\n".into())];
    let talk = talk(tls, 1, &[welcome(&["STARTTLS"]), script]);
    let detail = "14 bytes came in the clear before the TLS handshake";
    talk.failed_to_connect(FailureKind::Malformed, detail);
    let script = vec![hear("STARTTLS"), say("454 4.7.0 not now")];
    let talk = crate::smtp::stand::talk(tls, 1, &[welcome(&["STARTTLS"]), script]);
    talk.failed_to_connect(FailureKind::Transient, "STARTTLS: 454 4.7.0 not now");
}
