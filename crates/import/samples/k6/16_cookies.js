import http from 'k6/http';
import { check, sleep } from 'k6';

export const options = { vus: 6, duration: '1m' };

export default function () {
  http.get('https://forum.example/');
  const res = http.post('https://forum.example/login', { login: 'ada', password: __ENV.PASSWORD });
  check(res, { 'is in': (r) => r.cookies.session[0].value !== '' });
  sleep(1);
  http.get('https://forum.example/inbox', { cookies: { theme: 'dark' }, redirects: 0 });
}
