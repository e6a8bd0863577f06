import http from 'k6/http';
import { check, sleep } from 'k6';

export const options = {
  stages: [
    { duration: '1m', target: 20 },
    { duration: '3m', target: 20 },
    { duration: '30s', target: 0 },
  ],
  thresholds: {
    http_req_duration: ['p(95)<500', 'p(99)<1500'],
    http_req_failed: ['rate<0.01'],
    checks: ['rate>0.95'],
  },
};

const BASE = __ENV.BASE_URL || 'https://shop.example';

export default function () {
  const res = http.get(`${BASE}/products?page=2`);
  check(res, {
    'status is 200': (r) => r.status === 200,
    'has a list': (r) => r.body.includes('products'),
  });
  sleep(Math.random() * 2 + 1);
}
