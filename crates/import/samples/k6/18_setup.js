import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 2, duration: '15s' };

export function setup() {
  return { base: 'https://shop.example', pages: ['home', 'news'] };
}

export default function (data) {
  for (const page of data.pages) {
    const res = http.get(`${data.base}/${page}`);
    check(res, { ok: (r) => r.status === 200 });
  }
}
