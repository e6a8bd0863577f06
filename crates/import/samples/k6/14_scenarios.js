import http from 'k6/http';
import { sleep } from 'k6';

export const options = {
  scenarios: {
    readers: { executor: 'constant-arrival-rate', exec: 'read', rate: 90, duration: '1m', preAllocatedVUs: 50 },
    writers: { executor: 'constant-arrival-rate', exec: 'write', rate: 10, duration: '1m', preAllocatedVUs: 20 },
  },
};

export function read() {
  http.get('https://wiki.example/pages/home');
  http.get('https://wiki.example/pages/news');
}

export function write() {
  http.post('https://wiki.example/pages', JSON.stringify({ title: 'new' }), {
    headers: { 'Content-Type': 'application/json' },
  });
  sleep(1);
}
