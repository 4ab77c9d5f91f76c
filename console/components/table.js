// Owns tables and lists that grow by "Show more": rows by ID, order, columns, ticks and what is done
// with them. Below 640 px a row is a card (style.css); role attributes keep the table's meaning there.
import { get, whenBack } from '../api.js';
import { announce, el, icon, later, phone, redraw, remembered } from '../dom.js';
import { language, t } from '../format.js';
import { memory, parse, setQuery } from '../router.js';
import { button } from './page.js';
import { empty as emptyState, errorText, failed, notice, safely } from './states.js';
import { menu as menuOf } from './menu.js';
import { viewItems } from './views.js';

const MOST = 1000; // rows that one change takes in, or that are sorted here

/* columns [{label, cell(row), kind: 'main'|'wide'|'num'|''}]; main and wide take the full width of a
 * card. id(row): what stays the same over polls. label(row): what a row's menu and tick are called by.
 * menu(row): items of the row's menu, none for none. ticks {ticked: Map, change(row, on, range)}.
 * sort(column): {at: 'ascending'|'descending'|'none', press()} of a column that can be sorted by. */
function table({ caption, columns, rows, id, label, menu, ticks, sort }) {
  const all = [
    ticks && {
      label: t('table.tick'), hidden: true, kind: 'tick',
      cell: (row) => el('label', { class: 'tickbox' }, el('input', {
        type: 'checkbox', 'aria-label': label(row), checked: ticks.ticked.has(id(row)),
        onclick: (event) => ticks.change(row, event.currentTarget.checked, event.shiftKey),
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
  const heading = (column) => {
    const order = sort(column);
    return el('th', { scope: 'col', role: 'columnheader', class: column.kind,
      'aria-sort': order && order.at !== 'none' ? order.at : null },
    order ? el('button', { type: 'button', class: `sort ${order.at}`, onclick: order.press }, column.label,
      icon('down')) : el('span', { class: column.hidden ? 'unseen' : null }, column.label));
  };
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
    el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, all.map(heading))),
    el('tbody', { role: 'rowgroup' }, rows.map(line)));
}

/* Rows that are there already, in their order. */
export const rowsTable = (props) => table({ ...props, sort: () => null });

/* "50 of 1,204", "50 of more than 10,000". */
export const countText = (shown, { totalCount, totalCountIsMinimum }) =>
  t(totalCountIsMinimum ? 'list.ofMore' : 'list.of', { shown, total: totalCount });

/* Compares by a value of the rows; rows without one stand last in either direction. */
function byValue(value, down) {
  const words = new Intl.Collator(language(), { numeric: true });
  const missing = (one) => one === null || one === undefined || one === '';
  return (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    const order = typeof x === 'number' ? x - y : words.compare(x, y);
    return down ? -order : order;
  };
}

/* The columns that stand, by what this browser remembers of the list; column.off: not unless chosen. */
function chosenColumns(name, columns) {
  const stored = () => remembered('columns')?.[name] || {};
  const on = (column) => !column.key || column.kind === 'main' || (stored()[column.key] ?? !column.off);
  const turn = (column) => remembered('columns', { ...remembered('columns'),
    [name]: { ...stored(), [column.key]: !on(column) } });
  return {
    shown: () => columns.filter(on),
    items: () => columns.filter((column) => column.key && column.kind !== 'main').map((column) => ({
      label: column.label, current: on(column), run: () => { turn(column); redraw(); },
    })),
  };
}

/* What is ticked: rows by ID, those of "all that match" among them though they are not loaded. */
function ticking({ id, rows, more }) {
  const ticked = new Map();
  let last, taking;
  function change(row, on, range) {
    const order = rows();
    const [from, to] = [order.findIndex((one) => id(one) === last), order.indexOf(row)].sort((a, b) => a - b);
    for (const each of range && from >= 0 ? order.slice(from, to + 1) : [row]) {
      if (on) ticked.set(id(each), each); else ticked.delete(id(each));
    }
    last = id(row);
    redraw();
  }
  /* Those that match now; what comes later is not touched. */
  async function takeAll() {
    if (taking) return;
    taking = true;
    redraw();
    try {
      for (const row of await more(MOST)) ticked.set(id(row), row);
      announce(t('tasks.ticked', { n: ticked.size }));
    } catch (error) { if (error.status !== undefined) notice({ tone: 'bad', text: errorText(error) }); }
    taking = false;
    redraw();
  }
  const clear = () => { ticked.clear(); redraw(); };
  /* Rows that are gone are ticked no longer, the others are as they were read last. */
  function keep(fresh) {
    const there = new Map(fresh.map((row) => [id(row), row]));
    for (const one of ticked.keys()) if (there.has(one)) ticked.set(one, there.get(one)); else ticked.delete(one);
  }
  /* Beside the verbs: how many, all that match, none. */
  const bar = (verbs, { totalCount: total = 0 }) => {
    const picked = [...ticked.values()];
    if (!picked.length) return null;
    const items = [...verbs(picked), total > picked.length && picked.length < MOST && { plain: true, key: 'all',
      label: total > MOST ? t('tasks.first', { n: MOST, total }) : t('tasks.everything', { n: total }),
      run: takeAll, 'aria-busy': taking ? 'true' : null },
    { label: t('tasks.untick'), plain: true, key: 'none', run: clear }].filter(Boolean);
    return el('div', { class: 'bulk', role: 'region', 'aria-label': t('tasks.bulk') },
      el('strong', null, t('tasks.ticked', { n: picked.length })),
      phone.matches ? menuOf({ label: t('table.actions'), kind: 'small', items: items.map(({ key, ...one }) => one) })
        : items.map(({ label, plain, ...one }) => button(label, { kind: plain ? 'small plain' : 'small', ...one })));
  };
  return { ticked, change, clear, keep, bar };
}

/* A table of one list operation: loads, grows, is polled, sorted, reloads when filters change. What
 * cannot be had is said in its place.
 * query(): its arguments. filter: of filters(), whose values the address keeps. none(): the empty state
 * {text, action}. of(data): the page {items, totalCount, nextCursor} in an answer that is not one.
 * every: as of poll(), rows are given. note: "2 tasks changed". bulk(rows): [{label, icon, key, run}] for those that
 * are ticked; without it none can be. name: of the list, where columns are chosen and views saved.
 * columns, as of table(), with key and: sort(row), what a row is sorted by; order {asc, desc}, words by
 * which the service sorts, which else is done here, of up to 1,000 rows.
 * Answers {view(), tools(), ready, poll, reload(), rows(), page(), clear()}; reload announces the number
 * of hits. tools(): a menu for columns, order, views. */
export function list({ name, path, filter, query = () => filter?.query() ?? {}, limit = 50, none, every, note,
  signal, foot, of = (data) => data, id = (row) => row.id, bulk, columns, ...rest }) {
  let rows = [], page = {}, turn = 0, error, more, growing, loading;
  const chosen = chosenColumns(name, columns);

  /* --- order --- */
  let own = parse().query.sort || '';
  const wanted = () => (filter ? filter.query().sort || '' : own);
  function sorting() {
    const [down, key] = wanted().startsWith('-') ? [true, wanted().slice(1)] : [false, wanted()];
    const column = columns.find((one) => key && one.key === key && (one.sort || one.order));
    return column && { column, down, order: column.order?.[down ? 'desc' : 'asc'] };
  }
  const here = () => { const by = sorting(); return by && !by.order && by; };
  const unsorted = () => here() && page.nextCursor; // too many rows to be sorted here
  function sortBy(column) {
    const by = sorting();
    const next = by?.column !== column ? column.key : by.down ? '' : `-${column.key}`;
    if (filter) { filter.set({ sort: next }); return; }
    own = next;
    setQuery({ ...parse().query, sort: next });
    reload();
  }
  const sort = (column) => {
    if (!column.key || !(column.sort || column.order)) return null;
    const by = sorting();
    return { at: by?.column !== column || unsorted() ? 'none' : by.down ? 'descending' : 'ascending',
      press: () => sortBy(column) };
  };
  const shown = () => {
    const by = here();
    return by && !unsorted() ? [...rows].sort(byValue(by.column.sort, by.down)) : rows;
  };

  /* --- rows --- */
  const args = () => {
    const { sort: left, ...given } = query();
    const order = sorting()?.order;
    return order ? { ...given, order } : given;
  };
  const ask = async (further) => of(await get(path, { ...args(), ...further }, signal));
  async function upTo(most, data) {
    let all = data;
    while (all.items.length < most && all.nextCursor) {
      const next = await ask({ limit: 200, cursor: all.nextCursor });
      all = { ...next, items: [...all.items, ...next.items] };
    }
    return all;
  }
  const ticks = !bulk ? null : ticking({ id, rows: shown,
    more: async (most) => (await upTo(most, await ask({ limit: 200 }))).items.slice(0, most) });
  function keep(fresh) {
    memory().loaded = rows.length;
    if (fresh) ticks?.keep(rows);
    redraw();
  }
  async function first(before = limit) {
    const mine = ++turn;
    const most = here() ? MOST : before;
    try {
      const data = await upTo(most, await ask({ limit: Math.min(200, Math.max(limit, most)) }));
      if (mine !== turn) return;
      [page, rows, error] = [data, data.items, null];
      keep(true);
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
    keep(true);
  };

  /* --- what is seen --- */
  const tools = () => name && menuOf({
    label: t('lists.view'), kind: 'small', items: () => {
      const orders = columns.filter(sort).map((column) => ({ label: column.label, kind: 'narrow-only',
        current: sort(column).at !== 'none', run: () => sortBy(column) }));
      const title = (text, kind = '') => el('p', { class: `menu-title ${kind}` }, text);
      return [orders.length > 0 && title(t('lists.sort'), 'narrow-only'), ...orders,
        title(t('lists.columns')), ...chosen.items(), title(t('lists.views')), ...viewItems()];
    },
  });
  const empty = () => { const { text, action } = none(); return emptyState(text, action); };
  const view = () => el('div', { class: 'list', 'aria-busy': loading ? 'true' : null },
    error ? failed(error, reload) : !rows.length ? empty() : [
      ticks?.bar(bulk, page),
      unsorted() && el('p', { class: 'muted' }, t('lists.unsorted', { n: MOST })),
      table({ rows: shown(), id, ticks, sort, columns: chosen.shown(), ...rest }),
      el('div', { class: 'list-foot' }, page.nextCursor && el('button', { type: 'button', class: 'button',
        'aria-busy': growing ? 'true' : null, onclick: grow }, t('list.more')),
      el('span', { class: 'muted' }, page.nextCursor || rows.length > 5 ? countText(rows.length, page) : ''),
      foot, more && failed(more))]);
  return {
    view, tools, reload, rows: () => rows, page: () => page, ready: first(memory().loaded),
    clear: () => ticks?.clear(),
    poll: every && {
      path, apply: polled,
      note: note && ((data) => {
        const n = changes(rows, of(data).items, id);
        return n && note(n);
      }),
      query: () => ({ ...args(), limit: Math.min(200, Math.max(limit, rows.length)) }),
      every: typeof every === 'function' ? () => every(rows) : every,
    },
  };
}

const changes = (old, fresh, id) => {
  const texts = new Map(old.map((row) => [id(row), JSON.stringify(row)]));
  return fresh.filter((row) => texts.get(id(row)) !== JSON.stringify(row)).length;
};
