// Owns tables and lists that grow by "Show more": rows by ID, ticks. Below 640 px a row is a card
// (style.css); role attributes keep the table's meaning there.
import { get, whenBack } from '../api.js';
import { announce, el, later, redraw } from '../dom.js';
import { t } from '../format.js';
import { memory } from '../router.js';
import { empty as emptyState, failed, safely } from './states.js';
import { menu as menuOf } from './menu.js';

/* columns [{label, cell(row), kind: 'main'|'wide'|'num'|''}]; main and wide take the full width of a
 * card. id(row): what stays the same over polls. label(row): what a row's menu and tick are called by.
 * menu(row): items of the row's menu, none for none. ticks {ticked: Set, change(id, on, range)}. */
function table({ caption, columns, rows, id, label, menu, ticks }) {
  const all = [
    ticks && {
      label: t('table.tick'), hidden: true, kind: 'tick',
      cell: (row) => el('label', { class: 'tickbox' }, el('input', {
        type: 'checkbox', 'aria-label': label(row), checked: ticks.ticked.has(id(row)),
        onclick: (event) => ticks.change(id(row), event.currentTarget.checked, event.shiftKey),
      })),
    },
    ...columns,
    menu && {
      label: t('table.actions'), hidden: true, kind: 'act',
      cell: (row) => {
        const items = menu(row);
        return items.length > 0 && menuOf({ dots: t('table.actionsFor', { name: label?.(row) ?? id(row) }), items });
      },
    },
  ].filter(Boolean);
  const line = (row) => el('tr', { role: 'row', key: id(row), 'data-id': id(row),
    class: ticks && ticks.ticked.has(id(row)) ? 'on' : null }, all.map((column) => {
    const main = column.kind === 'main';
    return el(main ? 'th' : 'td', {
      role: main ? 'rowheader' : 'cell', scope: main ? 'row' : null, class: column.kind,
      'data-label': column.hidden || main ? null : column.label,
    }, safely(() => column.cell(row)));
  }));
  return el('table', { class: 'table', role: 'table', 'data-ticked': ticks && ticks.ticked.size > 0 ? '' : null },
    el('caption', { class: 'unseen' }, caption),
    el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, all.map((column) => el('th', {
      scope: 'col', role: 'columnheader', class: column.kind,
    }, el('span', { class: column.hidden ? 'unseen' : null }, column.label))))),
    el('tbody', { role: 'rowgroup' }, rows.map(line)));
}

/* "50 of 1,204", "50 of more than 10,000". */
export const countText = (shown, { totalCount, totalCountIsMinimum }) =>
  t(totalCountIsMinimum ? 'list.ofMore' : 'list.of', { shown, total: totalCount });

/* A table of one list operation: loads, grows, is polled, reloads when filters change. What cannot be
 * had is said in its place.
 * query(): its arguments. none(): the empty state {text, action}. of(data): the page {items,
 * totalCount, nextCursor} in an answer that is not one. every: as of poll(), rows are given. note:
 * "2 tasks changed". ticks: true for rows that can be ticked.
 * Answers {view(), ready, poll, reload(), rows(), page(), ticked(), tick(ids)}; reload announces the
 * number of hits. */
export function list({ path, query = () => ({}), limit = 50, none, every, note, signal, foot,
  of = (data) => data, id = (row) => row.id, ticks, ...rest }) {
  let rows = [], page = {}, turn = 0, error, more, growing, loading, lastTick;
  const ticked = new Set();

  const take = (data) => {
    [page, rows, error] = [data, data.items, null];
    keep();
  };
  function keep() {
    memory().loaded = rows.length;
    const there = new Set(rows.map(id));
    for (const one of ticked) if (!there.has(one)) ticked.delete(one);
    redraw();
  }
  const ask = async (further) => of(await get(path, { ...query(), ...further }, signal));
  async function first(wanted = limit) {
    const mine = ++turn;
    try {
      let data = await ask({ limit: Math.min(200, Math.max(limit, wanted)) });
      while (data.items.length < wanted && data.nextCursor) {
        const next = await ask({ limit: 200, cursor: data.nextCursor });
        data = { ...next, items: [...data.items, ...next.items] };
      }
      if (mine === turn) take(data);
    } catch (fault) {
      if (signal.aborted) throw fault;
      if (mine !== turn) return;
      error = fault;
      whenBack(fault, () => mine === turn && reload(), signal);
      redraw();
    }
  }
  async function grow() {
    if (growing) return;
    [growing, more] = [true, null];
    redraw();
    const at = rows.length;
    try {
      const next = await ask({ limit, cursor: page.nextCursor });
      page = next;
      rows = [...rows, ...next.items.filter((item) => !rows.some((row) => id(row) === id(item)))];
      keep();
      announce(countText(rows.length, page));
      const last = rows[at] && CSS.escape(id(rows[at]));
      requestAnimationFrame(() => last && document.querySelector(`[data-id="${last}"]`)
        ?.querySelector('a, button, input')?.focus());
    } catch (fault) { if (!signal.aborted) more = fault; }
    growing = false;
    redraw();
  }
  const reload = later(0, async () => {
    loading = true;
    redraw();
    await first().catch(() => {});
    loading = false;
    if (!error) announce(t('list.hits', { n: page.totalCount }));
    redraw();
  });
  /* The first page anew; rows beyond it stay as they were loaded. */
  const polled = (answer) => {
    const data = of(answer);
    const fresh = new Set(data.items.map(id));
    const beyond = rows.length > data.items.length && data.nextCursor
      ? rows.slice(data.items.length).filter((row) => !fresh.has(id(row))) : [];
    page = { ...data, nextCursor: beyond.length ? page.nextCursor : data.nextCursor };
    rows = [...data.items, ...beyond];
    error = null;
    keep();
  };
  function tickOne(one, on, range) {
    const order = rows.map(id);
    const [from, to] = [order.indexOf(lastTick), order.indexOf(one)].sort((a, b) => a - b);
    for (const each of range && from >= 0 ? order.slice(from, to + 1) : [one]) {
      if (on) ticked.add(each); else ticked.delete(each);
    }
    lastTick = one;
    redraw();
  }
  const empty = () => { const { text, action } = none(); return emptyState(text, action); };
  const view = () => el('div', { class: 'list', 'aria-busy': loading ? 'true' : null },
    error ? failed(error, reload) : !rows.length ? empty() : [
      table({ rows, id, ticks: ticks && { ticked, change: tickOne }, ...rest }),
      el('div', { class: 'list-foot' }, page.nextCursor && el('button', { type: 'button', class: 'button',
        'aria-busy': growing ? 'true' : null, onclick: grow }, t('list.more')),
      el('span', { class: 'muted' }, page.nextCursor || rows.length > 5 ? countText(rows.length, page) : ''),
      foot, more && failed(more))]);
  return {
    view, reload, rows: () => rows, page: () => page, ready: first(memory().loaded),
    ticked: () => ticked,
    tick(ids) { ticked.clear(); ids.forEach((one) => ticked.add(one)); redraw(); },
    poll: every && {
      path, apply: polled,
      note: note && ((data) => {
        const n = changes(rows, of(data).items, id);
        return n && note(n);
      }),
      query: () => ({ ...query(), limit: Math.min(200, Math.max(limit, rows.length)) }),
      every: typeof every === 'function' ? () => every(rows) : every,
    },
  };
}

const changes = (old, fresh, id) => {
  const texts = new Map(old.map((row) => [id(row), JSON.stringify(row)]));
  return fresh.filter((row) => texts.get(id(row)) !== JSON.stringify(row)).length;
};
