import http, { RefinedResponse, ResponseType } from 'k6/http';
import { check, sleep } from 'k6';
import { Options } from 'k6/options';

interface Item {
  id: number;
  title: string;
}

export const options: Options = {
  vus: 3,
  duration: '30s',
  thresholds: { http_req_failed: ['rate<0.05'] },
};

const base: string = 'https://api.example' as string;

function load(path: string): RefinedResponse<ResponseType> {
  return http.get(`${base}${path}`, { tags: { name: 'items' } });
}

export default (): void => {
  const res = load('/items');
  const items = res.json('items') as unknown as Item[];
  check(res, { 'is 200': (r) => r.status === 200 });
  http.get(`${base}/items/${items![0].id}`);
  sleep(1.5);
};
