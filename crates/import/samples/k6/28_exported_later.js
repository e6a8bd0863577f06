import { get, post } from 'k6/http';
import { check, group, sleep } from 'k6';

const options = { vus: 5, duration: '30s', thresholds: { checks: ['rate>0.95'], iteration_duration: ['p(95)<8000'] } };

const main = () => {
  group('read', () => {
    const res = get('https://blog.example/posts');
    check(res, { listed: ({ status }) => [200, 304].includes(status) });
  });
  sleep(1);
  group('write', () => {
    post('https://blog.example/comments', JSON.stringify({ text: `at ${Date.now()}` }), {
      headers: { 'content-type': 'application/json' },
    });
  });
  sleep(1);
};

export { main as default, options };
