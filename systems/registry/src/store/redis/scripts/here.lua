-- KEYS about, schema. Where to begin reading it all: {epoch or '', number of the newest entry,
-- schema and its indexes or ''}.
local about = redis.call('HMGET', KEYS[1], 'epoch', 'sequence')
return {about[1] or '', tonumber(about[2] or '0'), redis.call('GET', KEYS[2]) or ''}
