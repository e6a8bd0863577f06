import http from 'k6/http';
import { sleep } from 'k6';
import { randomIntBetween, randomString, uuidv4 } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';

export const options = { vus: 20, duration: '1m' };

export default function () {
  const id = randomIntBetween(1, 500);
  http.get(`https://shop.example/items/${id}`);
  http.post('https://shop.example/users', JSON.stringify({ name: `user-${randomString(8)}`, key: uuidv4(), age: randomIntBetween(18, 80) }), {
    headers: { 'Content-Type': 'application/json', 'X-Request-Id': uuidv4() },
  });
  sleep(randomIntBetween(1, 5));
}
