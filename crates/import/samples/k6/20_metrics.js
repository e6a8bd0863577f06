import http from 'k6/http';
import { check, sleep } from 'k6';
import { Rate, Trend } from 'k6/metrics';

const errors = new Rate('errors');
const waiting = new Trend('waiting_time');

export const options = { vus: 10, duration: '1m', thresholds: { errors: ['rate<0.1'], http_req_waiting: ['med<100'] } };

export default function () {
  const res = http.get('https://shop.example/');
  const ok = check(res, { 'is 200': (r) => r.status === 200 });
  errors.add(!ok);
  waiting.add(res.timings.waiting);
  sleep(1);
}
