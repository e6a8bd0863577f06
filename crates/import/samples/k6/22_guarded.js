import http from 'k6/http';
import { check, fail, sleep } from 'k6';

export const options = { vus: 4, duration: '1m', thresholds: { checks: ['rate>0.9'] } };

export default function () {
  const login = http.post('https://api.example/session', JSON.stringify({ user: 'ada', pin: '0000' }), {
    headers: { 'Content-Type': 'application/json' },
  });
  if (!check(login, { 'logged in': (r) => r.status === 201 })) {
    fail('no session');
  }
  if (login.status !== 201) {
    console.error('failed');
    return;
  }
  const auth = { headers: { Authorization: 'Bearer ' + login.json().access_token } };
  const orders = http.get('https://api.example/orders', auth);
  if (orders.status === 200) {
    http.get(`https://api.example/orders/${orders.json('0.id')}`, auth);
  }
  sleep(1);
}
