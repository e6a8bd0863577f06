import http from 'k6/http';

export const options = {
  vus: 2,
  duration: '10s',
  userAgent: 'Load/1.0',
};

export default function () {
  http.get('http://shop.example/items');
  http.get('http://shop.example/own', { headers: { 'User-Agent': 'Other/2.0' } });
}
