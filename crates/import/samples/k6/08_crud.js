import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 1, iterations: 10 };

const BASE = 'https://api.example/v1';
const headers = { 'Content-Type': 'application/json', Accept: 'application/json' };

export default function () {
  const made = http.post(BASE + '/notes', JSON.stringify({ title: 'first', tags: ['a', 'b'] }), { headers });
  check(made, { created: (r) => r.status === 201 });
  const id = made.json('id');
  const url = `${BASE}/notes/${id}`;
  check(http.get(url), { found: (r) => r.status === 200 });
  http.put(url, JSON.stringify({ title: 'second' }), { headers });
  http.patch(url, JSON.stringify({ done: true }), { headers });
  const gone = http.del(url);
  check(gone, { gone: (r) => r.status === 204 || r.status === 200 });
}
