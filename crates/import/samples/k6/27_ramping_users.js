import http from 'k6/http';
import { sleep } from 'k6';

export const options = {
  scenarios: {
    day: {
      executor: 'ramping-vus',
      startVUs: 5,
      stages: [
        { duration: '2m', target: 50 },
        { duration: '5m', target: 50 },
        { duration: '1m', target: 0 },
      ],
      gracefulRampDown: '30s',
    },
  },
};

export default function () {
  const host = 'https://news.example';
  http.get(host);
  sleep(4);
  http.get(`${host}/sport`);
  sleep(6);
}
