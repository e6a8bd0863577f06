import http from 'k6/http';
import { sleep } from 'k6';

export const options = { stages: [{ duration: '30s', target: 10 }, { duration: '1m', target: 10 }] };

const paths = ['/', '/about', '/contact'];

export default function () {
  paths.forEach((path) => {
    http.get('https://shop.example' + path);
    sleep(0.2);
  });
  for (let page = 1; page <= 3; page++) {
    http.get(`https://shop.example/list?page=${page}`);
  }
}
