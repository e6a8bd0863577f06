import http from 'k6/http';

export const options = {
  vus: 8,
  duration: '45s',
  thresholds: {
    'http_req_duration{name:login}': ['p(95)<300'],
    'http_req_duration{name:report}': [{ threshold: 'max<4000', abortOnFail: true }],
    http_reqs: ['count>100'],
  },
};

export default function () {
  http.get('https://shop.example/login', { tags: { name: 'login' } });
  http.get('https://shop.example/reports/2024/summary', { tags: { name: 'report', kind: 'slow' }, timeout: '10s' });
}
