import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 5, duration: '1m', thresholds: { checks: ['rate==1'] } };

export default function () {
  const payload = JSON.stringify({ username: 'ada', password: 's3cret-word' });
  const params = { headers: { 'Content-Type': 'application/json' } };
  const login = http.post('https://api.example/login', payload, params);
  check(login, { 'logged in': (r) => r.status === 200 && r.json('token') !== undefined });

  const token = login.json('token');
  const me = http.get('https://api.example/me', {
    headers: { Authorization: `Bearer ${token}` },
  });
  check(me, { 'is ada': (r) => r.json().user.name === 'ada' });
}
