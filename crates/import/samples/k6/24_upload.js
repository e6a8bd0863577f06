import http from 'k6/http';
import { check } from 'k6';

const picture = open('./picture.txt', 'b');

export const options = { vus: 1, iterations: 5 };

export default function () {
  const res = http.post('https://files.example/upload', {
    title: 'a picture',
    file: http.file(picture, 'picture.txt', 'text/plain'),
  });
  check(res, { stored: (r) => r.status === 201 });
}
