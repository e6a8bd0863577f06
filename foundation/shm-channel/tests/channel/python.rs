//! Python reads and writes the layout as we do: the same vectors, and exchanges with our producer.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use shm_channel::{AnswerBuffer, CRC32, Checksum, Reply, Settings};

use super::{Running, echo, small};

/// CRC-32 by its definition, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    !bytes.iter().fold(u32::MAX, byte)
}

/// The rest of the request, as many times as its first byte says; never is a refusal.
fn repeat(request: &[u8], buffer: &mut AnswerBuffer<'_>) -> Reply {
    let answer = request[1..].repeat(usize::from(request[0]));
    if answer.is_empty() {
        return Reply::Refused(7);
    }
    buffer.set_checksum(Checksum { kind: CRC32, value: u64::from(crc32(&answer)) });
    buffer.put(&answer)
}

#[test]
fn python_has_the_same_vectors_and_is_answered() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    let settings =
        Settings { slots: 8, request_room: 8192, answer_room: 4096, ..Settings::default() };
    let running = Running::start("python", settings, repeat);
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = Command::new("python3")
        .arg("-B")
        .arg(here.join("python/check.py"))
        .arg(here.join("vectors.json"))
        .arg(running.folder.socket())
        .output()
        .expect("python3 is on PATH: install it (apt-get install python3)");
    let (said, failed) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{said}{failed}");
    assert_eq!(said, "vectors 20\nexchanges 300\n");
    assert_eq!((running.counts().admitted, running.counts().damaged), (1, 0));
}

/// Who opened the socket's file for all is still asked as whom one comes. Only root can come as
/// somebody else; where the tests run as another user, it is refused by the file's mode already.
#[test]
fn another_user_is_refused() {
    let running = Running::start("user", small(), echo);
    let connect = "import socket, sys\n\
                   client = socket.socket(socket.AF_UNIX)\n\
                   client.connect(sys.argv[1])\n\
                   try: client.sendall(b'SHMCHAN\\0\\1' + bytes(55))\n\
                   except BrokenPipeError: pass\n\
                   print(client.recv(64)[12])";
    let mut python = Command::new("python3");
    python.args(["-c", connect]).arg(running.folder.socket()).current_dir("/");
    let outcome = |python: &mut Command| {
        let run =
            python.output().expect("python3 is on PATH: install it (apt-get install python3)");
        String::from_utf8(run.stdout).unwrap()
    };
    assert_eq!(outcome(&mut python), "0\n", "our own user is let in");
    if rustix::process::geteuid().is_root() {
        let everybody = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(running.folder.socket(), everybody).unwrap();
        assert_eq!(outcome(python.uid(65_534)), "3\n");
        assert_eq!(running.counts().refused, 1);
    }
}
