import http from 'k6/http';

export const options = {
  scenarios: {
    steady: {
      executor: 'constant-arrival-rate',
      rate: 50,
      timeUnit: '1s',
      duration: '2m',
      preAllocatedVUs: 20,
      maxVUs: 100,
    },
  },
  thresholds: { 'http_req_duration{scenario:steady}': ['p(99)<800'], dropped_iterations: ['count<1'] },
};

export default function () {
  http.get('http://127.0.0.1:3000/health');
}
