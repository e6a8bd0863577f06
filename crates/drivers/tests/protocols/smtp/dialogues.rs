//! Whole dialogues: what is said, in which order, and how long each phase took.

use record::Outcome;

use crate::smtp::stand::{
    HearBytes, HearContent, PLAIN, Spell, Step, Wait, accepted, hear, say, talk, talk_through,
    unstuffed, welcome,
};

const BYE: [&str; 2] = ["QUIT", "221 bye"];

fn bye() -> Vec<Step> {
    vec![hear(BYE[0]), say(BYE[1])]
}

#[test]
fn every_phase_is_stamped_to_the_nanosecond_and_they_add_up() {
    let script = [
        Wait(11),
        say("220 mail.example"),
        hear("EHLO client.example"),
        Wait(13),
        say("250 mail.example"),
        hear("MAIL FROM:<load@client.example>"),
        Wait(17),
        say("250 ok"),
        hear("RCPT TO:<a@b.example>"),
        Wait(19),
        say("250 ok"),
        hear("RCPT TO:<c@d.example>"),
        Wait(23),
        say("250 ok"),
        hear("DATA"),
        Wait(29),
        say("354 go on"),
        HearContent,
        Wait(31),
        say("250 kept"),
        hear("QUIT"),
        Wait(37),
        say("221 bye"),
    ];
    let text = "smtp = { to = [\"a@b.example\", \"c@d.example\"], size = \"1KiB\" }\n\
                items = { taken = \"recipients.accepted\", not = \"recipients.refused\", bytes = \"size\" }";
    let talk = talk(text, 1, &[script.to_vec()]);
    assert_eq!(talk.only_outcome(), Outcome::Succeeded, "{:?}", talk.exchange.detail);
    let spans = [
        ("greeting", 11),
        ("ehlo", 13),
        ("mail", 17),
        ("rcpt", 19 + 23),
        ("data", 29),
        ("content", 0),
        ("accepted", 31),
        ("quit", 37),
    ];
    assert_eq!(talk.spans(), spans);
    assert_eq!(
        talk.service_ns,
        17 + 19 + 23 + 29 + 31 + 37,
        "phases of a message are its service time"
    );
    assert_eq!((talk.exchange.status.code(), talk.left), (250, 0));
    assert_eq!(talk.exchange.items, [2.0, 0.0, 1024.0]);
    assert_eq!(unstuffed(&talk.contents[0]).len(), 1024);
}

/// A pipe of one byte takes a write for each: the content is handed over as slowly as the server reads.
#[test]
fn sending_the_content_and_waiting_for_its_acceptance_are_two_phases() {
    let mut script = welcome(&[]);
    script.extend(accepted().into_iter().take(6));
    script.extend([Wait(1_000), HearContent, Wait(500), say("250 kept")]);
    let text = "smtp = { to = \"a@b.example\", size = \"4KiB\" }";
    let talk = talk_through(64, text, 1, &[script, bye()]);
    assert_eq!(talk.only_outcome(), Outcome::Succeeded, "{:?}", talk.exchange.detail);
    let span = |name| talk.spans().into_iter().find(|(known, _)| *known == name).unwrap().1;
    assert_eq!((span("content"), span("accepted")), (1_000, 500));
}

#[test]
fn replies_are_understood_wherever_they_are_cut() {
    let spell = |text: &str| Spell(format!("{text}\r\n"));
    let script = vec![
        spell("220-mail.example\r\n220 ESMTP"),
        hear("EHLO client.example"),
        spell("250-mail.example\r\n250-SIZE 1000000\r\n250 8BITMIME"),
        hear("MAIL FROM:<load@client.example> SIZE=1024"),
        spell("250 2.1.0 ok"),
        hear("RCPT TO:<a@b.example>"),
        spell("250-2.1.5 ok\r\n250 2.1.5 indeed"),
        hear("DATA"),
        spell("354 go on"),
        HearContent,
        spell("250 kept"),
    ];
    let talk = talk(PLAIN, 1, &[script, bye()]);
    assert_eq!(talk.only_outcome(), Outcome::Succeeded, "{:?}", talk.exchange.detail);
    assert_eq!(talk.left, 0);
}

#[test]
fn a_kept_connection_is_reset_between_messages_unless_told() {
    let mut script = welcome(&[]);
    script.extend(accepted());
    script.extend([hear("RSET"), Wait(7), say("250 ok")]);
    script.extend(accepted());
    let talk = talk(PLAIN, 2, &[script, bye()]);
    assert_eq!(talk.outcomes, [Outcome::Succeeded; 2], "{:?}", talk.exchange.detail);
    assert_eq!(talk.spans()[..2], [("reset", 7), ("mail", 0)]);
    assert!(!talk.spans().iter().any(|(name, _)| *name == "greeting"), "nothing was opened for it");
    assert_ne!(talk.contents[0], talk.contents[1], "no two messages are alike");

    let without = "smtp = { to = \"a@b.example\", reset = false }";
    let script = [welcome(&[]), accepted(), accepted(), bye()];
    let talk = crate::smtp::stand::talk(without, 2, &script);
    assert_eq!(talk.outcomes, [Outcome::Succeeded; 2], "{:?}", talk.exchange.detail);
}

#[test]
fn quit_is_said_only_where_the_connection_ends() {
    let script = [welcome(&[]), accepted(), vec![hear("RSET"), say("250 ok")], accepted(), bye()];
    let talk = talk(PLAIN, 2, &script);
    assert_eq!(talk.left, 0);
    assert_eq!(talk.ours().matches("QUIT").count(), 1);
    assert!(!talk.exchange.reusable);
}

#[test]
fn a_lost_farewell_leaves_the_message_accepted() {
    for end in [vec![hear("QUIT")], vec![], vec![hear("QUIT"), say("500 what?")]] {
        let talk = talk(PLAIN, 1, &[welcome(&[]), accepted(), end]);
        assert_eq!(talk.only_outcome(), Outcome::Succeeded, "{:?}", talk.exchange.detail);
        assert_eq!(talk.exchange.status, 250);
        assert!(!talk.spans().iter().any(|(name, _)| *name == "quit"));
    }
}

#[test]
fn commands_go_in_one_write_where_the_server_lets_them() {
    let text = "smtp = { to = [\"a@b.example\", \"c@d.example\"], pipelining = true }";
    let together = "MAIL FROM:<load@client.example>\r\nRCPT TO:<a@b.example>\r\nRCPT TO:<c@d.example>\r\nDATA\r\n";
    let script = vec![
        HearBytes(together.len()),
        Wait(5),
        Step::Say("250 ok\r\n250 ok\r\n".into()),
        Wait(6),
        Step::Say("250 ok\r\n354 go on\r\n".into()),
        HearContent,
        say("250 kept"),
    ];
    let talk = talk(text, 1, &[welcome(&["PIPELINING"]), script, bye()]);
    assert_eq!(talk.only_outcome(), Outcome::Succeeded, "{:?}", talk.exchange.detail);
    assert_eq!(talk.contents[0], together.as_bytes());
    let spans = talk.spans();
    assert_eq!(spans[2..5], [("mail", 5), ("rcpt", 6), ("data", 0)], "as the replies came");

    let in_turn = vec![
        hear("MAIL FROM:<load@client.example>"),
        // A second command would be here already.
        Wait(1),
        say("250 ok"),
        hear("RCPT TO:<a@b.example>"),
        say("250 ok"),
        hear("RCPT TO:<c@d.example>"),
        say("250 ok"),
        hear("DATA"),
        say("354 go on"),
        HearContent,
        say("250 kept"),
    ];
    let talk = crate::smtp::stand::talk(text, 1, &[welcome(&[]), in_turn, bye()]);
    assert_eq!(talk.only_outcome(), Outcome::Succeeded, "not offered: {:?}", talk.exchange.detail);
}

#[test]
fn chunks_need_neither_leave_nor_dots() {
    let text = "smtp = { to = \"a@b.example\", chunking = true, size = \"2KiB\" }";
    let bdat = "BDAT 2048 LAST\r\n";
    let script = vec![
        hear("MAIL FROM:<load@client.example>"),
        say("250 ok"),
        hear("RCPT TO:<a@b.example>"),
        say("250 ok"),
        hear(bdat.trim_end()),
        HearBytes(2048),
        say("250 kept"),
    ];
    let talk = talk(text, 1, &[welcome(&["CHUNKING"]), script, bye()]);
    assert_eq!(talk.only_outcome(), Outcome::Succeeded, "{:?}", talk.exchange.detail);
    assert!(talk.contents[0].ends_with(b"\r\n"));
    let holds = |text: &[u8]| talk.contents[0].windows(text.len()).any(|part| part == text);
    assert!(holds(b"\n.") && !holds(b"\n.."), "dots are as they are");
    assert!(!talk.spans().iter().any(|(name, _)| *name == "data"));
    let talk = crate::smtp::stand::talk(text, 1, &[welcome(&[]), accepted(), bye()]);
    assert_eq!(talk.only_outcome(), Outcome::Succeeded, "not offered: {:?}", talk.exchange.detail);
}

#[test]
fn large_messages_are_exact_on_the_wire() {
    for (size, bytes) in
        [("1KiB", 1024), ("10KiB", 10_240), ("100KiB", 102_400), ("1MiB", 1_048_576)]
    {
        let text = format!("smtp = {{ to = \"a@b.example\", size = \"{size}\" }}");
        let talk = talk(&text, 1, &[welcome(&[]), accepted(), bye()]);
        assert_eq!(talk.only_outcome(), Outcome::Succeeded, "{:?}", talk.exchange.detail);
        assert_eq!(unstuffed(&talk.contents[0]).len(), bytes, "{size}");
        let commands = "EHLO client.example\r\nMAIL FROM:<load@client.example>\r\nRCPT TO:<a@b.example>\r\n\
                        DATA\r\nQUIT\r\n";
        let sent = commands.len() + talk.contents[0].len();
        assert_eq!(talk.exchange.bytes_sent, sent as u64, "{size}");
    }
}

#[test]
fn who_we_are_is_proved_and_not_shown() {
    let auth = |mechanism: &str| {
        format!(
            "smtp = {{ to = \"a@b.example\", auth = {{ mechanism = \"{mechanism}\", user = \"tim\", \
             password = \"tanstaaftanstaaf\" }} }}"
        )
    };
    // RFC 4616 section 4.
    let plain = vec![hear("AUTH PLAIN AHRpbQB0YW5zdGFhZnRhbnN0YWFm"), Wait(3), say("235 2.7.0 in")];
    let first =
        talk(&auth("plain"), 1, &[welcome(&["AUTH PLAIN LOGIN"]), plain, accepted(), bye()]);
    assert_eq!(first.only_outcome(), Outcome::Succeeded, "{:?}", first.exchange.detail);
    assert_eq!(first.spans()[2], ("auth", 3));
    let login = vec![
        hear("AUTH LOGIN"),
        say("334 VXNlcm5hbWU6"),
        hear("dGlt"),
        say("334 UGFzc3dvcmQ6"),
        hear("dGFuc3RhYWZ0YW5zdGFhZg=="),
        say("235 2.7.0 in"),
    ];
    let second = talk(&auth("login"), 1, &[welcome(&["AUTH LOGIN"]), login, accepted(), bye()]);
    assert_eq!(second.only_outcome(), Outcome::Succeeded, "{:?}", second.exchange.detail);
    for talk in [first, second] {
        let ours = talk.ours();
        assert!(ours.contains("AUTH "), "{ours}");
        assert!(
            !ours.contains("AHRpbQ") && !ours.contains("dGlt") && !ours.contains("dGFu"),
            "{ours}"
        );
    }
}

#[test]
fn a_server_of_the_old_kind_is_asked_in_the_old_way() {
    let script = vec![
        say("220 mail.example"),
        hear("EHLO client.example"),
        say("502 what?"),
        hear("HELO client.example"),
        say("250 mail.example"),
    ];
    let text = "smtp = { to = \"a@b.example\", pipelining = true, chunking = true }";
    let talk = talk(text, 1, &[script, accepted(), bye()]);
    assert_eq!(talk.only_outcome(), Outcome::Succeeded, "{:?}", talk.exchange.detail);
}

#[test]
fn messages_can_be_given_and_are_taken_in_turn() {
    let text =
        "smtp = { to = \"a@b.example\", message = [\"A: 1\\n\\n.one\\n\", \"A: 2\\n\\ntwo\"] }";
    let script = [welcome(&[]), accepted(), vec![hear("RSET"), say("250 ok")], accepted(), bye()];
    let talk = talk(text, 2, &script);
    assert_eq!(talk.outcomes, [Outcome::Succeeded; 2], "{:?}", talk.exchange.detail);
    let [first, second] =
        [0, 1].map(|place| String::from_utf8(unstuffed(&talk.contents[place])).unwrap());
    assert!(first.starts_with("X-Proofload-Nonce: 00000001"), "{first}");
    assert!(first.ends_with("\r\nA: 1\r\n\r\n.one\r\n"), "{first}");
    assert!(second.ends_with("\r\nA: 2\r\n\r\ntwo\r\n"), "{second}");
}
