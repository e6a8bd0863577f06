import http from 'k6/http';

export const options = {
  scenarios: {
    breakpoint: {
      executor: 'ramping-arrival-rate',
      startRate: 10,
      timeUnit: '1s',
      preAllocatedVUs: 200,
      stages: [
        { target: 100, duration: '2m' },
        { target: 100, duration: '1m' },
        { target: 0, duration: '30s' },
      ],
    },
  },
};

export default function () {
  http.get('https://shop.example/search?q=tea');
}
