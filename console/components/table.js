// Owns tables: rows replaced in place by ID, ticks, sorting, and lists that grow by "Show more".
// Below 640 px a row is a card (style.css); role attributes keep the table's meaning there.
import { get } from '../api.js';
import { announce, el, icon, later, nodes } from '../dom.js';
import { t } from '../format.js';
import { memory } from '../router.js';
import { empty as emptyState, failed, part } from './states.js';
import { menu as menuOf } from './menu.js';

/* columns [{label, cell(row), kind: 'main'|'wide'|'num'|'', sort}]; main and wide take the full width
 * of a card. id(row): what stays the same over polls. label(row): what a row's menu and tick
 * are called by. menu(row): items of the row's menu, none for none. ticks: {change(ids)}. sorted
 * {by, descending} with sort(by).
 * Answers {node, update(rows), ticked, tick(ids), count}. */
export function table({ caption, columns, id = (row) => row.id, label, menu, ticks, sorted, sort }) {
  const body = el('tbody', { role: 'rowgroup' });
  const known = new Map(); // id -> {text, node}
  const ticked = new Set();
  let lastTick;

  const header = (column) => {
    const by = sorted && column.sort;
    const active = by && sorted.by === column.sort;
    return el('th', {
      scope: 'col', role: 'columnheader', class: column.kind,
      'aria-sort': active ? (sorted.descending ? 'descending' : 'ascending') : null,
    }, by ? el('button', { type: 'button', class: 'sort', onclick: () => sort(column.sort) },
      column.label, active && icon('down'))
      : el('span', { class: column.hidden ? 'unseen' : null }, column.label));
  };
  const all = [
    ticks && { label: t('table.tick'), hidden: true, kind: 'tick', cell: tickBox },
    ...columns,
    menu && {
      label: t('table.actions'), hidden: true, kind: 'act',
      cell: (row) => {
        const items = menu(row);
        return items.length ? menuOf({ dots: t('table.actionsFor', { name: label?.(row) ?? id(row) }),
          items }) : null;
      },
    },
  ].filter(Boolean);

  function tickBox(row) {
    return el('label', { class: 'tickbox' }, el('input', {
      type: 'checkbox', 'aria-label': label(row), checked: ticked.has(id(row)),
      onclick: (event) => tickOne(id(row), event.currentTarget.checked, event.shiftKey),
    }));
  }
  function tickOne(one, on, range) {
    const order = [...known.keys()];
    const [from, to] = [order.indexOf(lastTick), order.indexOf(one)].sort((a, b) => a - b);
    for (const each of range && from >= 0 ? order.slice(from, to + 1) : [one]) {
      if (on) ticked.add(each); else ticked.delete(each);
    }
    lastTick = one;
    showTicks();
  }
  function showTicks() {
    for (const [one, { node: row }] of known) {
      const box = row.querySelector('.tickbox input');
      if (box) box.checked = ticked.has(one);
      row.classList.toggle('on', ticked.has(one));
    }
    if (ticked.size) node.dataset.ticked = ''; else delete node.dataset.ticked;
    ticks?.change([...ticked]);
  }
  const line = (row) => el('tr', { role: 'row', 'data-id': id(row) }, all.map((column) => el(
    column.kind === 'main' ? 'th' : 'td', {
      role: column.kind === 'main' ? 'rowheader' : 'cell',
      scope: column.kind === 'main' ? 'row' : null,
      class: column.kind, 'data-label': column.hidden || column.kind === 'main' ? null : column.label,
    }, ...nodes([column.cell(row)]))));

  /* Rows that tell the same stay the nodes they are, with focus and open menus in them. */
  function update(rows) {
    const wanted = rows.map((row) => {
      const text = JSON.stringify(row);
      const old = known.get(id(row));
      if (old?.text === text) return [id(row), old];
      const made = line(row);
      if (old?.node.contains(document.activeElement)) {
        requestAnimationFrame(() => made.querySelector('a, button')?.focus({ preventScroll: true }));
      }
      old?.node.replaceWith(made);
      return [id(row), { text, node: made }];
    });
    known.clear();
    wanted.forEach(([one, entry], at) => {
      known.set(one, entry);
      if (body.children[at] !== entry.node) body.insertBefore(entry.node, body.children[at] || null);
    });
    while (body.children.length > wanted.length) body.lastElementChild.remove();
    const before = ticked.size;
    for (const one of ticked) if (!known.has(one)) ticked.delete(one);
    if (before !== ticked.size) showTicks();
  }

  const node = el('table', { class: 'table', role: 'table' },
    el('caption', { class: 'unseen' }, caption),
    el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, all.map(header))), body);
  return {
    node, update, ticked,
    tick(ids) { ticked.clear(); ids.forEach((one) => ticked.add(one)); showTicks(); },
  };
}

/* "50 of 1,204", "50 of more than 10,000". */
export const countText = (shown, { totalCount, totalCountIsMinimum }) =>
  t(totalCountIsMinimum ? 'list.ofMore' : 'list.of', { shown, total: totalCount });

/* A table of one list operation: loads, grows, is polled, reloads when filters change.
 * query(): its arguments. none(): the empty state {text, action}. map(item): a row of an item.
 * loaded(data): told of each first page. of(data): the page {items, totalCount, nextCursor} in an
 * answer that is not one. every: as of poll(), rows are given. note: "2 tasks changed".
 * Answers {node, ready, poll, reload(), table, rows()}; reload announces the number of hits. */
export function list({ path, query = () => ({}), limit = 50, none, loaded, every, note, signal,
  foot, of = (data) => data, ...rest }) {
  const made = table(rest);
  const id = rest.id || ((row) => row.id);
  let rows = [], page = {}, turn = 0;
  const more = el('button', { type: 'button', class: 'button', onclick: grow }, t('list.more'));
  const count = el('span', { class: 'muted' });
  const bar = el('div', { class: 'list-foot' }, more, count, foot);
  const host = el('div', { class: 'list' });

  function show() {
    made.update(rows);
    memory().loaded = rows.length;
    more.hidden = !page.nextCursor;
    count.textContent = page.nextCursor || rows.length > 5 ? countText(rows.length, page) : '';
    if (rows.length) {
      if (made.node.parentNode !== host) host.replaceChildren(made.node, bar);
    } else {
      const { text, action } = none();
      host.replaceChildren(emptyState(text, action));
    }
  }
  const take = (data) => { page = data; rows = data.items; loaded?.(data); show(); };

  const ask = async (more) => of(await get(path, { ...query(), ...more }, signal));
  async function first(wanted = limit) {
    const mine = ++turn;
    let data = await ask({ limit: Math.min(200, Math.max(limit, wanted)) });
    while (data.items.length < wanted && data.nextCursor) {
      const next = await ask({ limit: 200, cursor: data.nextCursor });
      data = { ...next, items: [...data.items, ...next.items] };
    }
    if (mine === turn) take(data);
  }
  async function grow() {
    more.setAttribute('aria-busy', 'true');
    const at = rows.length;
    try {
      const next = await ask({ limit, cursor: page.nextCursor });
      page = next;
      rows = [...rows, ...next.items.filter((item) => !rows.some((row) => id(row) === id(item)))];
      show();
      made.node.querySelectorAll('tbody tr')[at]?.querySelector('a, button, input')?.focus();
      announce(countText(rows.length, page));
    } catch (error) {
      if (!signal?.aborted) bar.append(failed(error));
    }
    more.removeAttribute('aria-busy');
  }
  const reload = later(0, async () => {
    host.setAttribute('aria-busy', 'true');
    try {
      await first();
      announce(t('list.hits', { n: page.totalCount }));
    } catch (error) {
      if (!signal?.aborted) host.replaceChildren(failed(error, reload));
    }
    host.removeAttribute('aria-busy');
  });
  /* The first page anew; rows beyond it stay as they were loaded. */
  const polled = (answer) => {
    const data = of(answer);
    const fresh = new Set(data.items.map(id));
    const beyond = rows.length > data.items.length && data.nextCursor
      ? rows.slice(data.items.length).filter((row) => !fresh.has(id(row))) : [];
    page = { ...data, nextCursor: beyond.length ? page.nextCursor : data.nextCursor };
    rows = [...data.items, ...beyond];
    loaded?.(data);
    show();
  };
  return {
    node: host, table: made, reload, rows: () => rows,
    ready: first(memory().loaded),
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

/* A list inside a card, which alone shows why it is missing. */
export const listPart = (options) => part(async () => {
  const one = list(options);
  await one.ready;
  return one.node;
});
