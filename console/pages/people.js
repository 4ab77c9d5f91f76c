// The list of people: search, status, further filters.
import { bdi, el } from '../dom.js';
import { t, when } from '../format.js';
import { href } from '../router.js';
import { filters } from '../components/filters.js';
import { button, card, head, person, statusPill } from '../components/page.js';
import { list } from '../components/table.js';

export const shape = 'table';

export async function page({ company, query, signal }) {
  const chosen = filters({
    query,
    search: { name: 'query', label: t('people.search') },
    words: {
      name: 'status', label: t('people.status'), options: [{ value: '', label: t('people.all') },
        ...['active', 'disabled', 'guest'].map((value) => ({ value, label: t(`status.${value}`) }))],
    },
    more: [
      ...['department', 'jobTitle', 'company', 'employeeId'].map((name) =>
        ({ name, label: t(`field.${name}`), max: 256 })),
      { name: 'manager', label: t('field.manager'), kind: 'person' },
      { name: 'group', label: t('people.group'), max: 256 },
      { name: 'license', label: t('people.license'), max: 256 },
      { name: 'inactiveDays', label: t('people.inactive'), kind: 'number', attrs: { min: 1, max: 36500 } },
      { name: 'lastSignInBefore', label: t('people.before'), kind: 'date' },
      { name: 'lastSignInAfter', label: t('people.after'), kind: 'date' },
      { name: 'createdAfter', label: t('people.createdAfter'), kind: 'date' },
      { name: 'createdBefore', label: t('people.createdBefore'), kind: 'date' },
    ],
    change: () => people.reload(),
  });
  const people = list({
    path: 'users', query: chosen.query, signal, caption: t('nav.people'),
    none: () => ({ text: t('people.none'), action: button(t('filters.clear'), { run: chosen.clear }) }),
    columns: [
      { label: t('people.person'), kind: 'main', cell: (row) => person(row, href('person', row.id)) },
      { label: t('people.work'), cell: (row) => (row.department || row.jobTitle) && el('span',
        { class: 'person' }, bdi(row.jobTitle || row.department),
        row.jobTitle && row.department && el('small', null, bdi(row.department))) },
      { label: t('field.manager'), cell: (row) => row.manager && el('a',
        { href: href('person', row.manager.id) }, bdi(row.manager.displayName)) },
      { label: t('people.status'), cell: (row) => statusPill(row.status) },
      { label: t('people.signIn'), cell: (row) => (row.lastSignInAt ? when(row.lastSignInAt, 'day')
        : el('span', { class: 'muted' }, t('people.never'))) },
    ],
  });
  await people.ready;
  return {
    title: t('nav.people'),
    view: () => el('div', { class: 'page' },
      head({
        title: t('nav.people'), actions: company.can('people.write') && [
          button(t('offboard.open'), { href: href('offboard'), icon: 'leave' }),
          button(t('hire.title'), { href: href('hire'), icon: 'add', kind: 'primary' })],
      }),
      card({}, chosen.view(), people.view(), people.page().asOf && el('p', { class: 'muted small' },
        t('people.asOf'), ' ', when(people.page().asOf)))),
  };
}
