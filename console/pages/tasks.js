// Owns the list of tasks: tabs by state, filters, ticks and the changes of many.
import { events, get } from '../api.js';
import { announce, bdi, el } from '../dom.js';
import { dayOf, directoryName, instantOf, t, when, word } from '../format.js';
import { href, setTitle } from '../router.js';
import { filters } from '../components/filters.js';
import { button, head, person, statePill, tabs } from '../components/page.js';
import { list } from '../components/table.js';
import { VERBS, act, actMany, verbsOf } from './task.js';

export const shape = 'table';

/* Tab -> arguments. Counting history is dear and tells nothing: the first three alone have counts. */
const TABS = {
  needs: { state: 'failed,attention' }, running: { state: 'running' },
  queued: { state: 'queued', order: 'due' }, done: { state: 'done' }, cancelled: { state: 'cancelled' },
  all: {},
};
const TYPES = ['userCreate', 'userUpdate', 'userDelete', 'accessGrant', 'accessRevoke'];
const MOST = 1000; // tasks that one change takes in

/* Links from elsewhere name a state, or days, and no tab. */
const tabOf = ({ tab, state, ...rest }) => (tab in TABS ? tab
  : state ? Object.keys(TABS).find((one) => TABS[one].state?.includes(state)) || 'all'
    : rest.dueFrom || rest.dueTo ? 'all' : 'needs');

/* Why it stands where it stands. */
const reason = (task) => (task.braked ? t('tasks.braked')
  : task.hold ? t('tasks.held', { directory: directoryName(task.hold.directory) })
    : task.error ? el('q', { lang: 'en' }, bdi(task.error)) : '');

const needing = ({ queue }) => queue.failed + queue.attention;
const title = (n) => (n ? `${t('tasks.title')} (${n})` : t('tasks.title'));

const soon = (task) => task.state === 'running'
  || (task.state === 'queued' && Date.parse(task.scheduledAtUtc) - Date.now() < 6e4 && !task.hold);

export async function page({ company, query, signal }) {
  const tab = tabOf(query);
  const pulse = await get('pulse', {}, signal);
  // Days of links from elsewhere are instants, those of the fields days of the company's zone.
  const day = (value) => (value?.includes('T') ? dayOf(value) : value);
  const chosen = { ...query, tab, dueFrom: day(query.dueFrom), dueTo: day(query.dueTo) };
  delete chosen.state;

  let tasks, everything;
  const filter = filters({
    query: chosen,
    more: [
      { name: 'userPrincipalName', kind: 'person', label: t('tasks.person') },
      { name: 'type', kind: 'select', label: t('tasks.what'), options: [{ value: '', label: t('any') },
        ...TYPES.map((value) => ({ value, label: word('type', value) }))] },
      { name: 'dueFrom', kind: 'date', label: t('tasks.dueFrom') },
      { name: 'dueTo', kind: 'date', label: t('tasks.dueTo') },
      { name: 'username', label: t('tasks.by') },
      { name: 'braked', kind: 'check', label: t('tasks.brakedOnly') },
    ],
    change: () => tasks.reload(),
  });
  const args = () => {
    const { tab: at, dueFrom, dueTo, ...rest } = filter.query();
    return { ...TABS[at] || TABS[tab], ...rest, dueFrom: dueFrom && instantOf(dueFrom),
      dueTo: dueTo && instantOf(dueTo) };
  };

  const bulk = el('div', { class: 'bulk', role: 'region', 'aria-label': t('tasks.bulk'), hidden: true });
  let total = 0;
  function showBulk(ids) {
    const picked = everything || tasks.rows().filter((one) => ids.includes(one.id));
    bulk.hidden = !picked.length;
    if (!picked.length) return;
    const can = (verb) => picked.filter((one) => verbsOf(one, company).includes(verb));
    bulk.replaceChildren(el('strong', null, t('tasks.ticked', { n: picked.length })),
      ...VERBS.filter((verb) => can(verb).length)
        .map((verb) => button(t(`act.${verb}`), {
          kind: 'small', run: () => actMany(verb, can(verb)),
        })),
      ...(total > picked.length && total > tasks.rows().length ? [button(
        t('tasks.everything', { n: Math.min(total, MOST) }), { kind: 'small plain', run: takeAll })] : []),
      button(t('tasks.untick'), {
        kind: 'small plain', run: () => { everything = null; tasks.table.tick([]); },
      }));
    announce(t('tasks.ticked', { n: picked.length }));
  }
  /* Those that match now; what comes later is not touched. */
  async function takeAll(event) {
    event.currentTarget.setAttribute('aria-busy', 'true');
    const all = [];
    let cursor;
    do {
      const next = await get('tasks', { ...args(), limit: 200, cursor }, signal);
      all.push(...next.items);
      cursor = next.nextCursor;
    } while (cursor && all.length < MOST);
    tasks.table.tick(tasks.rows().map((one) => one.id));
    everything = all.slice(0, MOST);
    showBulk([]);
  }

  const may = company.can('tasks.write');
  const label = (task) => task.displayName || task.userPrincipalName;
  tasks = list({
    path: 'tasks', query: args, signal, caption: t(`tasks.tab.${tab}`),
    columns: [
      { label: t('tasks.person'), kind: 'main', cell: (task) => person(task, href('task', task.id)) },
      { label: t('tasks.what'), cell: (task) => word('type', task.type) },
      { label: t('tasks.state'), cell: (task) => statePill(task.state) },
      { label: t('tasks.reason'), kind: 'wide', cell: (task) => el('small', null, reason(task)) },
      { label: t('tasks.due'), cell: (task) => when(task.scheduledAtUtc) },
    ],
    label, ticks: may && { change: (ids) => { if (!ids.length) everything = null; showBulk(ids); } },
    menu: (task) => verbsOf(task, company).map((verb) => ({
      label: t(`act.${verb}`), run: () => act(verb, task.id), kind: verb === 'cancel' ? 'danger' : '',
    })),
    none: () => ({
      text: t(`tasks.none.${tab}`),
      action: tab === 'queued' && company.can('people.write')
        ? button(t('hire.title'), { href: href('hire'), icon: 'add' }) : null,
    }),
    loaded: (data) => { total = data.totalCount; },
    every: (rows) => (rows.some(soon) ? 5000 : 15000),
    note: (n) => t('tasks.changed', { n }),
  });
  await tasks.ready;
  const marks = el('div');
  const showTabs = (figures) => {
    const counts = { ...figures.queue, needs: needing(figures) };
    const at = [...marks.querySelectorAll('a')].indexOf(document.activeElement);
    marks.replaceChildren(tabs(t('tasks.title'), Object.keys(TABS).map((one) => ({
      label: t(`tasks.tab.${one}`), count: counts[one], current: one === tab,
      href: href('tasks', '', { ...filter.query(), tab: one }),
    }))));
    marks.querySelectorAll('a')[at]?.focus();
    setTitle(title(counts.needs));
  };
  showTabs(pulse);
  events.addEventListener('pulse', ({ detail }) => detail.queue && showTabs(detail), { signal });
  return {
    title: title(needing(pulse)),
    node: el('div', { class: 'page' }, head({ title: t('tasks.title') }), marks, filter.node, bulk,
      el('div', { class: 'card' }, tasks.node)),
    poll: tasks.poll,
  };
}
