import http from 'k6/http';
import { SharedArray } from 'k6/data';
import { scenario } from 'k6/execution';

const items = new SharedArray('items', () => JSON.parse(open('./items.json')));

export const options = { scenarios: { all: { executor: 'shared-iterations', vus: 5, iterations: 100 } } };

export default function () {
  const item = items[scenario.iterationInTest % items.length];
  http.get(`https://shop.example/items/${item.id}`, { tags: { name: 'item' } });
}
