-- Draws requests by their shares; `kinds` and `place` come before. Rows: name, method, path, body, headers, share.
-- A certificate that an answer brings is revoked later, so that every revocation hits one there is.

local closing = 0.05 -- Of the requests; clients come and go.
local ready = {}
local serials = {}
local threads = {}
refusal, issued, revoked, refused, closed = "", 0, 0, 0, 0

function setup(thread)
  table.insert(threads, thread)
  thread:set("number", #threads)
end

local function with(headers, name, value)
  local copy = {}
  for key, old in pairs(headers) do copy[key] = old end
  copy[name] = value
  return copy
end

function init()
  math.randomseed(number * 7919)
  local bound = 0
  for _, kind in ipairs(kinds) do
    local name, method, path, body, headers, share = unpack(kind)
    bound = bound + share
    headers = with(headers, "Host", wrk.headers["Host"])
    local content = body ~= "" and body or nil
    local last = with(headers, "Connection", "close")
    table.insert(ready, {
      name = "sent_" .. name, bound = bound, path = path, body = body, headers = headers, revokes = name == "revoke",
      text = wrk.format(method, path, headers, content), last = wrk.format(method, path, last, content),
    })
    _G["sent_" .. name] = 0
  end
end

local function drawn()
  local draw = math.random() * 100
  for _, kind in ipairs(ready) do
    if draw < kind.bound and not (kind.revokes and #serials == 0) then return kind end
  end
  return ready[1]
end

function request()
  local kind = drawn()
  _G[kind.name] = _G[kind.name] + 1
  if kind.revokes then
    local body = kind.body:gsub(place, table.remove(serials))
    return wrk.format("POST", kind.path, kind.headers, body)
  end
  if math.random() >= closing then return kind.text end
  closed = closed + 1
  return kind.last
end

function response(status, headers, body)
  if status == 201 then
    local serial = body:match('"serial":"(%d+)"')
    if serial then
      issued = issued + 1
      if #serials < 10000 then table.insert(serials, serial) end
    end
  elseif status == 200 and body:find('"revoked_at"', 1, true) and not body:find('"items"', 1, true) then
    revoked = revoked + 1
  elseif status >= 300 then
    refused = refused + 1
    if refusal == "" then refusal = status .. " " .. body:sub(1, 300):gsub("%s+", " ") end
  end
end

function done()
  local sums = { issued = 0, revoked = 0, refused = 0, closed = 0 }
  for _, kind in ipairs(kinds) do sums["sent_" .. kind[1]] = 0 end
  for _, thread in ipairs(threads) do
    for name, sum in pairs(sums) do sums[name] = sum + thread:get(name) end
    if thread:get("refusal") ~= "" then print("refusal " .. thread:get("refusal")) end
  end
  for name, sum in pairs(sums) do print("drawn " .. name .. " " .. sum) end
end
