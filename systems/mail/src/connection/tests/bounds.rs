//! Limits of time and memory, in paused time: slow clients harm nobody.

use super::*;
use crate::faults::Faults;

fn seconds(since: Instant) -> u64 {
    since.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_command_must_be_whole_in_time_however_it_trickles() {
    let shared = Arc::new(smtp(Settings::default()));
    let (mut client, task) = greeted(&shared).await;
    let start = Instant::now();
    // One byte a second of a line that would take 100 s.
    for byte in b"NOOP".iter().chain(&[b' '; 56]) {
        client.stream.write_all(&[*byte]).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let said = client.rest().await;
    assert_eq!(said, "421 4.4.2 mail.example Command timeout, closing connection\r\n");
    assert_eq!(seconds(start), 60);
    drop(client);
    task.await.unwrap();
    assert_eq!(shared.counts.timeouts.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_command_has_its_time_anew() {
    let shared = Arc::new(smtp(Settings::default()));
    let (mut client, _task) = greeted(&shared).await;
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_secs(59)).await;
        client.holds(&[("NOOP", "250")]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn command_timeout_covers_the_data_phase() {
    let shared = Arc::new(smtp(Settings::default()));
    let (mut client, _task) = greeted(&shared).await;
    client.holds(&BEGIN).await;
    let start = Instant::now();
    let said = client.reply().await;
    assert_eq!(said, "421 4.4.2 mail.example Data timeout, closing connection\r\n");
    assert_eq!(seconds(start), 60);
}

/// Chunks may come together with the commands of the next message (RFC 3030, 4.2), so every read may end within
/// content.
#[tokio::test(start_paused = true)]
async fn each_message_has_its_time_anew_however_they_are_joined() {
    let shared = Arc::new(smtp(Settings::default()));
    let (mut client, _task) = greeted(&shared).await;
    let begin = "MAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nBDAT 2 LAST\r\na";
    client.stream.write_all(format!("EHLO c\r\n{begin}").as_bytes()).await.unwrap();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(10)).await;
        client.stream.write_all(format!("b{begin}").as_bytes()).await.unwrap();
    }
    client.stream.write_all(b"bQUIT\r\n").await.unwrap();
    let said = client.rest().await;
    assert!(said.ends_with("221 2.0.0 mail.example closing connection\r\n"), "{said}");
    assert_eq!(shared.store.contents(), vec![b"ab"; 21]);
}

#[tokio::test(start_paused = true)]
async fn a_message_must_end_in_time_however_it_trickles() {
    for begin in ["DATA\r\n", "BDAT 1000000\r\n"] {
        let shared = Arc::new(smtp(Settings::default()));
        let (mut client, task) = greeted(&shared).await;
        client.holds(&BEGIN[..3]).await;
        client.stream.write_all(begin.as_bytes()).await.unwrap();
        if begin == "DATA\r\n" {
            assert!(client.reply().await.starts_with("354"));
        }
        let start = Instant::now();
        let (mut read, mut write) = tokio::io::split(client.stream);
        let trickle = tokio::spawn(async move {
            while write.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        let mut said = String::new();
        read.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "421 4.4.2 mail.example Data timeout, closing connection\r\n");
        assert_eq!(seconds(start), 120);
        task.await.unwrap();
        drop(read);
        trickle.await.unwrap();
        assert_eq!((shared.counts.aborted.get(), shared.store.contents().len()), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn each_message_has_its_time_anew_though_commands_come_with_the_content_before() {
    let shared = Arc::new(smtp(Settings::default()));
    let (mut client, _task) = greeted(&shared).await;
    client.holds(&BEGIN).await;
    // RFC 2920, 3.1: the content may be the first of a group of commands.
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_secs(50)).await;
        let group = "x\r\n.\r\nMAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nDATA\r\n";
        assert!(client.say(group).await.starts_with("250"));
        for code in ["250", "250", "354"] {
            assert!(client.reply().await.starts_with(code), "{code}");
        }
    }
    assert_eq!(shared.store.contents().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_in_time_however_busy() {
    let shared = Arc::new(smtp(Settings::default()));
    let (mut client, _task) = greeted(&shared).await;
    let start = Instant::now();
    let mut said = String::new();
    while !said.starts_with("421") {
        tokio::time::sleep(Duration::from_secs(7)).await;
        said = client.say("NOOP\r\n").await;
    }
    assert_eq!(said, "421 4.4.2 mail.example Connection timeout, closing connection\r\n");
    assert!((294..=301).contains(&seconds(start)), "{}", seconds(start));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_is_left_and_what_waits_for_it_is_bounded() {
    let shared = Arc::new(smtp(Settings::default()));
    let (mut client, task) = connect(&shared, 1_024);
    let start = Instant::now();
    let mut sent = 0_usize;
    while client.stream.write_all(&b"NOOP\r\n".repeat(100)).await.is_ok() {
        sent += 600;
    }
    task.await.unwrap();
    // It could send a full input buffer, a backlog of replies, and the bytes in the pipe, and no more.
    assert!(sent < 16_384, "{sent} bytes were taken");
    assert_eq!((seconds(start), shared.counts.timeouts.get()), (30, 1));
    assert_eq!(shared.counts.buffered.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn buffers_grow_while_content_flows_and_are_given_back() {
    let shared = Arc::new(smtp(Settings::default()));
    let (mut client, task) = greeted(&shared).await;
    client.holds(&BEGIN).await;
    let idle = shared.counts.buffered.get();
    assert!(idle <= 16 << 10, "{idle} bytes of an idle connection");
    let line = format!("{}\r\n", "x".repeat(998));
    client.stream.write_all(line.repeat(200).as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let busy = shared.counts.buffered.get();
    assert!(busy > idle && busy <= 80 << 10, "{busy} bytes of a busy connection");
    client.holds(&[(".", "250"), ("NOOP", "250")]).await;
    assert_eq!(shared.counts.buffered.get(), idle);
    client.holds(&[("QUIT", "221")]).await;
    task.await.unwrap();
    assert_eq!(shared.counts.buffered.get(), 0);
    assert_eq!(shared.store.contents(), [line.repeat(200).into_bytes()]);
}

#[tokio::test(start_paused = true)]
async fn memory_is_shared_and_bounded() {
    // Memory for one connection with its small buffer, and no more.
    let settings = Settings { max_memory: 8 << 10, ..Settings::default() };
    let shared = Arc::new(smtp(settings));
    let (mut client, task) = greeted(&shared).await;
    let (mut second, _task) = connect(&shared, 1_024);
    assert_eq!(second.rest().await, "421 4.3.2 mail.example Too busy, closing connection\r\n");
    assert_eq!(shared.counts.turned_away.get(), 1);
    // Content needs no more memory; it is only slower.
    client.holds(&[("EHLO c", "250"), ("MAIL FROM:<a@b>", "250")]).await;
    client.holds(&BEGIN[2..]).await;
    let line = format!("{}\r\n", "x".repeat(998));
    client.holds(&[(&format!("{}.", line.repeat(50)), "250"), ("MAIL FROM:<a@b>", "250")]).await;
    // Addresses need more: a client with many recipients gets an error.
    let many = "RCPT TO:<someone@somewhere.example>\r\n".repeat(50);
    client.stream.write_all(many.as_bytes()).await.unwrap();
    let said = client.rest().await;
    assert!(
        said.ends_with("421 4.3.1 mail.example Out of memory, closing connection\r\n"),
        "{said}"
    );
    drop(client);
    task.await.unwrap();
    assert_eq!(shared.counts.buffered.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_promise_is_made_after_it_is_kept() {
    let shared = Arc::new(smtp(Settings::default()));
    let permits = Arc::clone(&shared.store.permits);
    permits.forget_permits(usize::MAX);
    let (mut client, _task) = greeted(&shared).await;
    client.holds(&BEGIN).await;
    client.stream.write_all(b"x\r\n.\r\n").await.unwrap();
    let early = tokio::time::timeout(Duration::from_secs(50), client.reply()).await;
    assert!(early.is_err() && shared.store.contents().is_empty());
    permits.add_permits(1);
    assert!(client.reply().await.starts_with("250 2.0.0 Message accepted for delivery: 1"));
    assert_eq!(shared.store.contents(), [b"x\r\n"]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_off_leaves_nothing() {
    for content in ["", "x\r\n", "x\r\n.\r"] {
        let shared = Arc::new(smtp(Settings::default()));
        let (mut client, task) = greeted(&shared).await;
        client.holds(&BEGIN).await;
        client.stream.write_all(content.as_bytes()).await.unwrap();
        drop(client);
        task.await.unwrap();
        assert_eq!((shared.counts.aborted.get(), shared.store.contents().len()), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_a_message_end_and_says_goodbye() {
    let shared = Arc::new(smtp(Settings::default()));
    let (near, far) = tokio::io::duplex(65_536);
    let (idle_near, idle_far) = tokio::io::duplex(65_536);
    let (stopper, stop) = Stop::pair();
    tokio::spawn(run_connection(far, peer(), Arc::clone(&shared), stop.clone()));
    tokio::spawn(run_connection(idle_far, peer(), Arc::clone(&shared), stop));
    let (mut client, mut idle) = (Client::new(near), Client::new(idle_near));
    assert!(client.reply().await.starts_with("220") && idle.reply().await.starts_with("220"));
    client.holds(&BEGIN).await;
    stopper.stop();
    let goodbye = "421 4.3.2 mail.example Shutting down, closing connection\r\n";
    assert_eq!(idle.rest().await, goodbye);
    client.holds(&[("x\r\n.", "250")]).await;
    assert_eq!(client.rest().await, goodbye);
    assert_eq!(shared.store.contents().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn delays_are_as_long_as_they_are_set() {
    let second = 1_000_000_000;
    let faults = Faults {
        greeting_delay_ns: 70 * second,
        delay_rcpt_ns: 90 * second,
        delay_accept_ns: 130 * second,
        ..Faults::default()
    };
    let shared = Arc::new(smtp(Settings { faults, ..Settings::default() }));
    let (mut client, _task) = connect(&shared, 1_024);
    let start = Instant::now();
    assert!(client.reply().await.starts_with("220"));
    assert_eq!(seconds(start), 70);
    // Time-outs limit the client's time, not the server's.
    client.holds(&BEGIN[..2]).await;
    client.holds(&BEGIN[2..]).await;
    assert_eq!(seconds(start), 160);
    client.holds(&[("x\r\n.", "250")]).await;
    assert_eq!(seconds(start), 290);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_message_ends_the_connection_without_a_word() {
    let faults = Faults { drop_in_data: 1.0, ..Faults::default() };
    let shared = Arc::new(smtp(Settings { faults, ..Settings::default() }));
    let (mut client, task) = greeted(&shared).await;
    client.holds(&BEGIN).await;
    client.stream.write_all(b"x\r\n").await.unwrap();
    assert_eq!(client.rest().await, "");
    task.await.unwrap();
    assert_eq!(shared.counts.aborted.get(), 1);
}
