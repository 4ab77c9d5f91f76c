// Owns access: groups and who is in them, role templates and who has them, requests and decisions.
import { get, send } from '../api.js';
import { bdi, el } from '../dom.js';
import { age, directoryName, listed, number, rich, stepName, t, when, word } from '../format.js';
import { href, reload } from '../router.js';
import { confirm } from '../components/dialog.js';
import { filters } from '../components/filters.js';
import { formDialog } from '../components/form-dialog.js';
import { field, required } from '../components/form.js';
import { box, button, card, facts, head, named, person, pill, statePill, tabs } from '../components/page.js';
import { empty, errorText, failed, notice, quote, safely } from '../components/states.js';
import { list } from '../components/table.js';

export const shape = 'table';

const TABS = { groups: 'access.read', templates: 'access.read', requests: 'requests.read' };

/* --- groups --- */

const nameOf = (one) => one?.displayName || one?.userPrincipalName || '';
const linkTo = (one, company) => person(one, company.can('people.read') ? href('person', one.id) : null);

/* How somebody came to a membership: "by the role template Sales", "through All managers". */
const way = (row) => [rich(`way.${row.source}`, {
  name: row.grantedBy?.name || '', when: row.grantedAt ? when(row.grantedAt, 'day') : '',
}), row.via.length > 0 && el('small', { class: 'muted' }, ' ', rich('way.via', {
  groups: listed(row.via.map((one) => one.name)) }))];

async function groups({ query, signal }) {
  let rows;
  const any = { value: '', label: t('any') };
  const filter = filters({
    query, search: { name: 'query', label: t('group.search') },
    more: [
      { name: 'kind', kind: 'select', label: t('group.kind'), options: [any,
        ...['security', 'mailEnabledSecurity', 'distribution', 'microsoft365', 'dynamic']
          .map((value) => ({ value, label: word('kind', value) }))] },
      { name: 'directory', kind: 'select', label: t('group.directory'), options: [any,
        ...['onPremises', 'cloud'].map((value) => ({ value, label: directoryName(value) }))] },
      { name: 'empty', kind: 'check', label: t('group.empty') },
    ],
    change: () => rows.reload(),
  });
  rows = list({
    name: 'groups', path: 'groups', filter, signal, caption: t('access.groups'),
    columns: [
      { key: 'name', sort: (one) => one.name, label: t('group.name'), kind: 'main', cell: (one) => [
        el('a', { href: href('access', 'groups', { group: one.id }) }, bdi(one.name)),
        one.description && el('small', { class: 'muted under' }, bdi(one.description))] },
      { key: 'kind', sort: (one) => word('kind', one.kind), label: t('group.kind'), cell: (one) => word('kind', one.kind) },
      { key: 'directory', sort: (one) => directoryName(one.directory), label: t('group.directory'),
        cell: (one) => directoryName(one.directory) },
      { key: 'members', sort: (one) => one.memberCount, label: t('group.members'), kind: 'num', cell: (one) => [number(one.memberCount),
        one.otherMembers && el('small', { class: 'muted under' }, t('group.others'))] },
    ],
    none: () => ({ text: t('group.none'), action: button(t('filters.clear'), { run: () => filter.clear() }) }),
  });
  await rows.ready;
  return { view: () => el('div', { class: 'card' }, filter.view(rows.tools()), rows.view()) };
}

async function group({ company, query, signal }) {
  const { group: resource } = query;
  const { resource: one } = await get('resource/access', { resource, limit: 1 }, signal);
  const known = (await get('groups', { query: one.name, limit: 200 }, signal)).items
    .find((each) => each.id === one.id);
  let members;
  const filter = filters({
    query, change: () => members.reload(),
    words: { name: 'source', label: t('way.filter'), options: ['', 'direct', 'role_template', 'iga_request',
      'dynamic_group'].map((value) => ({ value, label: t(`way.word.${value || 'all'}`) })) },
  });
  members = list({
    name: 'group', path: 'resource/access', filter, signal,
    query: () => ({ resource, source: filter.query().source }),
    caption: t('group.membersOf', { name: one.name }), id: (row) => row.user.id,
    columns: [
      { key: 'name', sort: (row) => nameOf(row.user), label: t('tasks.person'), kind: 'main',
        cell: (row) => linkTo(row.user, company) },
      { key: 'how', sort: (row) => row.source, label: t('group.how'), kind: 'wide', cell: way },
    ],
    none: () => ({ text: t('group.noMembers') }),
  });
  await members.ready;
  return {
    title: one.name, back: 'groups',
    view: () => [card({},
      known?.description && el('p', null, bdi(known.description)),
      facts([[t('group.kind'), word('kind', one.kind)], [t('group.directory'), known && directoryName(known.directory)],
        ['ID', el('code', null, one.id)]])),
    el('div', { class: 'card' }, filter.view(members.tools()), members.view())],
  };
}

/* --- role templates --- */

async function templates({ query, signal }) {
  const rows = list({
    name: 'templates', path: 'role-templates', signal, caption: t('access.templates'),
    columns: [
      { key: 'name', sort: (one) => one.name, label: t('role.name'), kind: 'main', cell: (one) => [
        el('a', { href: href('access', 'templates', { template: one.id, user: query.user }) }, bdi(one.name)),
        el('small', { class: 'muted under' }, bdi(one.description))] },
      { key: 'grants', sort: (one) => one.groups.length, label: t('role.grants'), kind: 'wide', cell: (one) => listed(one.groups.map((each) => each.name)) },
    ],
    none: () => ({ text: t('role.none') }),
  });
  await rows.ready;
  return { view: () => el('div', { class: 'card' }, rows.view()) };
}

/* Give or take back: what would happen first, then the question. */
async function assign(verb, template, who) {
  const body = { roleTemplate: template.id, user: who.id || who.userPrincipalName };
  const path = `role/${verb}`;
  const { plan, warnings = [] } = await send('POST', path, { query: { dryRun: true }, body });
  const values = { name: named(who), role: template.name };
  const done = await confirm({
    title: rich(`role.${verb}.ask`, values), verb: t(`role.${verb}`), danger: verb === 'unassign',
    body: [plan.steps.length ? el('ul', null, plan.steps.map((one) => el('li', null, bdi(stepName(one).name))))
      : el('p', null, t('role.nothing')), warnings.map((one) => el('p', null, quote(one)))],
    run: (key) => send('POST', path, { body, key }),
  });
  if (!done) return;
  await reload();
  notice({
    text: rich(`role.${verb}.done`, values),
    actions: done.taskIds.slice(0, 1).map((id) => button(t('task.open'), { href: href('task', id), kind: 'small' })),
  });
}

async function template({ company, query, signal }) {
  const { roleTemplate: one } = await get('role-template', { roleTemplate: query.template }, signal);
  const write = company.can('access.write');
  const give = () => formDialog({
    title: rich('role.giveAsk', { role: one.name }), submit: t('role.look'),
    fields: [field({
      name: 'user', kind: 'person', label: t('tasks.person'),
      value: query.user && { userPrincipalName: query.user }, // who comes from a person's page
    })],
    check: (values) => required(values, 'user'),
    run: ({ user }) => ({ userPrincipalName: user }),
  }).then((who) => who && assign('assign', one, who))
    .catch((error) => notice({ tone: 'bad', text: [errorText(error), ' ', quote(error.message)] }));
  const rows = list({
    name: 'template', path: 'role/assignments', query: () => ({ roleTemplate: one.id }), signal, id: (row) => row.user.id,
    caption: t('role.whoHas', { name: one.name }),
    columns: [
      { key: 'name', sort: (row) => nameOf(row.user), label: t('tasks.person'), kind: 'main',
        cell: (row) => linkTo(row.user, company) },
      { key: 'since', sort: (row) => row.assignedAt, label: t('role.since'), cell: (row) => [when(row.assignedAt, 'cellDay'), ' ',
        el('small', { class: 'muted under' }, bdi(row.assignedBy))] },
      { key: 'state', sort: (row) => row.taskState, label: t('tasks.state'), cell: (row) => row.taskId && el('a', { href: href('task', row.taskId) },
        statePill(row.taskState)) },
    ],
    label: (row) => nameOf(row.user),
    menu: write && ((row) => [{
      label: t('role.unassign'), kind: 'danger', run: () => assign('unassign', one, row.user),
    }]),
    none: () => ({ text: t('role.nobody') }),
  });
  await rows.ready;
  return {
    title: one.name, back: 'templates',
    actions: write && button(t('role.assign'), { kind: 'primary', icon: 'add', run: give }),
    view: () => [card({}, one.description && el('p', null, bdi(one.description)), facts([
      [t('access.groups'), el('ul', { class: 'bare' }, one.groups.map((each) => el('li', null, each.id
        ? el('a', { href: href('access', 'groups', { group: each.id }) }, bdi(each.name))
        : [bdi(each.name), ' ', pill(t('role.missing'), 'warn', 'attention')])))],
      [t('person.licenses'), one.licenses.length ? listed(one.licenses) : null],
    ], { kind: 'wide' })), card({ title: t('role.has', { n: one.assignedUserCount }) }, rows.view())],
  };
}

/* --- requests --- */

async function decide(request, service, approve) {
  const values = {
    name: named(request.requester), service: request.service,
    group: service?.group.name || request.service,
  };
  const body = { requestId: request.id, decision: approve ? 'approve' : 'deny' };
  const done = approve ? await confirm({
    title: rich('request.approveAsk', values), body: el('p', null, rich('request.approveNote', values)),
    verb: t('request.approve'), run: (key) => send('POST', 'access-request/decision', { body, key }),
  }) : await formDialog({
    title: rich('request.denyAsk', values), lead: el('p', null, t('request.denyNote')), submit: t('request.deny'),
    fields: [field({ name: 'reason', kind: 'textarea', label: t('request.why'), max: 1000 })],
    check: (given) => required(given, 'reason'),
    run: ({ reason }, key) => send('POST', 'access-request/decision', { body: { ...body, reason }, key }),
  });
  if (!done) return;
  await reload();
  notice({ text: rich(approve ? 'request.approved' : 'request.denied', values) });
}

/* Who may decide is the service's to know: its list of those who are eligible. */
function waiting(request, { company, services }) {
  const service = services.find((one) => one.service === request.service);
  const me = company.person?.userPrincipalName?.toLowerCase();
  const is = (one) => me && one.userPrincipalName?.toLowerCase() === me;
  const decides = company.can('requests.decide') && request.eligibleApprovers.some(is);
  return card({ title: rich('request.title', { name: named(request.requester), service: request.service }), level: 3 },
    el('blockquote', null, bdi(request.justification)),
    facts([[t('request.gives'), service && rich('request.group', { group: service.group.name })],
      [t('request.since'), [when(request.requestedAt), ' (', age(request.requestedAt), ')']],
      [t('request.who'), request.eligibleApprovers.length ? listed(request.eligibleApprovers.map(named))
        : t('request.nobody')]]),
    is(request.requester) ? el('p', { class: 'muted' }, t('request.own'))
      : decides && el('div', { class: 'actions' },
        button(t('request.deny'), { run: () => decide(request, service, false) }),
        button(t('request.approve'), { run: () => decide(request, service, true), icon: 'done' })));
}

const ask = (services) => formDialog({
  title: t('request.new'), submit: t('request.newGo'),
  fields: [
    field({ name: 'service', kind: 'select', label: t('request.service'), options: services
      .map(({ service }) => ({ value: service, label: service })) }),
    field({ name: 'user', kind: 'person', label: t('request.for') }),
    field({ name: 'justification', kind: 'textarea', label: t('request.why'), max: 1000 }),
  ],
  check: (values) => required(values, 'user', 'justification'),
  run: (values, key) => send('POST', 'access-request', { body: values, key }),
}).then(async (done) => {
  if (!done) return;
  await reload();
  notice({ text: t('request.made') });
});

async function stop(request) {
  const kind = request.state === 'open' ? 'withdraw' : 'end';
  const values = { name: named(request.requester), service: request.service };
  const done = await confirm({
    title: rich(`request.${kind}.ask`, values), danger: true, verb: t(`request.${kind}`),
    body: el('p', null, t(`request.${kind}.note`)),
    run: (key) => send('POST', 'access-request/end', { body: { requestId: request.id }, key }),
  });
  if (!done) return;
  await reload();
  notice({ text: rich(`request.${kind}.done`, values) });
}

const STATES = {
  open: ['', 'queued'], approved: ['ok', 'done'], denied: ['', 'failed'], ended: ['', 'done'],
  withdrawn: ['', 'failed'],
};

async function requests({ company, query, signal }) {
  let open, services;
  try {
    [open, { items: services }] = await Promise.all([get('approvals', { limit: 200 }, signal),
      get('access-services', { limit: 200 }, signal)]);
  } catch (error) {
    if (error.reason !== 'moduleOff') throw error;
    return { view: () => card({}, el('p', null, t('request.off')), el('p', null, rich('request.offHow', {
      line: el('code', null, '"modules":{"accessGovernance":true}') }))) };
  }
  let rows;
  const filter = filters({
    query, change: () => rows.reload(),
    words: { name: 'state', label: t('tasks.state'), options: ['', ...Object.keys(STATES)]
      .map((value) => ({ value, label: value ? word('request.state', value) : t('way.word.all') })) },
  });
  const write = company.can('access.write');
  rows = list({
    name: 'requests', path: 'access-requests', filter, query: () => ({ state: filter.query().state }), signal,
    caption: t('request.all'),
    columns: [
      { key: 'name', sort: (one) => nameOf(one.requester), label: t('tasks.person'), kind: 'main', cell: (one) => linkTo(one.requester, company) },
      { key: 'service', sort: (one) => one.service, label: t('request.service'), cell: (one) => bdi(one.service) },
      { key: 'state', sort: (one) => one.state, label: t('tasks.state'), kind: 'wide', cell: (one) => [pill(word('request.state', one.state), ...STATES[one.state]),
        one.takenAwayAt && el('small', { class: 'muted under' },
          rich('request.takenAway', { at: when(one.takenAwayAt, 'cell') })),
        one.taskId && company.can('tasks.read') && [' ',
          el('a', { href: href('task', one.taskId) }, t('task.open'))]] },
      { key: 'since', sort: (one) => one.requestedAt, label: t('request.since'), cell: (one) => when(one.requestedAt, 'cellDay') },
      { key: 'decided', kind: 'addr', sort: (one) => one.decidedAt, label: t('request.decidedBy'), cell: (one) => (one.decidedAt
        ? [when(one.decidedAt, 'cellDay'), ' ', el('small', { class: 'muted under' }, bdi(one.decidedBy))] : '–') },
    ],
    label: (one) => nameOf(one.requester), menu: write && ((one) => (one.state === 'open' || one.state === 'approved'
      ? [{
        label: t(one.state === 'open' ? 'request.withdraw' : 'request.end'), kind: 'danger',
        run: () => stop(one),
      }] : [])),
    none: () => ({ text: t('request.none') }),
  });
  await rows.ready;
  return {
    actions: write && services.length > 0 && button(t('request.new'), { icon: 'add', run: () => ask(services) }),
    view: () => [
      company.can('requests.decide') && !company.person && box('warn', el('p', null, t('reason.personUnknown'))),
      card({ title: t('request.open', { n: open.totalCount }) }, open.items.length
        ? el('div', { class: 'cards' }, open.items.map((one) => safely(() => waiting(one, { company, services }))))
        : empty(t('request.calm'))),
      card({ title: t('request.all') }, filter.view(rows.tools()), rows.view()),
    ],
  };
}

/* --- the page --- */

export async function page(args) {
  const { company, params, query } = args;
  const may = Object.keys(TABS).filter((one) => company.can(TABS[one]));
  const tab = [params.id, may[0]].find((one) => may.includes(one));
  const makers = {
    groups: query.group ? group : groups, templates: query.template ? template : templates, requests,
  };
  const made = await makers[tab](args).catch((error) => {
    if (args.signal.aborted || error.status === undefined) throw error;
    return { view: () => card({}, failed(error, reload)) }; // the other tabs stay within reach
  });
  const { title, view, actions, back } = made;
  return {
    title: title || t(`access.${tab}`),
    view: () => el('div', { class: 'page' }, head({ title: title ? bdi(title) : t('nav.access'), actions,
      path: back && [[t(`access.${back}`), href('access', back)]] }),
      !back && may.length > 1 && tabs(t('nav.access'), may.map((one) => ({
        label: t(`access.${one}`), href: href('access', one), current: one === tab,
      }))),
      view()),
  };
}
