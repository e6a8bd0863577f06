import http from 'k6/http';
import { check, sleep } from 'k6';
import { textSummary } from 'https://jslib.k6.io/k6-summary/0.1.0/index.js';

export const options = { vus: 10, duration: '1m', thresholds: { http_req_failed: ['rate<0.02'], http_reqs: ['rate>5'] } };

export function setup() {
  const res = http.post('https://api.example/token', { key: __ENV.KEY });
  return { token: res.json('access_token') };
}

export default function (data) {
  const res = http.get('https://api.example/data', { headers: { Authorization: `Bearer ${data.token}` } });
  check(res, { ok: (r) => r.status === 200 });
  sleep(1);
}

export function handleSummary(data) {
  return { stdout: textSummary(data, { indent: ' ' }) };
}
