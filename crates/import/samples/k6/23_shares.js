import http from 'k6/http';
import { sleep } from 'k6';

export const options = { vus: 30, duration: '5m' };

export default function () {
  http.get('https://shop.example/');
  sleep(2);
  if (Math.random() < 0.3) {
    http.get('https://shop.example/sale');
  }
  sleep(1);
}
