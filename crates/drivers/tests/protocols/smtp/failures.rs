//! What goes wrong, as which kind, and whether the connection lives on.

use record::{FailureKind, Outcome};

use crate::smtp::stand::{
    HearBytes, HearContent, Linger, PLAIN, Step, Talk, Wait, accepted, hear, say, talk, welcome,
};

const TWO: &str = "smtp = { to = [\"a@b.example\", \"c@d.example\"] }\n\
                   items = { taken = \"recipients.accepted\", not = \"recipients.refused\" }";

/// A talk after the welcome.
fn after_welcome(text: &str, script: &[Step]) -> Talk {
    talk(text, 1, &[welcome(&[]), script.to_vec()])
}

fn mail() -> [Step; 2] {
    [hear("MAIL FROM:<load@client.example>"), say("250 ok")]
}

#[test]
fn refusals_for_now_and_for_ever_are_two_kinds_with_their_codes() {
    for (reply, kind) in [
        ("451 4.3.0 try later", FailureKind::Transient),
        ("550 5.7.1 go away", FailureKind::Permanent),
    ] {
        let code = reply[..3].parse().unwrap();
        let quit = [hear("QUIT"), say("221 bye")];
        let at_mail = [hear("MAIL FROM:<load@client.example>"), say(reply)];
        let at_data = [hear("RCPT TO:<a@b.example>"), say("250 ok"), hear("DATA"), say(reply)];
        let at_end = [&accepted()[..7], &[say(reply)]].concat();
        for (to, script) in [
            ("MAIL", [&at_mail[..], &quit].concat()),
            ("DATA", [&mail()[..], &at_data, &quit].concat()),
            ("content", [&at_end[..], &quit].concat()),
        ] {
            let talk = after_welcome(PLAIN, &script);
            talk.failed(kind, &format!("{to}: {reply}"));
            assert_eq!((talk.exchange.status.code(), talk.left), (code, 0), "{to}");
        }
    }
}

#[test]
fn after_a_refusal_the_connection_goes_on_with_a_reset() {
    let no_reset = "smtp = { to = \"a@b.example\", reset = false }";
    let refused = vec![
        hear("MAIL FROM:<load@client.example>"),
        say("250 ok"),
        hear("RCPT TO:<a@b.example>"),
        say("450 4.2.1 busy"),
        hear("RSET"),
        say("250 ok"),
    ];
    let end = vec![hear("QUIT"), say("221 bye")];
    let talk = talk(no_reset, 2, &[welcome(&[]), refused, accepted(), end]);
    assert_eq!(talk.outcomes, [Outcome::Failed(FailureKind::Transient), Outcome::Succeeded]);
    assert_eq!(talk.left, 0);
}

#[test]
fn some_recipients_are_enough_and_none_is_a_failure() {
    let rcpts = |first: &str, second: &str| {
        [hear("RCPT TO:<a@b.example>"), say(first), hear("RCPT TO:<c@d.example>"), say(second)]
    };
    let some = [&mail()[..], &rcpts("550 5.1.1 nobody", "250 ok"), &accepted()[4..]].concat();
    let talk = after_welcome(TWO, &[&some[..], &[hear("QUIT"), say("221 bye")]].concat());
    assert_eq!(talk.only_outcome(), Outcome::Succeeded, "{:?}", talk.exchange.detail);
    assert_eq!((talk.exchange.status.code(), &talk.exchange.items[..]), (250, &[1.0, 1.0][..]));
    for (first, second, decides, kind) in [
        ("550 5.1.1 nobody", "550 5.1.1 here", "550 5.1.1 nobody", FailureKind::Permanent),
        ("550 5.1.1 nobody", "451 4.3.0 later", "451 4.3.0 later", FailureKind::Transient),
        ("452 4.2.2 full", "550 5.1.1 nobody", "452 4.2.2 full", FailureKind::Transient),
    ] {
        let none = [&mail()[..], &rcpts(first, second), &[hear("QUIT"), say("221 bye")]].concat();
        let talk = after_welcome(TWO, &none);
        talk.failed(kind, &format!("RCPT: {decides}"));
        assert_eq!((talk.left, &talk.exchange.items[..]), (0, &[0.0, 2.0][..]));
    }
}

#[test]
fn together_a_refusal_is_told_after_all_replies_were_read() {
    let text = "smtp = { to = \"a@b.example\", pipelining = true }";
    let together = "MAIL FROM:<load@client.example>\r\nRCPT TO:<a@b.example>\r\nDATA\r\n".len();
    for (replies, more, detail) in [
        ("550 5.7.1 no\r\n503 first\r\n503 first\r\n", "", "MAIL: 550 5.7.1 no"),
        ("250 ok\r\n550 5.1.1 nobody\r\n554 none\r\n", "", "RCPT: 550 5.1.1 nobody"),
        ("250 ok\r\n550 5.1.1 nobody\r\n354 go on\r\n", ".", "RCPT: 550 5.1.1 nobody"),
        ("250 ok\r\n250 ok\r\n554 5.3.4 no\r\n", "", "DATA: 554 5.3.4 no"),
    ] {
        let mut script = vec![HearBytes(together), Step::Say(replies.into())];
        if !more.is_empty() {
            script.extend([hear(more), say("554 no valid recipients")]);
        }
        script.extend([hear("QUIT"), say("221 bye")]);
        let talk = talk(text, 1, &[welcome(&["PIPELINING"]), script]);
        talk.failed(FailureKind::Permanent, detail);
        assert_eq!(talk.left, 0, "{replies}");
    }
}

#[test]
fn a_server_that_goes_away_after_its_refusal_has_refused() {
    let text = "smtp = { to = \"a@b.example\", pipelining = true }";
    let together = "MAIL FROM:<load@client.example>\r\nRCPT TO:<a@b.example>\r\nDATA\r\n".len();
    let replies = "250 ok\r\n550 5.1.1 nobody\r\n354 go on\r\n";
    for last in [vec![], vec![Step::Say("nonsense\r\n".into()), Linger]] {
        let script = [vec![HearBytes(together), Step::Say(replies.into()), hear(".")], last];
        let talk = talk(text, 1, &[welcome(&["PIPELINING"]), script.concat()]);
        talk.failed(FailureKind::Permanent, "RCPT: 550 5.1.1 nobody");
        assert!(!talk.exchange.reusable && !talk.ours().contains("QUIT"));
    }
}

#[test]
fn a_server_that_closes_the_session_is_left() {
    for at in [1, 3, 5, 7] {
        let mut script = accepted();
        script.truncate(at);
        script.extend([say("421 4.3.2 shutting down"), Linger]);
        let talk = after_welcome(PLAIN, &script);
        assert_eq!(talk.only_outcome(), Outcome::Failed(FailureKind::Transient));
        assert!(talk.exchange.detail.as_ref().unwrap().ends_with(": 421 4.3.2 shutting down"));
        assert_eq!((talk.exchange.status.code(), talk.exchange.reusable), (421, false));
        assert!(!talk.ours().contains("QUIT"), "nobody is there to take leave of");
    }
}

#[test]
fn a_server_that_goes_away_is_closed_and_where() {
    for (at, detail) in [
        (1, "the peer closed the connection before its reply"),
        (5, "the peer closed the connection before its reply"),
        (7, "the peer closed the connection before its reply"),
    ] {
        let mut script = accepted();
        script.truncate(at);
        let talk = after_welcome(PLAIN, &script);
        talk.failed(FailureKind::Closed, detail);
        assert!(!talk.exchange.reusable);
    }
    let half = [hear("MAIL FROM:<load@client.example>"), Step::Say("250 o".into())];
    let talk = after_welcome(PLAIN, &half);
    talk.failed(FailureKind::Closed, "the peer closed the connection after 5 bytes of its reply");
}

#[test]
fn a_server_that_closes_in_the_midst_of_the_content_has_the_last_word() {
    let text = "smtp = { to = \"a@b.example\", size = \"1MiB\" }";
    let begun = &accepted()[..6];
    let cut = after_welcome(text, &[begun, &[HearBytes(1000)]].concat());
    assert_eq!(
        cut.only_outcome(),
        Outcome::Failed(FailureKind::Reset),
        "{:?}",
        cut.exchange.detail
    );
    let told =
        after_welcome(text, &[begun, &[HearBytes(1000), say("552 5.3.4 too long")]].concat());
    told.failed(FailureKind::Permanent, "while sending: 552 5.3.4 too long");
    assert_eq!((told.exchange.status.code(), told.exchange.reusable), (552, false));
}

#[test]
fn a_server_that_has_heard_enough_is_heard_though_it_reads_no_more() {
    let text = "smtp = { to = \"a@b.example\", size = \"1MiB\" }";
    let begun = &accepted()[..6];
    let enough = [HearBytes(1000), say("552 5.3.4 too long"), Wait(1_000_000_000)];
    let talk = after_welcome(text, &[begun, &enough].concat());
    talk.failed(FailureKind::Permanent, "while sending: 552 5.3.4 too long");
    assert_eq!((talk.exchange.status.code(), talk.exchange.reusable), (552, false));
    assert!(talk.service_ns < 1_000_000_000, "not waited for");
    // A reply that refuses nothing changes nothing: it is read in its turn.
    let early = [HearBytes(1000), say("250 kept already"), HearContent];
    let talk = after_welcome(text, &[begun, &early, &[hear("QUIT"), say("221 bye")]].concat());
    assert_eq!(talk.only_outcome(), Outcome::Succeeded, "{:?}", talk.exchange.detail);
}

#[test]
fn nonsense_is_malformed_and_said_so() {
    let greeting = talk(PLAIN, 1, &[vec![say("SSH-2.0-OpenSSH_9.2"), Linger]]);
    greeting.failed_to_connect(FailureKind::Malformed, "not a reply of SMTP: SSH-2.0-OpenSSH_9.2");
    let two = [hear("MAIL FROM:<load@client.example>"), say("250-a\r\n251 b"), Linger];
    after_welcome(PLAIN, &two)
        .failed(FailureKind::Malformed, "one reply of two codes, 250 and 251");
    let ahead = vec![say("250 and more"), Linger];
    let talk = talk(PLAIN, 1, &[welcome(&[]), ahead]);
    let detail = "14 unexpected bytes came before the first command";
    talk.failed(FailureKind::Malformed, detail);
    let wrong = [&accepted()[..5], &[say("250 what?"), Linger]].concat();
    let talk = after_welcome(PLAIN, &wrong);
    talk.failed(FailureKind::Status, "DATA: 250 what?");
    assert!(!talk.exchange.reusable, "nobody knows what comes next");
}

#[test]
fn a_server_that_has_closed_the_session_before_is_told_as_it_said() {
    let talk = talk(PLAIN, 1, &[welcome(&[]), vec![say("421 4.4.2 idle for too long"), Linger]]);
    talk.failed(FailureKind::Transient, "the first command: 421 4.4.2 idle for too long");
    assert_eq!(talk.exchange.status, 421);
}

#[test]
fn a_reply_without_end_is_too_large() {
    let endless = Step::Say(format!("220 {}", "x".repeat(70_000)));
    let talk = talk(PLAIN, 1, &[vec![endless]]);
    talk.failed_to_connect(FailureKind::TooLarge, "the reply is longer than 65536 bytes");
}

#[test]
fn a_server_may_refuse_before_anything_was_said() {
    let talk = talk(PLAIN, 1, &[vec![say("421 4.7.0 too many connections"), Linger]]);
    talk.failed_to_connect(FailureKind::Transient, "greeting: 421 4.7.0 too many connections");
    assert_eq!(talk.exchange.status, 421);
    let talk = crate::smtp::stand::talk(PLAIN, 1, &[vec![say("554 5.7.1 not you"), Linger]]);
    talk.failed_to_connect(FailureKind::Permanent, "greeting: 554 5.7.1 not you");
    assert_eq!(talk.spans(), [("greeting", 0)]);
}

#[test]
fn a_refusal_can_be_what_is_expected() {
    let text = "smtp = { to = \"a@b.example\" }\nexpect = { status = 450 }";
    let script =
        [&mail()[..], &[hear("RCPT TO:<a@b.example>"), say("450 4.2.0 greylisted")]].concat();
    let quit = [hear("QUIT"), say("221 bye")];
    let talk = after_welcome(text, &[&script[..], &quit].concat());
    assert_eq!((talk.only_outcome(), talk.exchange.status.code()), (Outcome::Succeeded, 450));
    let talk = after_welcome(text, &[&accepted()[..], &quit].concat());
    talk.failed(FailureKind::Status, "status 250, expected 450");
}

#[test]
fn the_code_decides_where_the_enhanced_one_contradicts_it() {
    let at_mail = [
        hear("MAIL FROM:<load@client.example>"),
        say("450 5.1.1 both"),
        hear("QUIT"),
        say("221 bye"),
    ];
    let detail = "MAIL: 450 5.1.1 both, whose two codes contradict each other";
    after_welcome(PLAIN, &at_mail).failed(FailureKind::Transient, detail);
}
