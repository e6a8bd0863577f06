-- KEYS namespaces; ARGV most to take out, length of the log
-- Takes out who has expired, whichever namespace it is in, so that no other coordinator gets them.
-- Gives {all namespaces, {namespace, {name, …}, namespace, {name, …}, …}}.
local namespaces = redis.call('SMEMBERS', KEYS[1])
local left = tonumber(ARGV[1])
local time = now()
local gone = {}
for _, namespace in ipairs(namespaces) do
  local prefix = 'registry:' .. namespace
  local due = {}
  if left > 0 then
    due = redis.call('ZRANGEBYSCORE', prefix .. ':expiry', '-inf', time, 'LIMIT', 0, left)
  end
  if #due > 0 then
    redis.call('HDEL', prefix .. ':identities', unpack(due))
    redis.call('ZREM', prefix .. ':expiry', unpack(due))
    local entry = {}
    for _, name in ipairs(due) do
      entry[#entry + 1] = 'gone'
      entry[#entry + 1] = name
    end
    note(prefix .. ':log', prefix .. ':about', ARGV[2], unpack(entry))
    gone[#gone + 1] = namespace
    gone[#gone + 1] = due
    left = left - #due
  end
end
return {namespaces, gone}
