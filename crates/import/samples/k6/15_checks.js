import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 1, duration: '10s', thresholds: { checks: ['rate>0.99'] } };

export default function () {
  const res = http.get('https://api.example/orders');
  check(res, {
    'status was 200': (r) => r.status == 200,
    'is json': (r) => r.headers['Content-Type'].includes('application/json'),
    'has orders': (r) => r.json().orders.length > 0,
    'first is open': (r) => r.json('orders.0.state') === 'open',
    'three of them': (r) => r.json().orders.length === 3,
    'names the shop': (r) => r.body.indexOf('shop') !== -1,
    'ends well': (r) => /"end":\s*true/.test(r.body),
    'is not empty': (r) => r.body.length > 0,
    'is fast': (r) => r.timings.duration < 400,
  });
}
