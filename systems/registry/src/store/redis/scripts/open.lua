-- KEYS about, namespaces; ARGV namespace, most namespaces
-- Makes a namespace be. Gives nothing, or how many namespaces are in its way.
local crowded = crowd(KEYS[1], KEYS[2], ARGV[2])
if crowded then
  return crowded
end
open(KEYS[1], KEYS[2], ARGV[1])
return false
