import http from 'k6/http';
import ws from 'k6/ws';
import { sleep } from 'k6';

export const options = { stages: [{ duration: '1m', target: 5 }, { duration: '1m', target: 1 }, { duration: '1m', target: 9 }] };

const words = ['tea', 'coffee'];

export default function () {
  http.get(`https://shop.example/search?q=${words[Math.floor(Math.random() * words.length)]}`);
  let state = '';
  while (state !== 'done') {
    const res = http.get('https://shop.example/job');
    state = res.json('state');
  }
  ws.connect('wss://shop.example/feed', {}, function (socket) {
    socket.close();
  });
  http.get(nowhere());
  sleep(Number(state));
}
