// Owns hygiene: a card a section, and the list behind each. Each leaver is looked at: nobody is
// offboarded by the dozen from here.
import { address, get } from '../api.js';
import { bdi, el } from '../dom.js';
import { age, directoryName, number, rich, t, when, word } from '../format.js';
import { go, href } from '../router.js';
import { button, card, head, person } from '../components/page.js';
import { field } from '../components/form.js';
import { quote } from '../components/states.js';
import { list } from '../components/table.js';

export const shape = 'cards';

const SECTIONS = ['staleAccounts', 'accountsWithoutManager', 'inactiveGuests', 'emptyGroups',
  'disabledWithAccess'];
const MOST = 100000; // rows of an export

/* The service's notes of this kind have sentences of ours; any other is quoted. */
const noteOf = (note) => (/records no sign-ins/.test(note) ? t('hyg.noSignIns') : quote(note));

const fresh = ({ directories }) => directories.map((one) => el('li', null,
  rich('hyg.asOf', { directory: directoryName(one.directory), age: age(one.asOf) }),
  one.signInsAsOf && [' ', rich('hyg.signInsAsOf', { when: when(one.signInsAsOf) })]));

/* A plain link, so that the browser saves the file; it says beforehand where it would be cut. */
const download = (section, staleDays, count) => [button(t('export.csv'), {
  href: address('hygiene/export', { section, staleDays }), icon: 'download', download: '',
}), count > MOST && el('p', { class: 'muted' }, t('export.cut', { n: MOST }))];

function summary(section, data, staleDays) {
  if (!data.available) {
    return card({ title: t(`hyg.${section}`) },
      el('p', null, section === 'inactiveGuests' ? t('hyg.noGuests') : quote(data.reason)));
  }
  return card({ title: t(`hyg.${section}`) },
    el('p', { class: 'big' }, number(data.count)),
    el('p', null, t(`hyg.${section}.text`, { n: staleDays })),
    data.note && el('p', { class: 'muted' }, noteOf(data.note)),
    data.count > 0 && button(t('hyg.look'), { href: href('hygiene', section, { staleDays }) }));
}

async function overview({ query, signal, company }) {
  const [report, where] = await Promise.all([
    get('hygiene', { staleDays: query.staleDays, limit: 1 }, signal),
    company.can('company.read') ? get('company', {}, signal) : { directories: [] },
  ]);
  const days = field({
    name: 'staleDays', kind: 'number', label: t('hyg.days'), value: report.staleAfterDays,
    attrs: { min: 1, max: 3650 },
    change: (value) => { if (value >= 1 && value <= 3650) go(href('hygiene', '', { staleDays: value })); },
  });
  return {
    title: t('nav.hygiene'),
    node: el('div', { class: 'page' }, head({ title: t('nav.hygiene'), lead: t('hyg.lead') }),
      el('div', { class: 'filters' }, days.node),
      el('div', { class: 'cards' }, SECTIONS.map((one) =>
        summary(one, report.sections[one], report.staleAfterDays))),
      el('ul', { class: 'bare muted' }, fresh(where))),
  };
}

async function section({ company, params: { id }, query, signal }) {
  const { staleDays } = query;
  const groups = id === 'emptyGroups';
  const inactive = id === 'staleAccounts' || id === 'inactiveGuests';
  const { staleAfterDays, sections: { [id]: known } } =
    await get('hygiene', { sections: id, staleDays, limit: 1 }, signal);
  const top = (...more) => el('div', { class: 'page' }, head({
    title: t(`hyg.${id}`), lead: t(`hyg.${id}.text`, { n: staleAfterDays }),
    actions: known.count > 0 && company.can('hygiene.export') && download(id, staleDays, known.count),
    sub: el('a', { href: href('hygiene', '', { staleDays }) }, t('hyg.back')),
  }), ...more);
  if (!known.available) return { title: t(`hyg.${id}`), node: top(card({}, quote(known.reason))) };
  const columns = groups ? [
    { label: t('group.name'), kind: 'main', cell: (row) =>
      el('a', { href: href('access', 'groups', { group: row.id }) }, bdi(row.name)) },
    { label: t('group.kind'), cell: (row) => word('kind', row.kind) },
    { label: t('group.directory'), cell: (row) => directoryName(row.directory) },
  ] : [
    { label: t('tasks.person'), kind: 'main', cell: (row) => person(row, href('person', row.id)) },
    { label: t('hyg.department'), cell: (row) => bdi(row.department) },
    { label: t('hyg.activity'), cell: (row) => (inactive && row.inactiveDays !== null
      ? t('hyg.inactive', { n: row.inactiveDays }) : when(row.lastSignInAt, 'day')) },
    ...(id === 'disabledWithAccess' ? [{ label: t('hyg.holds'), cell: (row) =>
      [row.membershipCount > 0 && t('hyg.groups', { n: row.membershipCount }), ...row.licenses]
        .filter(Boolean).join(', ') }] : []),
    ...(company.can('people.write') ? [{
      label: t('table.actions'), hidden: true, kind: 'act',
      cell: (row) => button(t('hyg.offboard'), {
        href: href('offboard', row.id), kind: 'small', 'aria-label': t('hyg.offboardName', { name: row.displayName }),
      }),
    }] : []),
  ];
  const rows = list({
    path: 'hygiene', query: () => ({ sections: id, staleDays }), signal, caption: t(`hyg.${id}`), columns,
    none: () => ({ text: t('hyg.none') }),
    of: ({ sections: { [id]: one } }) => ({ ...one, totalCount: one.count }),
  });
  await rows.ready;
  return {
    title: t(`hyg.${id}`),
    node: top(known.note && el('p', { class: 'muted' }, noteOf(known.note)), el('div', { class: 'card' }, rows.node)),
  };
}

export const page = (args) => (SECTIONS.includes(args.params.id) ? section(args) : overview(args));
