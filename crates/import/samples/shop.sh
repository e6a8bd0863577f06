#!/bin/sh
# As a browser copies it.
curl 'https://api.example.com/v1/orders?page=2&token=abcdef123' \
  -H 'accept: application/json' \
  -H 'authorization: Bearer eyJhbGciOi' \
  -H $'x-note: it\'s' \
  -H 'content-type: application/json' \
  --data-raw '{"user":"ada","password":"hunter22","n":[1,2,{"a":"{{b}}"}]}' \
  --compressed --insecure
curl -sSL -u ada:engine -d a=1 -d 'b=x y' https://api.example.com/login && curl -F 'file=@shop.sh;type=text/plain' -F t=x https://api.example.com/up
curl -I "$HOST/x"
curl -G --data-urlencode 'q=green tea' https://search.example.com/search | jq .
curl --http2 -X DELETE https://api.example.com/orders/77 --limit-rate 5k
curl --json '{"a":null}' --resolve api.example.com:443:127.0.0.1 https://api.example.com/null
curl https://api.example.com/upload --data-binary @shop.sh -H 'Content-Type: text/x-sh' -b 'sid=1234567'
