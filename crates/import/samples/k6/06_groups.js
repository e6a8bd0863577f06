import http from 'k6/http';
import { group, check, sleep } from 'k6';

export const options = {
  vus: 3,
  iterations: 60,
  thresholds: { 'http_req_duration{group:::front}': ['avg<300'] },
};

export default function () {
  group('front', () => {
    const res = http.get('https://shop.example/');
    check(res, { ok: (r) => r.status === 200 });
    sleep(2);
  });
  group('basket', function () {
    http.post('https://shop.example/basket', { item: '17', count: '2' });
    sleep(0.5);
  });
}
