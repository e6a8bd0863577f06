# What the reader of a page has before it: $PAGE says which.
export RUNNER_TEMP=$PWD/temporary GITHUB_STEP_SUMMARY=$PWD/step.md PYTHONPATH=$ROOT/packaging/python
mkdir "$RUNNER_TEMP"

# An experiment of one's own, under the names that pages use for it.
for name in home shop experiment; do
    cat >"$name.toml" <<'.'
title    = "Home"
criteria = ["failed == 0"]

[target]
url = "http://127.0.0.1:8080"

[load]
rate     = "50/s"
duration = "1s"
warm_up  = "0s"

[[operation]]
name = "home"
http = { path = "/" }
.
done

# A service of one's own, until the page starts one there.
proofload serve truth --listen 127.0.0.1:8080 >/dev/null

case $PAGE in
    docs/guide/audit.md)
        cp "$samples/k6-export.json" summary.json
        cp "$samples/locust_stats.csv" stats.csv
        cp "$samples/fortio.json" report.json
        ;;
    docs/guide/comparing.md)
        for run in old new old-1 new-1 old-2 new-2; do proofload run home.toml --out "runs/$run" >/dev/null; done
        ;;
    # What the reader saves, as the page says.
    docs/guide/first-run.md) cp home.toml first.toml ;;
    docs/guide/grpc.md)
        PORT=50051 serving cart listening "$ROOT/.venv/bin/python" \
            crates/proofload/tests/e2e/journeys/applications/cart.py >/dev/null
        ;;
    docs/guide/import.md)
        cat >visit.har <<'.'
{"log": {"version": "1.2", "creator": {"name": "browser", "version": "1"}, "entries": [{
  "startedDateTime": "2026-11-26T10:00:00.000Z", "time": 1,
  "request": {"method": "GET", "url": "http://shop.example/", "httpVersion": "HTTP/1.1", "headers": [], "queryString": [],
              "cookies": [], "headersSize": -1, "bodySize": -1},
  "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "headers": [], "cookies": [],
               "content": {"size": 2, "mimeType": "text/html"}, "redirectURL": "", "headersSize": -1, "bodySize": 2},
  "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0}}]}}
.
        cat >openapi.json <<'.'
{"openapi": "3.0.3", "info": {"title": "Shop", "version": "1"}, "servers": [{"url": "http://127.0.0.1:8080"}],
 "paths": {"/items": {"get": {"responses": {"200": {"description": "all"}}}}}}
.
        for second in 1 2 3; do
            echo "192.0.2.$second - - [26/Nov/2026:10:00:0$second +0000] \"GET /item HTTP/1.1\" 200 512 \"-\" \"-\""
        done >access.log
        cat >script.js <<'.'
import http from "k6/http";
export const options = { vus: 2, duration: "10s" };
export default function () { http.get("http://127.0.0.1:8080/"); }
.
        proofload run home.toml --samples --out runs/today >/dev/null
        ;;
    docs/guide/packages.md) proofload run home.toml --out runs/20261121T101500Z-home-page >/dev/null ;;
    docs/guide/resume.md)
        run=runs/20261121T101500Z-front
        env proofload run home.toml --set load.duration=5s --quiet --out "$run" >/dev/null &
        until grep --quiet --no-messages '"phase":"measure"' "$run/trials/001/events.jsonl"; do sleep 0.1; done
        kill -INT $!
        builtin wait $! || true
        ;;
    docs/reference/summary.md) proofload run home.toml --json summary.json >/dev/null ;;
    systems/edge/proxy.md)
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
            -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem 2>/dev/null
        ;;
esac
