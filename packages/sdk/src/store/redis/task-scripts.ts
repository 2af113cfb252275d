import type { Overload } from '../task-limits.ts'
import { clock, type Script } from './scripts.ts'

/** How long after a task became ready it must have a job. Without one, the process that should add it has crashed. */
export const graceMs = 1000

/**
 * The keys of a task expire with it, but lists and counters do not. So `kept` records for each id where it was counted,
 * until it is subtracted: when the task changes, when it is removed, or some time after it expired.
 */
const index = `${clock}
local function add(root, owner, bytes)
  for _, field in ipairs({ 'total', 'o:' .. owner }) do
    if redis.call('HINCRBY', root .. ':bytes', field, text(bytes)) == 0 then
      redis.call('HDEL', root .. ':bytes', field)
    end
  end
end

-- Removes a task from all lists and counters.
local function leave(root, id)
  local kept = redis.call('HGET', root .. ':kept', id)
  if not kept then return end
  local owner, listed, bytes = unpack(cjson.decode(kept))
  redis.call('HDEL', root .. ':kept', id)
  redis.call('ZREM', root .. ':expiry', id)
  redis.call('ZREM', root .. ':created', id)
  for _, name in ipairs({ ':open', ':finished' }) do
    redis.call('ZREM', root .. name, id)
    redis.call('ZREM', root .. name .. ':' .. owner, id)
  end
  if listed then redis.call('ZREM', root .. ':list:' .. listed, id) end
  add(root, owner, -bytes)
end

local function enter(root, id, owner, listed, createdAt, expiresAt, isOpen, bytes)
  redis.call('HSET', root .. ':kept', id, cjson.encode({ owner, listed, bytes }))
  if expiresAt ~= '' then redis.call('ZADD', root .. ':expiry', expiresAt, id) end
  local name = isOpen and ':open' or ':finished'
  local score = isOpen and (expiresAt == '' and '+inf' or expiresAt) or text(now())
  redis.call('ZADD', root .. name, score, id)
  redis.call('ZADD', root .. name .. ':' .. owner, score, id)
  if isOpen then redis.call('ZADD', root .. ':created', createdAt, id) end
  if listed then redis.call('ZADD', root .. ':list:' .. listed, createdAt, id) end
  add(root, owner, bytes)
end

local function remove(root, id)
  leave(root, id)
  redis.call('DEL', root .. ':task:' .. id, root .. ':notes:' .. id)
  redis.call('ZREM', root .. ':due', id)
end

local function countOpen(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now()))
  return redis.call('ZCARD', key)
end

local function bytesOf(root, field)
  return tonumber(redis.call('HGET', root .. ':bytes', field) or 0)
end
`

/**
 * Writes an entry and what goes with it. A ready task is in `due` until a run ends, and `ready` counts how often it
 * became ready: a run has handled it only if the count is still the same as when the run started.
 */
const put = `${index}
local root, id, owner, listed, version, createdAt, expiresAt, isOpen, summary, body, operation, isReady, message, noteCount,
  maxOpenPerOwner, maxOpen, maxFinishedPerOwner, maxFinished, maxBytesPerOwner, maxBytes, previous, job = unpack(ARGV, 1, 22)
listed = listed ~= '-' and string.sub(listed, 2)
isOpen = isOpen == '1'
local task, notes, due, changes = KEYS[1], KEYS[2], KEYS[3], root .. ':changes'
local function limit(value)
  return value == '' and math.huge or tonumber(value)
end

local newBytes = 0
for index = #ARGV - noteCount + 1, #ARGV do newBytes = newBytes + #ARGV[index] end

-- Evicts finished tasks beyond the limits, in the order in which they finished.
local function evict(more, except)
  for _, scope in ipairs({
    { root .. ':finished:' .. owner, 'o:' .. owner, maxFinishedPerOwner, maxBytesPerOwner },
    { root .. ':finished', 'total', maxFinished, maxBytes },
  }) do
    while redis.call('ZCARD', scope[1]) > limit(scope[3]) or bytesOf(root, scope[2]) + more > limit(scope[4]) do
      local ids = redis.call('ZRANGE', scope[1], 0, 1)
      local oldest = ids[1] ~= except and ids[1] or ids[2]
      if not oldest then break end
      remove(root, oldest)
    end
  end
end

local function put()
  for index = #ARGV - noteCount + 1, #ARGV do redis.call('RPUSH', notes, ARGV[index]) end
  local noteBytes = redis.call('HINCRBY', task, 'noteBytes', newBytes)
  redis.call('HSET', task, 'owner', owner, 'listed', listed and '+' .. listed or '-', 'version', version,
    'createdAt', createdAt, 'expiresAt', expiresAt, 'isOpen', isOpen and '1' or '0', 'summary', summary, 'body', body,
    'operation', operation)
  leave(root, id)
  enter(root, id, owner, listed, createdAt, expiresAt, isOpen, #summary + #body + noteBytes)
  if isReady == '1' then
    redis.call('HINCRBY', task, 'ready', 1)
    redis.call('ZADD', due, text(now() + ${graceMs}), id)
  end
  if expiresAt == '' then
    redis.call('PERSIST', task)
    redis.call('PERSIST', notes)
  else
    -- Redis keeps a key until after the given millisecond.
    redis.call('PEXPIREAT', task, text(math.ceil(expiresAt) - 1))
    redis.call('PEXPIREAT', notes, text(math.ceil(expiresAt) - 1))
  end
  if not isOpen then evict(0, id) end
  redis.call('PUBLISH', changes, message)
end

-- The number of open tasks of the owner. The more there are, the lower the priority of the job.
local function done(code)
  return { code, redis.call('ZCARD', root .. ':open:' .. owner) }
end
`

/** Removes expired tasks from the lists that contain them. */
const clean = `
local function clean(root, count)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', root .. ':expiry', '-inf', text(now()), 'LIMIT', 0, count)) do
    remove(root, id)
  end
end
`

/**
 * Keys: task, notes, due. Returns 1 and the number of open tasks of the owner; 0 if a task with this id exists; or a
 * negative number, the position of the exceeded limit in `overloads`.
 */
export const createTask: Script = {
  name: 'create-task',
  keys: 3,
  lua: `${put}${clean}
local known = redis.call('HMGET', task, 'version', 'operation')
-- The same request again: the connection was lost before the reply arrived.
if known[1] == version and known[2] == operation then return done(1) end
if known[1] then return { 0 } end
-- Remove more expired tasks than are added, so that the index stays in proportion to the live tasks.
clean(root, 10)
if countOpen(root .. ':open:' .. owner) >= limit(maxOpenPerOwner) then return { -1 } end
if countOpen(root .. ':open') >= limit(maxOpen) then return { -2 } end
local bytes = #summary + #body + newBytes
evict(bytes)
if bytesOf(root, 'o:' .. owner) + bytes > limit(maxBytesPerOwner) then return { -3 } end
if bytesOf(root, 'total') + bytes > limit(maxBytes) then return { -4 } end
put()
return done(1)
`,
}

/** In the order of the negative numbers that `createTask` returns. */
export const overloads: readonly Overload[] = ['open-per-owner', 'open', 'bytes-per-owner', 'bytes']

/**
 * Keys: task, notes, due, delayed jobs. Returns 0 (not replaced), 1 (replaced) or 2 (replaced, and its job is delayed),
 * and the number of open tasks of the owner.
 */
export const replaceTask: Script = {
  name: 'replace-task',
  keys: 4,
  lua: `${put}
local known = redis.call('HMGET', task, 'version', 'operation')
if known[1] == version and known[2] == operation then return done(1) end
if known[1] ~= previous then return { 0 } end
put()
if isReady == '1' and redis.call('ZSCORE', KEYS[4], job) then return done(2) end
return done(1)
`,
}

/** Keys: list. Returns the fields and the id of each task, and removes tasks that no longer exist from the list. */
export const listTasks: Script = {
  name: 'list-tasks',
  keys: 1,
  lua: `
local root, listed, limit, createdAt, after = unpack(ARGV)
limit = tonumber(limit)
local from = 0
if after then
  -- Insert a task that was removed for a moment, to find its position.
  local isGone = redis.call('ZADD', KEYS[1], 'NX', createdAt, after) == 1
  from = redis.call('ZRANK', KEYS[1], after)
  if isGone then redis.call('ZREM', KEYS[1], after) else from = from + 1 end
end
local found = {}
while #found < limit do
  local ids = redis.call('ZRANGE', KEYS[1], from, from + math.min(100, limit - #found) - 1)
  if #ids == 0 then break end
  for _, id in ipairs(ids) do
    local fields = redis.call('HMGET', root .. ':task:' .. id,
      'owner', 'listed', 'version', 'createdAt', 'expiresAt', 'isOpen', 'summary')
    if fields[2] == '+' .. listed then
      fields[8] = id
      found[#found + 1] = fields
      from = from + 1
    else
      redis.call('ZREM', KEYS[1], id)
    end
  end
end
return found
`,
}

/** Keys: the open tasks of an owner, or of all owners. */
export const countOpenTasks: Script = {
  name: 'count-open-tasks',
  keys: 1,
  lua: `${index}
return countOpen(KEYS[1])
`,
}

/**
 * Keys: open, due, active jobs. Returns the number of open and finished tasks, their bytes, how many wait for a worker, and
 * when the oldest open task was created.
 */
export const taskUsage: Script = {
  name: 'task-usage',
  keys: 3,
  lua: `${index}${clean}
local root = ARGV[1]
clean(root, 100)
local open = countOpen(KEYS[1])
-- Tasks that expired may be among the first until they are removed.
local oldest = ''
for from = 0, 900, 100 do
  local ids = redis.call('ZRANGE', root .. ':created', from, from + 99, 'WITHSCORES')
  for at = 1, #ids, 2 do
    if oldest == '' and redis.call('ZSCORE', KEYS[1], ids[at]) then oldest = ids[at + 1] end
  end
  if oldest ~= '' or #ids < 200 then break end
end
local queued = math.max(0, redis.call('ZCARD', KEYS[2]) - redis.call('LLEN', KEYS[3]))
return { open, redis.call('ZCARD', root .. ':finished'), bytesOf(root, 'total'), queued, oldest }
`,
}

/** Keys: task, due. Returns how often the task became ready, and its owner; nothing if it is gone or not ready. */
export const takeTask: Script = {
  name: 'take-task',
  keys: 2,
  lua: `
local known = redis.call('HMGET', KEYS[1], 'ready', 'owner')
if not known[1] then redis.call('ZREM', KEYS[2], ARGV[1]) end
return known[1] and redis.call('ZSCORE', KEYS[2], ARGV[1]) and known
`,
}

/** Keys: task, due. Returns 1 if the task became ready since it was taken. */
export const finishTask: Script = {
  name: 'finish-task',
  keys: 2,
  lua: `
local ready = redis.call('HGET', KEYS[1], 'ready')
if ready and ready ~= ARGV[2] then return 1 end
redis.call('ZREM', KEYS[2], ARGV[1])
return 0
`,
}

/**
 * Keys: due. Checks due tasks and returns their number, then the id of each task without a job and the number of open
 * tasks of its owner. Tasks with a job are checked again later, because a crash may lose the job before the task is
 * marked as done.
 */
export const sweepTasks: Script = {
  name: 'sweep-tasks',
  keys: 1,
  lua: `${index}${clean}
local root, jobs, laterMs, count = unpack(ARGV)
clean(root, count)
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(now()), 'LIMIT', 0, count)
local found = { #ids }
for _, id in ipairs(ids) do
  local job = jobs .. string.gsub(string.gsub(id, '%%', '%%25'), ':', '%%3A')
  if redis.call('EXISTS', job) == 1 then
    redis.call('ZADD', KEYS[1], text(now() + laterMs), id)
  else
    redis.call('ZADD', KEYS[1], text(now() + ${graceMs}), id)
    found[#found + 1] = id
    local owner = redis.call('HGET', root .. ':task:' .. id, 'owner') or ''
    found[#found + 1] = redis.call('ZCARD', root .. ':open:' .. owner)
  end
end
return found
`,
}

export const taskScripts = [
  createTask,
  replaceTask,
  listTasks,
  countOpenTasks,
  taskUsage,
  takeTask,
  finishTask,
  sweepTasks,
]
