// Owns the list of tasks: tabs by state, filters, ticks and the changes of many.
import { events, get } from '../api.js';
import { bdi, el, redraw } from '../dom.js';
import { dayOf, directoryName, instantOf, said, t, when, word } from '../format.js';
import { href } from '../router.js';
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

/* Links from elsewhere name a state, or days, and no tab. */
const tabOf = ({ tab, state, ...rest }) => (tab in TABS ? tab
  : state ? Object.keys(TABS).find((one) => TABS[one].state?.includes(state)) || 'all'
    : rest.dueFrom || rest.dueTo ? 'all' : 'needs');

/* Why it stands where it stands. */
const reason = (task) => (task.braked ? t('tasks.braked')
  : task.hold ? t('tasks.held', { directory: directoryName(task.hold.directory) })
    : task.error ? said(task.error) ?? t('service.says') : '');

const needing = ({ queue }) => queue.failed + queue.attention;
const title = (n) => (n ? `${t('nav.tasks')} (${n})` : t('nav.tasks'));

const soon = (task) => task.state === 'running'
  || (task.state === 'queued' && Date.parse(task.scheduledAtUtc) - Date.now() < 6e4 && !task.hold);

export async function page({ company, query, signal }) {
  const tab = tabOf(query);
  // Days of links from elsewhere are instants, those of the fields days of the company's zone.
  const day = (value) => (value?.includes('T') ? dayOf(value) : value);
  const chosen = { ...query, tab, dueFrom: day(query.dueFrom), dueTo: day(query.dueTo) };
  delete chosen.state;

  let tasks, figures = await get('pulse', {}, signal);
  const filter = filters({
    query: chosen,
    more: [
      { name: 'userPrincipalName', kind: 'person', label: t('tasks.person') },
      { name: 'type', kind: 'select', label: t('tasks.what'), options: [{ value: '', label: t('any') },
        ...TYPES.map((value) => ({ value, label: word('type', value) }))] },
      { name: 'dueFrom', kind: 'date', label: t('tasks.dueFrom') },
      { name: 'dueTo', kind: 'date', label: t('tasks.dueTo') },
      { name: 'username', label: t('person.by') },
      { name: 'braked', kind: 'check', label: t('task.braked') },
    ],
    change: () => tasks.reload(),
  });
  const args = () => {
    const { tab: at, dueFrom, dueTo, ...rest } = filter.query();
    return { ...TABS[at] || TABS[tab], ...rest, dueFrom: dueFrom && instantOf(dueFrom),
      dueTo: dueTo && instantOf(dueTo) };
  };

  /* What may be done with those that are ticked. */
  const bulk = (picked) => {
    const can = (verb) => picked.filter((one) => verbsOf(one, company).includes(verb));
    return VERBS.filter((verb) => can(verb).length).map((verb) => ({
      label: t(`act.${verb}`), run: () => actMany(verb, can(verb)), key: verb,
    }));
  };

  const may = company.can('tasks.write');
  const label = (task) => task.displayName || task.userPrincipalName;
  const by = (task) => task.requestedBy?.label || task.requestedBy?.username || '';
  tasks = list({
    name: 'tasks', path: 'tasks', filter, query: args, signal, caption: t(`tasks.tab.${tab}`),
    columns: [
      { key: 'person', sort: label, label: t('tasks.person'), kind: 'main',
        cell: (task) => person(task, href('task', task.id)) },
      { key: 'what', sort: (task) => word('type', task.type), label: t('tasks.what'),
        cell: (task) => word('type', task.type) },
      { key: 'state', sort: (task) => word('state', task.state), label: t('tasks.state'),
        cell: (task) => [statePill(task.state), el('small', { class: 'muted under' }, reason(task))] },
      { key: 'by', off: true, sort: by, label: t('person.by'), cell: (task) => bdi(by(task)) },
      { key: 'asked', off: true, sort: (task) => task.createdAt, order: { desc: 'newest' },
        label: t('lists.asked'), cell: (task) => when(task.createdAt, 'cell') },
      { key: 'due', sort: (task) => task.scheduledAtUtc, order: { asc: 'due' }, label: t('tasks.due'),
        cell: (task) => when(task.scheduledAtUtc, 'cell') },
    ],
    label, bulk: may && bulk,
    menu: (task) => verbsOf(task, company).map((verb) => ({
      label: t(`act.${verb}`), run: () => act(verb, task.id), kind: verb === 'cancel' ? 'danger' : '',
    })),
    none: () => ({
      text: t(`tasks.none.${tab}`),
      action: tab === 'queued' && company.can('people.write')
        ? button(t('hire.title'), { href: href('hire'), icon: 'add' }) : null,
    }),
    every: (rows) => (rows.some(soon) ? 5000 : 15000),
    note: (n) => t('tasks.changed', { n }),
  });
  await tasks.ready;
  events.addEventListener('pulse', ({ detail }) => { if (detail.queue) figures = detail; redraw(); }, { signal });
  const marks = () => {
    const counts = { ...figures.queue, needs: needing(figures) };
    return tabs(t('nav.tasks'), Object.keys(TABS).map((one) => ({
      label: t(`tasks.tab.${one}`), count: counts[one], current: one === tab,
      href: href('tasks', '', { ...filter.query(), tab: one }),
    })));
  };
  return {
    title: () => title(needing(figures)),
    view: () => el('div', { class: 'page' }, head({ title: t('nav.tasks') }), marks(),
      el('div', { class: 'card' }, filter.view(tasks.tools()), tasks.view())),
    poll: tasks.poll,
  };
}
