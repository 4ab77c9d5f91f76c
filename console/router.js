// Owns the way from the address to a page: #/COMPANY/PAGE/ID?filters. Title, focus, scroll, what an
// entry of the history remembers, the question before a form is left. Knows pages by name alone.
import { ApiError, poll, queryOf, whenBack } from './api.js';
import { busy, draw, redraw, report } from './dom.js';
import { allTexts, t } from './format.js';
import { choose, closeAll } from './components/dialog.js';
import { clearNotices, failure, heldNotice, noRight, safely, skeleton, unknownPage, unnotice }
  from './components/states.js';

/* Pages and the rights of which one is needed; an address has at most one ID. */
const RIGHTS = {
  overview: ['overview.read'], people: ['people.read'], person: ['people.read'],
  hire: ['people.write'], hires: ['people.write'], offboard: ['people.write'], tasks: ['tasks.read'],
  task: ['tasks.read'], calendar: ['tasks.read'], access: ['access.read', 'requests.read'],
  workflows: ['workflows.read'], hygiene: ['hygiene.read'], log: ['audit.read'],
  keys: ['keys.read'], company: ['company.read'], settings: ['company.read'],
};
export const mayOpen = (company, page) => RIGHTS[page].some((right) => company.can(right));

export function parse(hash = location.hash) {
  const [path, search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [company, page, id] = path.split('/').map((part) => {
    try { return decodeURIComponent(part); } catch { return part; }
  });
  return { company, page, id, query: Object.fromEntries(new URLSearchParams(search)) };
}

/* shown: the page that stands, {title, view(), ...}, with its entry; waiting: its bars are up. */
let company, findCompany, frame, current, shown, waiting;

/* The address of a page of this company: href('task', id), href('tasks', '', {state:'queued'}). */
export function href(page, id, query, of = company?.companyId) {
  const search = queryOf(query);
  const path = [of, page, id].filter(Boolean).map(encodeURIComponent).join('/');
  return `#/${path}${search ? `?${search}` : ''}`;
}
export const go = (to) => { location.hash = to; };

/* Filters and tabs of the page that stands: the address follows, nothing is loaded or moved. */
export function setQuery(query) {
  const { page, id } = parse();
  history.replaceState(history.state, '', href(page, id, query));
  current.address = location.hash;
}

/* What this entry of the history remembers: lists keep how many rows were loaded. */
export const memory = () => current.memory;

const memories = new Map(); // number of the entry -> {scroll, row, ...}
let entry = 0;

function enter() {
  const known = history.state?.entry;
  if (known === undefined) {
    entry += 1;
    for (const later of memories.keys()) if (later >= entry) memories.delete(later);
    history.replaceState({ entry }, '');
  } else entry = known;
  const back = memories.get(entry);
  memories.set(entry, back || {});
  return { memory: memories.get(entry), back: Boolean(back) };
}

function leaveBehind() {
  if (!current) return;
  current.memory.scroll = scrollY;
  current.memory.row = document.activeElement?.closest?.('[data-id]')?.dataset.id;
  current.stop.abort();
}

/* --- leaving a form --- */

let allowed = false, question = null;
/* True when the address may change; else it is put back, and then the person is asked: an answer that
 * came before would lead to where the address still was. */
function mayLeave() {
  if (question) { question = null; return false; }
  if (allowed || !current?.leave?.()) { allowed = false; return true; }
  const target = location.hash;
  const known = history.state?.entry;
  question = () => choose({
    title: t('leave.title'), text: t('leave.text'),
    options: [{ label: t('leave.go'), value: 'go' }], back: t('leave.stay'),
  }).then((answer) => { if (answer === 'go') { allowed = true; go(target); } });
  if (known === undefined || known > entry) history.back(); else history.forward();
  return false;
}
addEventListener('beforeunload', (event) => { if (current?.leave?.()) event.preventDefault(); });

/* What was typed is queued or given up: leaving asks nothing. */
export const settle = () => { if (current) current.leave = null; };

/* --- a page --- */

/* What the place of the page shows now. */
export function pageView() {
  if (waiting) return skeleton(waiting);
  if (!shown) return null;
  const title = typeof shown.title === 'function' ? shown.title() : shown.title;
  document.title = [title, company?.name, 'idadmin'].filter(Boolean).join(' – ');
  return safely(shown.view);
}
export const isWaiting = () => Boolean(waiting);
/* One page's nodes are not another's. */
export const pageKey = () => (waiting ? 'bars' : shown?.entry);

function focusAfter({ back, keepPlace, before }) {
  if (keepPlace && document.activeElement?.closest('#page')) return; // it stands where it stood
  const host = document.getElementById('page');
  const row = back && current.memory.row
    && host.querySelector(`[data-id="${CSS.escape(current.memory.row)}"] a`);
  const same = before && [...host.querySelectorAll('a[aria-current]')]
    .find((link) => link.getAttribute('href') === before);
  const target = row || same || host.querySelector('h1');
  target?.focus({ preventScroll: true });
  scrollTo(0, back || keepPlace ? current.memory.scroll || 0 : 0);
}

async function load(name, args, keepPlace) {
  if (!(name in RIGHTS)) return unknownPage();
  if (!mayOpen(args.company, name)) return noRight(args.company, RIGHTS[name]);
  let bars;
  try {
    const [module] = await Promise.all([import(`./pages/${name}.js`), name === 'overview' || allTexts()]);
    bars = setTimeout(() => { if (!keepPlace) waiting = module.shape; redraw(); }, 150);
    return await module.page(args);
  } catch (error) {
    if (args.signal.aborted) throw error;
    if (!(error instanceof ApiError)) report(error);
    if (error instanceof ApiError) whenBack(error, reload, args.signal);
    return failure(error, () => reload());
  } finally { clearTimeout(bars); }
}

let pages = 0;
function stands(page, { at, keepPlace, before }) {
  waiting = null;
  // A page anew in its place keeps its nodes: what is open in it stays open.
  shown = { ...page, entry: keepPlace && shown ? shown.entry : ++pages };
  draw();
  focusAfter({ back: at.back, keepPlace, before });
}

async function show({ keepPlace } = {}) {
  const before = document.activeElement?.closest?.('a[href]')?.getAttribute('href');
  leaveBehind();
  const stop = new AbortController();
  const at = enter();
  const { signal } = stop;
  current = { ...current, memory: at.memory, address: location.hash, stop, leave: null };
  document.documentElement.removeAttribute('data-ready');
  if (!keepPlace) clearNotices();
  const address = parse();
  try {
    company = await findCompany(address.company, signal);
    if (!company) return;
    if (!address.page) { history.replaceState(history.state, '', href(frame.home())); return show(); }
    frame.stand(company, address.page);
    const page = await load(address.page,
      { company, params: { id: address.id }, query: address.query, signal }, keepPlace);
    if (signal.aborted) return;
    current.leave = page.leave;
    stands(page, { at, keepPlace, before });
    for (const one of [page.poll || []].flat()) {
      poll({
        ...one, signal,
        apply: (data) => { unnotice('held'); one.apply(data); redraw(); },
        hold: (data, later) => {
          if (!busy()) return false;
          const text = one.note ? one.note(data) : t('poll.news'); // nothing: no row tells otherwise
          if (text) heldNotice(text, later);
          return true;
        },
      });
    }
    document.documentElement.dataset.ready = address.page;
  } catch (error) {
    if (signal.aborted) return;
    stands(failure(error, () => reload()), { at, keepPlace, before });
    document.documentElement.dataset.ready = 'failed';
    if (!(error instanceof ApiError)) throw error;
    whenBack(error, reload, signal);
  }
}

/* The page anew, in its place: after a write, or "Try again". */
export const reload = () => show({ keepPlace: true });

export function start(of) {
  ({ frame, findCompany } = of);
  addEventListener('hashchange', () => {
    if (location.hash === current?.address) question?.();
    // "#main" and the like are targets in the page, which the skip link handles itself.
    if (location.hash === current?.address || (location.hash && !location.hash.startsWith('#/'))) {
      question = null;
      return;
    }
    closeAll(); // a question of the page that is left
    if (mayLeave()) show();
  });
  history.scrollRestoration = 'manual';
  return show();
}
