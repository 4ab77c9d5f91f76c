// Owns what "Find anything" finds: people, queued people, tasks, groups, role templates, pages and
// actions. Each kind is asked for only with the right to open what it leads to.
import { get } from './api.js';
import { bdi, el, icon } from './dom.js';
import { rich, t, taskTitle, when } from './format.js';
import { href, mayOpen } from './router.js';
import { person, statePill } from './components/page.js';

const MOST = 5; // hits of a kind
const OPEN_MOST = 1000; // open tasks that are looked through, the next due first
const PAGES = ['overview', 'people', 'calendar', 'tasks', 'access/groups', 'access/templates',
  'access/requests', 'workflows', 'hygiene', 'log', 'keys', 'company', 'settings/receivers',
  'settings/catalog', 'settings/document'];
const NEEDS = { 'access/groups': 'access.read', 'access/templates': 'access.read',
  'access/requests': 'requests.read' };
const ACTIONS = [['hire', 'people.write', 'add'], ['offboard', 'people.write', 'leave'],
  ['keys', 'keys.write', 'key', { create: 'true' }]];

/* Words without case and accents, as people type them. */
const fold = (text) => (text || '').normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
/* Each word of the query begins a word of the text. */
const matches = (query, text) => {
  const there = fold(text).split(/[^\p{L}\p{N}]+/u);
  return fold(query).split(/[^\p{L}\p{N}]+/u).filter(Boolean)
    .every((one) => there.some((each) => each.startsWith(one)));
};

const hit = (group, sign, to, view) => ({ group: t(`find.${group}`), to, view: el('span', { class: 'hit' },
  sign && icon(sign), view) });

/* What is loaded once and looked through here: of this company, for half a minute. */
const known = new Map();
async function once(company, name, load) {
  const key = `${company.companyId} ${name}`;
  if (!known.has(key) || Date.now() - known.get(key).at > 30000) {
    known.set(key, { at: Date.now(), made: load() });
    known.get(key).made.catch(() => known.delete(key));
  }
  return known.get(key).made;
}
async function pages(path, query, most) {
  const all = [];
  let cursor;
  do {
    const next = await get(path, { ...query, limit: 200, cursor });
    all.push(...next.items);
    cursor = next.nextCursor;
  } while (cursor && all.length < most);
  return all;
}

const taskOf = (group, task) => hit(group, task.type === 'userDelete' ? 'leave' : 'tasks',
  href('task', task.id), [el('span', null, taskTitle(task), ' ', el('small', { class: 'muted' },
    when(task.scheduledAtUtc))), task.state !== 'queued' && statePill(task.state)]);

/* Kind -> [right, what it finds]. */
const KINDS = {
  people: ['people.read', async (query, company, signal) =>
    (await get('users', { query, limit: MOST }, signal)).items
      .map((one) => hit('people', null, href('person', one.id), person(one)))],
  /* A task by its ID; the open ones by name. */
  tasks: ['tasks.read', async (query, company, signal) => {
    if (/^[0-9a-z]{26}$/i.test(query)) {
      const { task } = await get('task', { id: query.toLowerCase() }, signal);
      return [taskOf('tasks', task)];
    }
    const open = await once(company, 'tasks', () =>
      pages('tasks', { state: 'queued,running,failed,attention', order: 'due' }, OPEN_MOST));
    const found = open.filter((one) => matches(query, `${one.displayName} ${one.userPrincipalName}`));
    const hires = found.filter((one) => one.type === 'userCreate' && one.state === 'queued');
    const others = found.filter((one) => !hires.includes(one));
    return [...hires.slice(0, MOST).map((one) => taskOf('queued', one)),
      ...others.slice(0, MOST).map((one) => taskOf('tasks', one))];
  }],
  groups: ['access.read', async (query, company, signal) =>
    (await get('groups', { query, limit: MOST }, signal)).items.map((one) => hit('groups', 'access',
      href('access', 'groups', { group: one.id }), [bdi(one.name), one.memberCount !== null
        && el('small', { class: 'muted' }, t('find.members', { n: one.memberCount }))]))],
  templates: ['access.read', async (query, company) =>
    (await once(company, 'templates', () => pages('role-templates', {}, OPEN_MOST)))
      .filter((one) => matches(query, one.name)).slice(0, MOST).map((one) => hit('templates', 'access',
        href('access', 'templates', { template: one.id }), bdi(one.name)))],
};

const pageName = (page) => {
  const [name, part] = page.split('/');
  return !part ? t(`nav.${name}`) : name === 'settings' ? `${t('nav.company')} › ${t(`set.${part}`)}`
    : `${t(`nav.${name}`)} › ${t(`access.${part}`)}`;
};
/* Pages and actions, by their names and by further words for them. */
function places(query, company) {
  const to = (page) => page.split('/');
  return [
    ...ACTIONS.filter(([page, right]) => company.can(right)
      && matches(query, `${t(`find.do.${page}`)} ${t(`find.also.${page}`)}`))
      .map(([page, , sign, args]) => hit('actions', sign, href(page, '', args), t(`find.do.${page}`))),
    ...PAGES.filter((page) => (NEEDS[page] ? company.can(NEEDS[page]) : mayOpen(company, to(page)[0]))
      && matches(query, pageName(page)))
      .map((page) => hit('pages', to(page)[0] === 'settings' ? 'company' : to(page)[0], href(...to(page)), pageName(page))),
  ];
}

/* What matches, in the order in which it is shown. A kind that cannot be had leaves the others; when
 * none can, the fault is the answer. */
export async function find(query, company, signal) {
  const kinds = Object.values(KINDS).filter(([right]) => company.can(right));
  const asked = /[\p{L}\p{N}]/u.test(query) ? await Promise.allSettled(kinds.map(([, load]) => load(query, company, signal))) : [];
  const found = asked.flatMap((one) => one.value || []);
  const here = places(query, company);
  if (!here.length && asked.length && asked.every((one) => one.reason)) throw asked[0].reason;
  return [...found, ...here, query && company.can('people.read')
    && hit('more', 'search', href('people', '', { query }), rich('find.inPeople', { query }))].filter(Boolean);
}
