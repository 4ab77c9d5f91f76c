// Owns the only fetch: address, headers, memory of ETags, errors, the end of a session, polling.
// Knows no page and no text.

export const events = new EventTarget();
const tell = (name, detail) => events.dispatchEvent(new CustomEvent(name, { detail }));

/* status 0: no answer. reason is the stable word from which a page makes its sentence. */
export class ApiError extends Error {
  constructor(status, error, retryAfter) {
    super(error?.message || '');
    Object.assign(this, {
      status, code: error?.code, reason: error?.reason, details: error?.details || {},
      fields: error?.fields || [], retryAfter,
      lost: status === 0 || (status >= 502 && !error),
    });
  }
}

let companyId = '';
export const useCompany = (id) => { companyId = id; };

let offset = 0;
/* The server's clock: ages stay right where this computer's is wrong. */
export const now = () => Date.now() + offset;

/* Arguments as a query, without empty ones. */
export function queryOf(values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values || {})) {
    if (value !== undefined && value !== null && value !== '' && value !== false) {
      query.set(name, value);
    }
  }
  return query.toString();
}

const COMPANYLESS = ['session', 'companies', 'sign-in'];

/* Made from origin and path, because relative ones fail where the page's own address carries a name
 * and a password. */
export function address(path, query) {
  const to = new URL(`api/${path}`, location.origin + location.pathname);
  to.search = queryOf(COMPANYLESS.includes(path) ? query : { companyId, ...query });
  return to.href;
}

const memory = new Map(); // address -> {etag, data}; the least used leaves first
function remember(to, one) {
  memory.delete(to);
  memory.set(to, one);
  if (memory.size > 60) memory.delete(memory.keys().next().value);
}

async function exchange(to, options, signal) {
  const within = AbortSignal.timeout(15000);
  try {
    return await fetch(to, {
      cache: 'no-store', redirect: 'manual', credentials: 'same-origin', ...options,
      signal: signal ? AbortSignal.any([signal, within]) : within,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0);
  }
}

/* null: it is no JSON. The body may break off after its headers came, and may be given up then. */
async function bodyOf(response, signal) {
  try {
    return await response.json();
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error instanceof SyntaxError) return null;
    throw new ApiError(0);
  }
}

async function refusal(response, signal) {
  const error = (await bodyOf(response, signal))?.error;
  const seconds = Number(response.headers.get('Retry-After'));
  return new ApiError(response.status, error, seconds > 0 ? seconds * 1000 : 0);
}

/* Until when the server wants to be left alone (429, 503 with Retry-After). */
let notBefore = 0;

async function call(method, path, { query, body, headers, signal } = {}) {
  const to = address(path, query);
  const known = method === 'GET' ? memory.get(to) : null;
  const response = await exchange(to, {
    method,
    headers: {
      Accept: 'application/json',
      ...(known && { 'If-None-Match': known.etag }),
      ...(method !== 'GET' && { 'X-IdAdmin-Console': '1' }),
      ...(body && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    body: body && JSON.stringify(body),
  }, signal);
  if (response.status === 401 || response.type === 'opaqueredirect') {
    tell('signed-out');
    throw new ApiError(401);
  }
  const at = Date.parse(response.headers.get('Date')) || Date.now();
  if (response.status !== 304 && !response.ok) {
    const error = await refusal(response, signal);
    if (error.retryAfter) notBefore = Date.now() + error.retryAfter;
    throw error;
  }
  offset = Math.abs(at - Date.now()) > 2000 ? at - Date.now() : 0;
  tell('answer', at);
  if (response.status === 304) {
    remember(to, known);
    return { ...known, at };
  }
  const answer = await bodyOf(response, signal);
  if (!answer) throw new ApiError(502);
  const etag = response.headers.get('ETag');
  if (method === 'GET' && etag) remember(to, { etag, data: answer.data });
  return { data: answer.data, etag, at, replayed: response.headers.get('Idempotent-Replayed') };
}

/* {data, etag, at}: the etag is what a write sends as If-Match, at the server's Date. */
export const read = (path, query, signal) => call('GET', path, { query, signal });
export const get = async (path, query, signal) => (await read(path, query, signal)).data;

/* A write. key: of newKey(), the same after a lost answer; then the answer has `replayed`. Without a body POST and
 * PATCH send {}. */
export async function send(method, path, { query, body, key, ifMatch, signal } = {}) {
  const headers = {};
  if (key) headers['Idempotency-Key'] = key;
  if (ifMatch) headers['If-Match'] = ifMatch;
  const whole = method === 'DELETE' ? body : body || {};
  const { data, replayed } = await call(method, path, { query, body: whole, headers, signal });
  if (!query?.dryRun) wake(); // what is shown follows at once
  return replayed ? { ...data, replayed } : data;
}

/* crypto.randomUUID is missing over plain HTTP elsewhere than on loopback. */
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))]
  .map((byte) => byte.toString(16).padStart(2, '0')).join('');

/* --- polling --- */

let paused = false;
try { paused = sessionStorage.getItem('idadmin.paused') === '1'; } catch { /* not kept */ }
export const isPaused = () => paused;
export function pause(yes) {
  paused = yes;
  try { sessionStorage.setItem('idadmin.paused', yes ? '1' : '0'); } catch { /* not kept */ }
  tell('wake');
}
export const wake = () => tell('wake');
document.addEventListener('visibilitychange', () => document.hidden || tell('wake'));

/* Asks again and again until the signal aborts. every: ms, or a function of the last data that
 * answers ms. query: values, or a function. apply(data) is called for what is new. hold(data, show),
 * where given, may take an answer for later and answers whether it did. */
export function poll({ path, query, every, apply, hold, signal }) {
  let timer, asking, seen, last, failures = 0;
  const pace = () => (typeof every === 'function' ? every(last) : every);
  const plan = (ms) => {
    clearTimeout(timer);
    const earliest = Math.max(0, notBefore - Date.now());
    if (!signal.aborted) timer = setTimeout(ask, Math.max(earliest, ms * (0.9 + Math.random() * 0.2)));
  };
  const deliver = (answer) => {
    const show = () => { seen = answer.etag; apply(answer.data); };
    if (answer.etag && answer.etag === seen) return;
    if (!hold?.(answer.data, show)) show();
  };
  async function ask() {
    if (signal.aborted || document.hidden || paused) return;
    const mine = asking = new AbortController();
    try {
      const answer = await read(path, typeof query === 'function' ? query() : query,
        AbortSignal.any([signal, mine.signal]));
      failures = 0;
      last = answer.data;
      plan(pace());
      deliver(answer);
      settled(plan);
    } catch (error) {
      if (signal.aborted || mine.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error; // a fault of ours: the next answer is planned
      const wait = Math.max(error.retryAfter || 0, Math.min(60000, pace() * 2 ** ++failures));
      failing.set(plan, error);
      tell('poll-failed', { error, wait });
      plan(wait);
    }
  }
  // An answer that was asked for before would put the next question off.
  events.addEventListener('wake', () => { asking?.abort(); plan(0); }, { signal });
  signal.addEventListener('abort', () => { clearTimeout(timer); settled(plan); });
  plan(pace());
}

/* Polls whose last answer was none, with its error: what they show is stale. */
const failing = new Map();
export const isStale = () => failing.size > 0;
function settled(one) {
  if (failing.delete(one) && !failing.size) tell('back');
}

/* What could not be had is asked for again: when the server said, or with an answer that comes some
 * seconds later. A refusal that does not pass (400, 403, 404) is left as it is. */
export function whenBack(error, again, signal) {
  if (!(error.lost || error.status === 429 || error.status >= 500)) return;
  const failedAt = Date.now();
  const stop = new AbortController();
  const once = () => { stop.abort(); if (!signal?.aborted) again(); };
  signal?.addEventListener('abort', () => stop.abort());
  if (error.retryAfter) setTimeout(once, error.retryAfter);
  else {
    events.addEventListener('answer', () => Date.now() - failedAt > 2000 && once(), { signal: stop.signal });
  }
}
