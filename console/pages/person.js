// One person: what is on its way, profile, access, tasks, log, and of a leaver what is proven.
import { get } from '../api.js';
import { ATTRIBUTES } from '../attributes.js';
import { bdi, el } from '../dom.js';
import { actionText, directoryName, rich, stepName, t, taskTitle, when, word }
  from '../format.js';
import { copyable } from '../components/copy.js';
import { box, button, card, facts, fold, head, statePill, statusPill, tabs, timeline }
  from '../components/page.js';
import { part, quote } from '../components/states.js';
import { list } from '../components/table.js';
import { line } from './line.js';
import { restore } from './restore.js';
import { href } from '../router.js';

export const shape = 'facts';

/* --- tabs --- */

const PROFILE = ['displayName', 'givenName', 'surname', 'mail', 'department', 'jobTitle',
  ...Object.keys(ATTRIBUTES), 'employeeId'];
const NAMES = { givenName: 'field.firstname', surname: 'field.surname' };

const profile = ({ user }) => ({ view: () => factsOf(user) });
function factsOf(user) {
  const { signInActivity: signIns = {}, manager } = user;
  const never = el('span', { class: 'muted' }, t('person.noSignIn'));
  const signIn = (name) => [t(`person.${name}`), signIns[name] ? when(signIns[name])
    : name === 'lastSignInAt' ? never : null];
  return [card({ title: t('person.tab.profile') }, facts([
    ...PROFILE.map((name) => [t(NAMES[name] || (name === 'displayName' || name === 'mail'
      ? `person.${name}` : `field.${name}`)), user[name] && bdi(user[name])]),
    [t('field.manager'), manager && el('a', { href: href('person', manager.id) },
      bdi(manager.displayName || manager.userPrincipalName))],
    signIn('lastSignInAt'), signIn('lastNonInteractiveSignInAt'), signIn('lastSuccessfulSignInAt'),
    [t('person.licenses'), user.licenses.length ? user.licenses.map((one) => el('div', null, bdi(one)))
      : t('none')],
    [t('overview.title.directories'), user.directories.map(directoryName).join(', ')],
    [t('person.created'), when(user.createdAt, 'day')],
  ])), card({ title: t('person.ids') }, facts([
    [t('person.upn'), copyable(user.userPrincipalName ?? '–')], [t('person.id'), copyable(user.id)],
  ], { kind: 'wide' }))];
}

/* How somebody came to a membership, in words. */
export const sourceText = ({ source, grantedBy, grantedAt }) => rich(`source.${source}`,
  { name: grantedBy?.name ?? '', at: grantedAt ? when(grantedAt, 'day') : '–' });

/* A card of one list. */
const listed = (title, options) => {
  const one = list(options);
  return { ready: one.ready, view: () => card({ title, beside: one.tools() }, one.view()) };
};

const access = ({ user, signal }) => listed(t('nav.access'), {
  name: 'person.access', path: 'user/access', query: () => ({ user: user.id }), signal, caption: t('nav.access'),
  id: (row) => row.resource.id + row.via.map((one) => one.id).join(),
  none: () => ({ text: t('person.noAccess') }),
  columns: [
    { key: 'name', sort: ({ resource }) => resource.name, label: t('person.resource'), kind: 'main', cell: ({ resource }) => el('a',
      { href: href('access', 'groups', { group: resource.id }) }, bdi(resource.name)) },
    { key: 'kind', sort: ({ resource }) => word('kind', resource.kind), label: t('person.kind'), cell: ({ resource }) => word('kind', resource.kind) },
    { key: 'how', sort: (row) => row.source, label: t('person.how'), cell: (row) => (row.grantedBy?.rule
      ? fold(sourceText(row), el('code', null, row.grantedBy.rule)) : sourceText(row)) },
    { key: 'via', sort: ({ via }) => via[0]?.name, label: t('person.via'), cell: ({ via }) => via.map((one, i) => [i ? ' › ' : '', bdi(one.name)]) },
  ],
});

const asker = (row) => row.requestedBy?.label || row.requestedBy?.username;
const tasks = ({ user, signal }) => listed(t('nav.tasks'), {
  name: 'person.tasks', path: 'tasks', query: () => ({ userPrincipalName: user.id }), signal,
  caption: t('nav.tasks'), none: () => ({ text: t('person.noTasks') }),
  columns: [
    { key: 'what', sort: (row) => word('type', row.type), label: t('person.task'), kind: 'main', cell: (row) => el('a', { href: href('task', row.id) },
      word('type', row.type)) },
    { key: 'state', sort: (row) => word('state', row.state), label: t('people.status'), cell: (row) => statePill(row.state) },
    { key: 'due', sort: (row) => row.scheduledAtUtc, order: { asc: 'due' }, label: t('person.due'),
      cell: (row) => when(row.scheduledAtUtc, 'cell') },
    { key: 'by', sort: asker, label: t('person.by'), cell: (row) => bdi(asker(row)) },
  ],
});

const log = ({ user, signal }) => listed(t('nav.log'), {
  name: 'person.log', path: 'audit', query: () => ({ target: user.userPrincipalName }), signal, caption: t('nav.log'),
  none: () => ({ text: t('person.noLog') }),
  columns: [
    { key: 'what', sort: (row) => row.action, label: t('person.what'), kind: 'main', cell: (row) =>
      [row.actor === 'worker' ? t('log.worker') : bdi(row.actor ?? '–'), ' ', actionText(row)] },
    { key: 'when', sort: (row) => row.at, label: t('person.when'), cell: (row) => when(row.at, 'cell') },
    { key: 'outcome', sort: (row) => row.outcome, label: t('person.outcome'), cell: (row) => (row.outcome === 'ok' ? t('outcome.ok')
      : [`${t('outcome.failed')} `, el('code', null, row.outcome)]) },
  ],
});

/* The dossier of a leaver: what is not proven comes first; a page when it is printed. */
function evidence({ user, signal }) {
  return part(() => get('user/evidence', { user: user.id }, signal), (data) => {
    const step = (one) => {
      const { name, by } = stepName(one.name);
      const sign = ['failed', 'error'].includes(one.outcome) ? { icon: 'failed', tone: 'bad' }
        : one.proof ? { icon: 'done', tone: 'ok' } : { icon: 'attention', tone: 'warn' };
      return {
        ...sign, title: name,
        beside: one.at && when(one.at, 'second'),
        detail: [by, word('outcome', one.outcome ?? 'waits'), one.proof ? t('evidence.record', { record: one.proof.seq })
          : t('evidence.noRecord'), quote(one.detail)].filter(Boolean).flatMap((each, i) => (i ? [' · ', each] : [each])),
      };
    };
    return [
      data.notProven.length ? box('warn', el('h2', null, t('evidence.open')),
        el('ul', null, data.notProven.map((one) => el('li', null, quote(one)))))
        : box('ok', el('h2', null, t('evidence.whole'))),
      ...data.offboardings.map((one) => card({ title: taskTitle(one), beside: button(t('evidence.print'),
        { run: () => print(), kind: 'small' }) },
      facts([[t('person.due'), when(one.scheduledAtUtc)], [t('people.status'), statePill(one.state)],
        [t('person.by'), bdi(one.requestedBy?.label || one.requestedBy?.username)],
        one.passwordReplaced !== null
          && [t('evidence.password'), t(`evidence.${one.passwordReplaced ? 'replaced' : 'notReplaced'}`)]]),
      timeline(one.steps.map(step)))),
      data.chain && el('p', { class: 'muted' }, t(data.chain.whole ? 'evidence.chain' : 'evidence.broken',
        { n: data.chain.records ?? data.chain.brokenAt ?? 0 })),
    ];
  });
}

/* --- the page --- */

const TABS = {
  profile: [profile], line: [line], access: [access, 'access.read'], tasks: [tasks, 'tasks.read'],
  log: [log, 'audit.read'], evidence: [evidence, 'audit.read'],
};

export async function page({ company, params, query, signal }) {
  const { user } = await get('user/details', { user: params.id }, signal);
  const coming = company.can('tasks.read') ? (await get('tasks', {
    userPrincipalName: user.id, state: 'queued,running,attention,failed', order: 'due',
    limit: 5 }, signal)).items : [];
  const left = !user.accountEnabled;
  const offered = Object.keys(TABS).filter((name) => (!TABS[name][1] || company.can(TABS[name][1]))
    && (name !== 'evidence' || left));
  const tab = offered.includes(query.tab) ? query.tab : 'profile';
  const own = user.userPrincipalName === company.person?.userPrincipalName;
  const content = TABS[tab][0]({ user, company, signal });
  await content.ready;
  return {
    title: user.displayName || user.userPrincipalName,
    view: () => el('div', { class: 'page' },
      head({
        path: [[t('nav.people'), href('people')]], title: bdi(user.displayName || user.userPrincipalName),
        pill: statusPill(user.status),
        lead: el('span', { class: 'muted' }, bdi(user.userPrincipalName ?? ''),
          user.department && [' · ', bdi(user.department)],
          user.manager && [' · ', rich('person.reports', { name: user.manager.displayName })]),
        actions: company.can('people.write') && [
          button(t('person.change'), { href: href('hire', user.id) }),
          company.can('access.write') && button(t('person.template'),
            { href: href('access', 'templates', { user: user.userPrincipalName }) }),
          user.accountEnabled ? button(t('offboard.open'), { href: href('offboard', user.id) })
            : button(t('restore.open'), { kind: 'primary', run: () => restore(user) })],
      }),
      own && box('info', t('person.own')),
      coming.map((task) => el('div', { class: `notice ${task.state === 'failed' ? 'bad'
        : task.state === 'attention' ? 'warn' : 'info'}` }, statePill(task.state),
      el('div', null, taskTitle(task), ' · ', when(task.scheduledAtUtc, 'minute', { forYou: true })),
      button(t('open'), { href: href('task', task.id), kind: 'small' }))),
      tabs(t('person.tabs'), offered.map((name) => ({
        label: t(`person.tab.${name}`), current: name === tab,
        href: href('person', user.id, name === 'profile' ? {} : { tab: name }) }))),
      content.view()),
  };
}
