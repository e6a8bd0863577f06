import http from 'k6/http';
import exec from 'k6/execution';
import { check } from 'k6';

export const options = {
  scenarios: { once: { executor: 'per-vu-iterations', vus: 10, iterations: 20, maxDuration: '10m' } },
};

export default function () {
  const email = `load-${exec.scenario.iterationInTest}@mail.example`;
  const res = http.request('POST', 'https://app.example/register', JSON.stringify({ email, plan: 'free' }), {
    headers: { 'Content-Type': 'application/json' },
  });
  check(res, { registered: (r) => r.status === 201, 'has an id': (r) => !!r.json('id') });
}
