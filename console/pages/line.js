// Owns the reporting line of a person: managers upwards, one above the other, and who reports to them.
import { get } from '../api.js';
import { bdi, el, redraw } from '../dom.js';
import { t } from '../format.js';
import { box, button, card, person } from '../components/page.js';
import { failed, part } from '../components/states.js';
import { href } from '../router.js';

const HIGHEST = 12; // managers above each other that are looked up

/* From the person's manager to the top. circle: a manager reports to a person further down. */
async function upwards(user, signal) {
  const above = [], seen = new Set([user.id]);
  let next = user.manager;
  while (next && !seen.has(next.id) && above.length < HIGHEST) {
    seen.add(next.id);
    const { user: one } = await get('user/details', { user: next.id }, signal);
    above.push(one);
    next = one.manager;
  }
  return { above, circle: Boolean(next) && seen.has(next.id), more: Boolean(next) && !seen.has(next.id) };
}

/* Those who report to a person; a name opens those who report to that one. */
function reports(user, signal) {
  let rows = [], total = 0, cursor, error, growing;
  const below = new Map();
  const load = async () => {
    [growing, error] = [true, null];
    redraw();
    try {
      const page = await get('users', { manager: user.id, limit: 50, cursor }, signal);
      [rows, total, cursor] = [[...rows, ...page.items], page.totalCount, page.nextCursor];
    } catch (fault) { if (!signal.aborted) error = fault; }
    growing = false;
    redraw();
  };
  const line = (row) => el('li', { key: row.id }, el('details', { ontoggle: (event) => {
    if (event.currentTarget.open && !below.has(row.id)) { below.set(row.id, reports(row, signal)); redraw(); }
  } }, el('summary', null, person(row, href('person', row.id)), row.jobTitle && el('small', { class: 'muted' }, bdi(row.jobTitle))),
  below.get(row.id)?.view()));
  load();
  const foot = () => cursor && el('div', { class: 'list-foot' },
    button(t('list.more'), { run: load, 'aria-busy': growing ? 'true' : null }),
    el('span', { class: 'muted' }, t('list.of', { shown: rows.length, total })));
  return { view: () => (error ? failed(error, load) : growing && !rows.length ? el('i', { class: 'bar line' })
    : !rows.length ? null
      : [el('ul', { class: 'line-down' }, rows.map(line)), foot()]) };
}

export function line({ user, signal }) {
  const up = part(() => upwards(user, signal), ({ above, circle, more }) => (above.length ? [
    circle && box('warn', t('line.circle')),
    el('ol', { class: 'line-up' }, [...above].reverse().map((one) => el('li', { key: one.id },
      person(one, href('person', one.id)), one.jobTitle && el('small', { class: 'muted' }, bdi(one.jobTitle)))),
    el('li', { 'aria-current': 'true' }, person(user))), more && el('p', { class: 'muted' }, t('line.higher'))]
    : el('p', { class: 'muted' }, t('line.top'))));
  const down = reports(user, signal);
  return { ready: up.ready, view: () => [card({ title: t('line.up') }, up.view()),
    card({ title: t('line.down', { n: user.directReportCount }) }, down.view())] };
}
