-- The load of benchmarks and long tests, as a script of wrk. Idadmin::Test::Load starts it and
-- reads the JSON line that it ends with. Arguments: connections (there must be as many threads),
-- users, method, target, body, headers.
--
-- In target and body "{n}" becomes a number that no other request has, "{u}" one of `users` numbers
-- of five digits or more, from 00001.
--
-- Each thread has one connection, so the clock from a request to the next answer is its latency.
-- wrk's own percentiles are not used, because wrk adds made-up values to correct for requests that
-- a slow answer kept from being sent.
local ffi = require("ffi")
ffi.cdef [[
typedef struct { long seconds, nanoseconds; } timespec;
int clock_gettime(int clock, timespec *time);
int getpid(void);
]]
local monotonic, time = 1, ffi.new("timespec")
local threads = {}

local function now_ms()
    ffi.C.clock_gettime(monotonic, time)
    return tonumber(time.seconds) * 1e3 + tonumber(time.nanoseconds) / 1e6
end

function setup(thread)
    thread:set("index", #threads)
    table.insert(threads, thread)
end

function init(arguments)
    step, users = tonumber(arguments[1]), tonumber(arguments[2])
    method, target, body = arguments[3], arguments[4], arguments[5]
    for i = 6, #arguments do
        local name, value = arguments[i]:match("^([^:]+): *(.*)$")
        wrk.headers[name] = value
    end
    number = ffi.C.getpid() * 1000000 + index
    statuses, latencies = {}, {}
end

local function fill(template)
    local user = (number % users) * 7919 % users + 1
    return (template:gsub("{n}", ("%d"):format(number)):gsub("{u}", ("%05d"):format(user)))
end

function request()
    number = number + step
    local text = wrk.format(method, fill(target), nil, body ~= "" and fill(body) or nil)
    start = now_ms()
    return text
end

function response(status)
    statuses[status] = (statuses[status] or 0) + 1
    if status == 200 then
        latencies[#latencies + 1] = now_ms() - start
    end
end

function done(summary)
    local counts, all, errors, list = {}, {}, 0, {}
    local broken = summary.errors.connect + summary.errors.read + summary.errors.write
    if broken > 0 then
        counts[0] = broken
    end
    for _, thread in ipairs(threads) do
        for status, count in pairs(thread:get("statuses")) do
            counts[status] = (counts[status] or 0) + count
        end
        for _, latency in ipairs(thread:get("latencies")) do
            all[#all + 1] = latency
        end
    end
    table.sort(all)
    for status, count in pairs(counts) do
        errors = errors + (status == 200 and 0 or count)
        list[#list + 1] = ('"%d":%d'):format(status, count)
    end
    local function at(part) return all[math.min(math.floor(#all * part) + 1, #all)] or 0 end
    print(('{"requests":%d,"errors":%d,"rate":%.1f,"p50":%.4f,"p99":%.4f,"max":%.4f,'):format(#all,
        errors, #all * 1e6 / summary.duration, at(0.5), at(0.99), at(1)) .. '"statuses":{'
        .. table.concat(list, ",") .. "}}")
end
