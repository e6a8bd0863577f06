//! Clients of others' over HTTP/2 and TLS, and the certificate that they are to know: curl and h2load.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A certificate of this host that nobody has signed, in files that are gone with the test.
pub struct Certificate {
    folder: PathBuf,
    pub cert: String,
    pub key: String,
}

impl Certificate {
    /// One whose name no other test gives.
    pub fn new(name: &str) -> Self {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let folder = std::env::temp_dir().join(format!("edge-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: String| {
            let file = folder.join(name);
            fs::write(&file, text).unwrap();
            file.display().to_string()
        };
        let cert = write("cert.pem", made.cert.pem());
        let key = write("key.pem", made.signing_key.serialize_pem());
        Self { folder, cert, key }
    }

    /// What a system is told.
    pub fn settings(&self) -> [(&str, &str); 2] {
        [("cert", &self.cert), ("key", &self.key)]
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What curl writes.
pub fn curl(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("curl").arg("-sS").args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "curl {arguments:?}: {told}");
    output.stdout
}

/// Asks 1,000 times over HTTP/2, as five clients with ten streams each; none may fail.
pub fn h2load(url: &str) {
    let output =
        Command::new("h2load").args(["-n", "1000", "-c", "5", "-m", "10", url]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "requests: 1000 total, 1000 started, 1000 done, 1000 succeeded, 0 failed, 0 errored, 0 timeout",
        "status codes: 1000 2xx, 0 3xx, 0 4xx, 0 5xx",
    ] {
        assert!(text.lines().any(|told| told == line), "{line} is not in {text}");
    }
}
