-- KEYS about, namespaces; ARGV namespace. Makes a namespace be.
open(KEYS[1], KEYS[2], ARGV[1])
return redis.status_reply('OK')
