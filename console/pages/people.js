// The list of people: search, status, further filters; and beside it those whose hire is still queued.
import { get } from '../api.js';
import { bdi, el } from '../dom.js';
import { t, when } from '../format.js';
import { href } from '../router.js';
import { filters } from '../components/filters.js';
import { button, card, head, person, statePill, statusPill, tabs } from '../components/page.js';
import { list } from '../components/table.js';
import { COMING } from './coming.js';
import { act, verbsOf } from './task.js';
import { together } from './together.js';

export const shape = 'table';

const nameOf = (row) => row.displayName || row.userPrincipalName || '';
/* What is usual needs no mark. */
const unusual = (row) => row.status !== 'active' && statusPill(row.status);

function everybody({ company, query, signal }) {
  let people;
  const chosen = filters({
    query,
    search: { name: 'query', label: t('people.search') },
    words: {
      name: 'status', label: t('people.status'), options: [{ value: '', label: t('people.all') },
        ...['active', 'disabled', 'guest'].map((value) => ({ value, label: t(`status.${value}`) }))],
    },
    more: [
      ...['department', 'jobTitle', 'company', 'employeeId'].map((name) =>
        ({ name, label: t(`field.${name}`), max: 256, suggest: name !== 'employeeId' })),
      { name: 'manager', label: t('field.manager'), kind: 'person' },
      { name: 'group', label: t('people.group'), max: 256 },
      { name: 'license', label: t('people.license'), max: 256, suggest: true },
      { name: 'inactiveDays', label: t('people.inactive'), kind: 'number', attrs: { min: 1, max: 36500 } },
      { name: 'lastSignInBefore', label: t('people.before'), kind: 'date' },
      { name: 'lastSignInAfter', label: t('people.after'), kind: 'date' },
      { name: 'createdAfter', label: t('people.createdAfter'), kind: 'date' },
      { name: 'createdBefore', label: t('people.createdBefore'), kind: 'date' },
    ],
    change: () => people.reload(), signal,
  });
  const plain = (name) => ({ key: name, label: t(`field.${name}`), sort: (row) => row[name],
    cell: (row) => row[name] && bdi(row[name]) });
  people = list({
    name: 'people', path: 'users', filter: chosen, signal, caption: t('nav.people'), label: nameOf,
    bulk: together(company, ['manager', 'offboard']),
    none: () => ({ text: t('people.none'), action: button(t('filters.clear'), { run: chosen.clear }) }),
    columns: [
      { key: 'name', sort: nameOf, label: t('people.person'), kind: 'main',
        cell: (row) => el('span', { class: 'marked' }, person(row, href('person', row.id)), unusual(row)) },
      plain('jobTitle'), plain('department'),
      { key: 'manager', sort: (row) => row.manager && nameOf(row.manager), label: t('field.manager'),
        cell: (row) => row.manager && bdi(nameOf(row.manager)) },
      { key: 'status', off: true, sort: (row) => row.status, label: t('people.status'),
        cell: (row) => t(`status.${row.status}`) },
      { ...plain('employeeId'), off: true }, { ...plain('company'), off: true },
      { key: 'signIn', sort: (row) => row.lastSignInAt, label: t('person.lastSignInAt'),
        cell: (row) => (row.lastSignInAt ? when(row.lastSignInAt, 'cellDay')
          : [el('span', { 'aria-hidden': 'true' }, '–'), el('span', { class: 'unseen' }, t('people.never'))]) },
    ],
  });
  return { ready: people.ready, view: () => card({}, chosen.view(people.tools()), people.view(),
    people.page().asOf && el('p', { class: 'muted small' }, t('people.asOf'), ' ', when(people.page().asOf))) };
}

/* Hires that are not carried out yet: they have no account, so each leads to its task. */
function coming({ company, signal }) {
  const asker = (task) => task.requestedBy?.label || task.requestedBy?.username || '';
  const rows = list({
    name: 'coming', path: 'tasks', query: () => COMING, signal, caption: t('coming.title'), label: nameOf,
    columns: [
      { key: 'name', sort: nameOf, label: t('people.person'), kind: 'main',
        cell: (task) => person(task, href('task', task.id)) },
      { key: 'starts', sort: (task) => task.scheduledAtUtc, label: t('coming.starts'),
        cell: (task) => when(task.scheduledAtUtc, 'cell') },
      { key: 'state', sort: (task) => task.state, label: t('people.status'),
        cell: (task) => task.state !== 'queued' && statePill(task.state) },
      { key: 'by', sort: asker, label: t('person.by'), cell: (task) => bdi(asker(task)) },
      { key: 'asked', off: true, sort: (task) => task.createdAt, label: t('lists.asked'),
        cell: (task) => when(task.createdAt, 'cell') },
    ],
    menu: (task) => [
      company.can('people.write') && task.state === 'queued' && !task.startedAt && { label: t('coming.change'),
        href: href('hire', '', { task: task.id }) },
      ...verbsOf(task, company).map((verb) => ({ label: t(`act.${verb}`), run: () => act(verb, task.id),
        kind: verb === 'cancel' ? 'bad' : '' }))].filter(Boolean),
    none: () => ({ text: t('coming.none') }), every: 15000, note: (n) => t('tasks.changed', { n }),
  });
  return { ready: rows.ready, poll: rows.poll, view: () => card({}, rows.tools(), rows.view()) };
}

export async function page(args) {
  const { company, query, signal } = args;
  const may = company.can('tasks.read');
  const waits = may && query.show === 'coming';
  const [shown, { totalCount }] = await Promise.all([(waits ? coming : everybody)(args),
    may ? get('tasks', { ...COMING, limit: 1 }, signal) : {}]);
  await shown.ready;
  const tab = (name, current, more) => ({ label: t(name), current, ...more });
  return {
    title: t(waits ? 'coming.title' : 'nav.people'), poll: shown.poll,
    view: () => el('div', { class: 'page' },
      head({
        title: t('nav.people'), actions: company.can('people.write') && [
          button(t('people.offboard'), { href: href('offboard'), icon: 'leave' }),
          button(t('hires.open'), { href: href('hires'), icon: 'upload', kind: 'roomy' }),
          button(t('hire.title'), { href: href('hire'), icon: 'add', kind: 'primary' })],
      }),
      may && tabs(t('nav.people'), [tab('coming.everybody', !waits, { href: href('people') }),
        tab('coming.title', waits, { count: totalCount, href: href('people', '', { show: 'coming' }) })]),
      shown.view()),
  };
}
