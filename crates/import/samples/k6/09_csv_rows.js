import http from 'k6/http';
import { SharedArray } from 'k6/data';
import papaparse from 'https://jslib.k6.io/papaparse/5.1.1/index.js';

const accounts = new SharedArray('accounts', function () {
  return papaparse.parse(open('./accounts.csv'), { header: true }).data;
});

export const options = { vus: 4, duration: '30s' };

export default function () {
  const account = accounts[Math.floor(Math.random() * accounts.length)];
  http.post('https://shop.example/session', { user: account.user, password: account.password });
}
