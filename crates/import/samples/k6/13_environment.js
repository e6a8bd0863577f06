import http from 'k6/http';
import { check, sleep } from 'k6';

export const options = {
  vus: parseInt(__ENV.VUS || '15'),
  duration: __ENV.DURATION || '2m',
};

export default function () {
  const res = http.get(`${__ENV.BASE_URL}/api/status`, {
    headers: { 'X-Api-Key': __ENV.API_KEY },
  });
  check(res, { up: (r) => r.json('status') === 'up' });
  sleep(3);
}
