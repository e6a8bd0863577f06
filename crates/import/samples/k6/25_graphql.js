import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 5, duration: '30s' };

const query = `
  query Orders($first: Int!) {
    orders(first: $first) { id total }
  }`;

export default function () {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${__ENV.TOKEN}` };
  const res = http.post('https://api.example/graphql', JSON.stringify({ query: query, variables: { first: 10 } }), { headers: headers });
  check(res, { 'no errors': (r) => r.status === 200 && r.json('data.orders') !== null });
}
