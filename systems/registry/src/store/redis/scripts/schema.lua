-- KEYS schema, log, about, namespaces
-- ARGV namespace, schema and its indexes, length of the log, most namespaces
-- Gives nothing, or how many namespaces are in the way of this one.
local crowded = crowd(KEYS[3], KEYS[4], ARGV[4])
if crowded then
  return crowded
end
open(KEYS[3], KEYS[4], ARGV[1])
redis.call('SET', KEYS[1], ARGV[2])
note(KEYS[2], KEYS[3], ARGV[3], 'schema', ARGV[2])
return false
