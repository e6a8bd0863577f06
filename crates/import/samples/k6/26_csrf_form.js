import http from 'k6/http';
import { check, sleep } from 'k6';

export const options = { vus: 2, duration: '1m', maxRedirects: 4, insecureSkipTLSVerify: true };

export default function () {
  const front = http.get('https://bank.example/login');
  sleep(2);
  const sent = http.post(
    'https://bank.example/login',
    { user: 'ada', password: 'very-s3cret', next: '/' },
    { headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Csrf': front.headers['X-Csrf-Token'] } },
  );
  check(sent, { 'not refused': (r) => r.status < 400, greeted: (r) => r.body.includes('Hello') });
}
