// Owns how what is seen is made: el(), the drawing of the whole view, icons, announcements. Strings
// become text nodes and nothing else, so text from a directory cannot become markup.
import { h, render, useEffect, useLayoutEffect, useRef, useState }
  from './vendor/preact.js';

export { useEffect, useLayoutEffect, useRef, useState };

/* el('a', { href, class, onclick, var: { '--share': .4 } }, 'text', vnode, [more], null)
 * 'svg:path' is an SVG element, a function a component; null, undefined, false leave out. */
export function el(tag, props, ...children) {
  const given = {};
  for (const [name, value] of Object.entries(props || {})) {
    if (name === 'var') given.style = value;
    else if (name === 'spellcheck') given[name] = value === true; // a property, not a word
    else if (typeof tag === 'function' || (value ?? false) !== false) given[name] = value;
  }
  return h(typeof tag === 'string' ? tag.replace('svg:', '') : tag, given, ...children);
}

/* --- one view --- */

let view, host, planned;
/* The whole screen, from what is known now: nothing else writes into the document. */
export function draw() {
  planned = false;
  render(view(), host);
}
/* After whatever changed; many changes are drawn once. */
export function redraw() {
  if (planned || !view) return;
  planned = true;
  queueMicrotask(() => planned && draw());
}
export function mount(what, where) {
  view = what;
  host = where;
  draw();
}

const reported = new Set();
/* A fault of ours is seen in the console once, however often it is met. */
export function report(error) {
  if (reported.has(error.stack)) return;
  reported.add(error.stack);
  console.error(error);
}

/* What make() answers; what it throws costs no more than this place, which is tried again with the
 * next drawing. */
export function guarded(make, instead) {
  try { return make(); } catch (error) {
    report(error);
    return instead(error);
  }
}

/* An address breaks before its @ and behind a dot, never inside a word. */
const breaks = (text) => (/^\S+@\S+$/.test(text) ? text.split(/(?=@)|(?<=\.)/).flatMap((one, i) =>
  (i ? [el('wbr'), one] : [one])) : text);
/* Text of a directory or a person: its own direction, whatever stands beside it. */
export const bdi = (text) => el('bdi', null, typeof text === 'string' ? breaks(text) : text ?? '');

let count = 0;
export const uid = () => `u${++count}`;

const PATHS = {
  overview: 'M3 11l9-7 9 7M5 10v10h14V10M10 20v-6h4v6',
  people: 'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M2.5 20c.6-4 3-6 6.5-6s5.9 2 6.5 6M16 4.5a3.5 '
    + '3.5 0 0 1 0 6.5M18 14.5c2 .8 3.2 2.6 3.5 5.5',
  tasks: 'M4 6h2M4 12h2M4 18h2M10 6h10M10 12h10M10 18h6',
  access: 'M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6z',
  workflows: 'M4 4h6v6H4zM14 14h6v6h-6zM7 10v7h7',
  hygiene: 'M8 4h8v3H8zM6 5H5v16h14V5h-1M9 14l2 2 4-5',
  log: 'M6 3h9l4 4v14H6zM14 3v5h5M9 13h7M9 17h5',
  key: 'M8 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 12h9M18 12v4M15 12v3',
  company: 'M4 21V5l8-2v18M12 8l8 2v11M3 21h18M7 9h2M7 13h2M15 14h2M15 17h2',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M15.5 15.5L21 21',
  add: 'M12 5v14M5 12h14',
  leave: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
  done: 'M5 13l4 4L19 7',
  failed: 'M6 6l12 12M18 6L6 18',
  attention: 'M12 4l9 16H3zM12 10v4M12 17v.5',
  queued: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 7v5l3 2',
  running: 'M8 5l11 7-11 7z',
  pause: 'M8 5v14M16 5v14',
  held: 'M8 3h8v5l-4 4 4 4v5H8v-5l4-4-4-4z',
  directory: 'M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  upload: 'M12 15V4M7 8l5-5 5 5M5 20h14',
  retry: 'M4 12a8 8 0 0 1 14-5l2 2M20 4v5h-5M20 12a8 8 0 0 1-14 5l-2-2M4 20v-5h5',
  chain: 'M10 14l4-4M8 11l-2 2a3.5 3.5 0 0 0 5 5l2-2M16 13l2-2a3.5 3.5 0 0 0-5-5l-2 2',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  down: 'M6 9l6 6 6-6',
  back: 'M15 5l-7 7 7 7',
  forth: 'M9 5l7 7-7 7',
  calendar: 'M5 5h14v15H5zM5 10h14M9 3v4M15 3v4M9 14h2M13 14h2',
};
PATHS.cancelled = PATHS.failed;
PATHS.keys = PATHS.key;

export const icon = (name) => el('svg:svg',
  { class: `icon${name === 'more' ? ' bold' : ''}`, viewBox: '0 0 24 24', 'aria-hidden': 'true' },
  el('svg:path', { d: PATHS[name] }));

/* One polite region for results and new rows, one assertive for what was refused. Polls pass
 * quiet: at most one of theirs in 5 seconds. */
let spokenAt = 0;
export function announce(text, { assertive, quiet } = {}) {
  if (quiet && Date.now() - spokenAt < 5000) return;
  spokenAt = Date.now();
  const region = document.getElementById(assertive ? 'alarm' : 'say');
  region.textContent = '';
  // A region that changes to the same words is not read again; emptied before, it is.
  setTimeout(() => { region.textContent = text; }, 60);
}

/* While somebody reads or chooses, answers of polls are held back. */
export const busy = () => Boolean(document.querySelector('dialog[open], :popover-open, [data-ticked]'))
  || !(document.getSelection()?.isCollapsed ?? true);

/* What this browser remembers of its user: language, theme, compact rows, keys, last company. */
export function remembered(name, value) {
  let all = {};
  try { all = JSON.parse(localStorage.getItem('idadmin') || '{}'); } catch { /* none */ }
  if (value === undefined) return all[name];
  all[name] = value ?? undefined;
  try { localStorage.setItem('idadmin', JSON.stringify(all)); } catch { /* for this page only */ }
  return value;
}

export const later = (ms, run) => {
  let timer;
  return (...values) => { clearTimeout(timer); timer = setTimeout(run, ms, ...values); };
};

/* On a phone the rows of a list begin high: what stands above them is folded. */
export const phone = matchMedia('(max-width:40em)');
phone.addEventListener('change', () => redraw());
