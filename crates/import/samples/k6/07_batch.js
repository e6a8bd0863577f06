import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 2, duration: '20s' };

export default function () {
  const answers = http.batch([
    ['GET', 'https://shop.example/style.css', null, { tags: { name: 'style' } }],
    ['GET', 'https://shop.example/app.js'],
    { method: 'POST', url: 'https://shop.example/beat', body: { page: 'home' } },
  ]);
  check(answers[0], { 'has a style': (r) => r.status === 200 });
}
