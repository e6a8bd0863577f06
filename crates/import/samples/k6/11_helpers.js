import http from 'k6/http';
import { check, sleep } from 'k6';

export let options = { vus: 10, duration: '1m' };

function url(path) {
  return 'https://shop.example' + path;
}

const expectOk = (res) => check(res, { 'is ok': (r) => r.status >= 200 && r.status < 300 });

function visit(path, pause) {
  const res = http.get(url(path));
  expectOk(res);
  sleep(pause);
  return res;
}

export default function () {
  visit('/', 1);
  const list = visit('/list', 2);
  http.get(url(`/list/${list.json().items[0].slug}`));
}
