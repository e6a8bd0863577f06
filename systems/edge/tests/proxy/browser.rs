//! A browser before the proxy, and the origin behind it: a page and what it asks for.

use std::process::Command;

use serde_json::{Value, json};
use serving::options::Options;

use crate::fixture::TestProxy;
use crate::peers::Certificate;

/// Says what it was loaded over, where its second part came from, and what that is.
const PAGE: &str = "<!DOCTYPE html><html><body><p id=\"seen\">nothing</p><script>
fetch('/part').then(async answer => {
  const part = await answer.text();
  const [page] = performance.getEntriesByType('navigation');
  const seen = [page.nextHopProtocol, answer.headers.get('x-cache'), part];
  document.getElementById('seen').textContent = seen.join(' ');
});
</script></body></html>";

fn recipes() -> Value {
    let recipe = |route: &str, body: &str| {
        let headers = json!({"cache-control": "public, max-age=60"});
        let stages = json!([{"at": 0, "status": 200, "latency": 0}]);
        json!({"route": route, "body": body, "headers": headers, "stages": stages})
    };
    json!([recipe("/page", PAGE), recipe("/part", "of it")])
}

/// What a browser that was never here before makes of the page.
fn seen(url: &str, name: &str) -> String {
    let profile = std::env::temp_dir().join(format!("edge-browser-{name}-{}", std::process::id()));
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--ignore-certificate-errors"])
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("{url}/page"))
        .output()
        .expect("chromium starts (Debian: chromium)");
    let _ = std::fs::remove_dir_all(&profile);
    let dom = String::from_utf8(output.stdout).unwrap();
    let seen = dom.split_once("<p id=\"seen\">").and_then(|(_, rest)| rest.split_once("</p>"));
    let (seen, _) =
        seen.unwrap_or_else(|| panic!("{dom}\n{}", String::from_utf8_lossy(&output.stderr)));
    seen.to_owned()
}

#[test]
fn chromium_loads_a_page_and_its_parts_over_http_1_1_and_over_http_2() {
    let options = Options::default().with("recipe", recipes().to_string());
    let origin = TestProxy::serve(&edge::origin::SYSTEM, options);
    let clear = TestProxy::before(origin.address);
    let url = format!("http://{}", clear.address);
    assert_eq!(seen(&url, "first"), "http/1.1 miss of it");
    assert_eq!(seen(&url, "second"), "http/1.1 hit of it");
    let certificate = Certificate::new("proxy-browser");
    let covered = TestProxy::with(origin.address, &certificate.settings());
    let url = format!("https://{}", covered.address);
    assert_eq!(seen(&url, "third"), "h2 miss of it");
    assert_eq!(seen(&url, "fourth"), "h2 hit of it");
    assert!(clear.figure("proxy_answers_total{cache=\"hit\"}") >= 2);
}
