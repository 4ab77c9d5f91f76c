// Owns hygiene: a card a section that the service tells (empty groups are of no department), and the
// list behind each, where several can be given a manager or offboarded.
import { address, get } from '../api.js';
import { bdi, el } from '../dom.js';
import { age, directoryName, number, rich, t, when, word } from '../format.js';
import { href, reload } from '../router.js';
import { filters } from '../components/filters.js';
import { button, card, head, person } from '../components/page.js';
import { quote } from '../components/states.js';
import { list } from '../components/table.js';
import { setManager, together } from './together.js';

export const shape = 'cards';

const SECTIONS = ['staleAccounts', 'accountsWithoutManager', 'inactiveGuests', 'emptyGroups',
  'disabledWithAccess', 'reportsToLeavers', 'undecidableRequests', 'ownedByLeavers'];
const MOST = 100000; // rows of a file

/* The service's notes of these kinds have sentences of ours; any other is quoted. */
const noteOf = (note) => (/records no sign-ins/.test(note) ? t('hyg.noSignIns')
  : /owners are not synchronised/.test(note) ? t('hyg.owners') : quote(note));

const fresh = ({ directories }) => directories.map((one) => el('li', null,
  rich('hyg.asOf', { directory: directoryName(one.directory), age: age(one.asOf) }),
  one.signInsAsOf && [' ', rich('hyg.signInsAsOf', { when: when(one.signInsAsOf) })]));

/* What the report is asked for; the address keeps it from the cards to a list and back. */
const NARROWS = ['staleDays', 'department', 'company', 'license'];
const asked = (query) => Object.fromEntries(NARROWS.map((name) => [name, query[name]])
  .filter(([, value]) => value));

const narrowing = (query, signal) => filters({
  query, signal,
  more: [
    { name: 'staleDays', label: t('hyg.days'), kind: 'number', attrs: { min: 1, max: 3650 } },
    { name: 'department', label: t('field.department'), max: 256, suggest: true },
    { name: 'company', label: t('field.company'), max: 256, suggest: true },
    { name: 'license', label: t('people.license'), max: 256, suggest: true },
  ],
  change: reload,
});

/* A plain link, so that the browser saves the file; of a long list it says beforehand where that ends. */
const download = (section, query, more) => [button(t('export.csv'), {
  href: address('hygiene/export', { section, ...asked(query) }), icon: 'download', download: '',
}), more && el('p', { class: 'muted' }, t('export.cut', { n: MOST }))];

function summary(section, data, staleDays, query) {
  if (!data.available) {
    return card({ title: t(`hyg.${section}`) },
      el('p', null, section === 'inactiveGuests' ? t('hyg.noGuests') : quote(data.reason)));
  }
  return card({ title: t(`hyg.${section}`) },
    el('p', { class: 'big' }, data.countIsMinimum ? t('hyg.more', { n: data.count }) : number(data.count)),
    el('p', null, t(`hyg.${section}.text`, { n: staleDays })),
    data.note && el('p', { class: 'muted' }, noteOf(data.note)),
    data.count > 0 && button(t('hyg.look'), { href: href('hygiene', section, asked(query)) }));
}

async function overview({ query, signal, company }) {
  const [report, where] = await Promise.all([
    get('hygiene', { ...asked(query), limit: 1 }, signal),
    company.can('company.read') ? get('company', {}, signal) : { directories: [] },
  ]);
  const filter = narrowing(query, signal);
  return {
    title: t('nav.hygiene'),
    view: () => el('div', { class: 'page' }, head({ title: t('nav.hygiene'), lead: t('hyg.lead') }),
      card({}, filter.view()),
      el('div', { class: 'cards' }, SECTIONS.filter((one) => report.sections[one])
        .map((one) => summary(one, report.sections[one], report.staleAfterDays, query))),
      el('ul', { class: 'bare muted' }, fresh(where))),
  };
}

const nameOf = (row) => row.displayName || row.userPrincipalName || '';
/* What solves it: people without a manager are not leavers. */
const VERBS = { staleAccounts: 'offboard', inactiveGuests: 'offboard', disabledWithAccess: 'offboard',
  accountsWithoutManager: 'manager', reportsToLeavers: 'manager' };

const peopleColumns = (id, verb) => {
  const idle = id === 'staleAccounts' || id === 'inactiveGuests';
  const holds = (row) => [row.membershipCount > 0 && t('hyg.groups', { n: row.membershipCount }), ...row.licenses]
    .filter(Boolean).join(', ');
  return [
    { key: 'name', sort: nameOf, label: t('tasks.person'), kind: 'main',
      cell: (row) => person(row, href('person', row.id)) },
    { key: 'department', sort: (row) => row.department, label: t('field.department'), cell: (row) => bdi(row.department) },
    { key: 'activity', sort: (row) => (idle ? row.inactiveDays : row.lastSignInAt), label: t('hyg.activity'),
      cell: (row) => (idle && row.inactiveDays !== null ? t('hyg.inactive', { n: row.inactiveDays })
        : when(row.lastSignInAt, 'day')) },
    id === 'disabledWithAccess' && { key: 'holds', sort: (row) => row.membershipCount, label: t('hyg.holds'), cell: holds },
    verb && {
      label: t('table.actions'), hidden: true, kind: 'act',
      cell: (row) => (verb === 'manager' ? button(t('together.manager'), { kind: 'small',
        run: () => setManager([row]), 'aria-label': t('together.managerOf', { name: nameOf(row) }) })
        : button(t('hyg.offboard'), { href: href('offboard', row.id), kind: 'small',
          'aria-label': t('offboard.of', { name: nameOf(row) }) })),
    },
  ].filter(Boolean);
};

async function section({ company, params: { id }, query, signal }) {
  const groups = id === 'emptyGroups', requests = id === 'undecidableRequests', owned = id === 'ownedByLeavers';
  const { staleAfterDays, sections: { [id]: known } } =
    await get('hygiene', { ...asked(query), sections: id, limit: 1 }, signal);
  const people = !groups && !requests && !owned;
  const filter = !people ? null : narrowing(query, signal);
  const top = (...more) => el('div', { class: 'page' }, head({
    title: t(`hyg.${id}`), lead: el('span', { class: 'roomy' }, t(`hyg.${id}.text`, { n: staleAfterDays })),
    actions: known.count > 0 && (people || groups) && company.can('hygiene.export') && download(id, query, known.countIsMinimum),
    path: [[t('nav.hygiene'), href('hygiene', '', asked(query))]],
  }), ...more);
  if (!known.available) return { title: t(`hyg.${id}`), view: () => top(card({}, quote(known.reason))) };
  const columns = groups ? [
    { key: 'name', sort: (row) => row.name, label: t('group.name'), kind: 'main', cell: (row) =>
      el('a', { href: href('access', 'groups', { group: row.id }) }, bdi(row.name)) },
    { key: 'kind', sort: (row) => word('kind', row.kind), label: t('group.kind'), cell: (row) => word('kind', row.kind) },
    { key: 'directory', sort: (row) => directoryName(row.directory), label: t('group.directory'),
      cell: (row) => directoryName(row.directory) },
  ] : requests ? [
    { key: 'name', sort: nameOf, label: t('tasks.person'), kind: 'main', cell: (row) => bdi(nameOf(row)) },
    { key: 'service', sort: (row) => row.service, label: t('request.service'), cell: (row) => bdi(row.service) },
  ] : owned ? [
    { key: 'name', sort: nameOf, label: t('tasks.person'), kind: 'main', cell: (row) =>
      el('a', { href: href('task', row.taskId) }, bdi(nameOf(row))) },
    { key: 'group', sort: (row) => row.group, label: t('group.name'), cell: (row) => bdi(row.group) },
    { key: 'reason', sort: (row) => row.reason, label: t('hyg.alsoOwn'), cell: (row) => quote(row.reason) },
  ] : peopleColumns(id, company.can('people.write') && VERBS[id]);
  const rows = list({
    name: `hygiene.${id}`, path: 'hygiene', filter, query: () => ({ ...asked(query), sections: id }), signal,
    caption: t(`hyg.${id}`), columns, label: nameOf, bulk: people && together(company, [VERBS[id]]),
    none: () => ({ text: t(owned ? 'hyg.noneKnown' : 'hyg.none') }),
    of: ({ sections: { [id]: one } }) =>
      ({ ...one, totalCount: one.count, totalCountIsMinimum: one.countIsMinimum }),
  });
  await rows.ready;
  return {
    title: t(`hyg.${id}`),
    view: () => top(known.note && el('p', { class: 'muted' }, noteOf(known.note)),
      el('div', { class: 'card' }, filter ? filter.view(rows.tools()) : rows.tools(), rows.view())),
  };
}

export const page = (args) => (SECTIONS.includes(args.params.id) ? section(args) : overview(args));
