// Owns the company's page: what others need to know of it, and what is in force. Nothing is changed
// here but by asking a directory to be read or checked.
import { get, now, poll, send } from '../api.js';
import { bdi, el, later, redraw } from '../dom.js';
import { age, city, clockOf, directoryName, duration, has, number, percent, rich, said, t, when, word }
  from '../format.js';
import { copyable } from '../components/copy.js';
import { confirm } from '../components/dialog.js';
import { field } from '../components/form.js';
import { box, button, card, facts, head, pill, timeline } from '../components/page.js';
import { companyTabs } from './settings.js';
import { errorText, failed, notice, quote, safely } from '../components/states.js';

export const shape = 'cards';

const STATES = {
  fresh: ['ok', 'done'], late: ['warn', 'attention'], held: ['bad', 'held'], stopped: ['bad', 'attention'],
  never: ['', 'queued'],
};

/* --- names --- */

const FORMATS = ['usernameFormat', 'emailFormat', 'displayNameFormat'];

/* A name typed in, and the formats, which may be altered to see what would come of it: asks what a
 * hire asks. Others see the formats. */
function names(data, company, signal) {
  if (!company.can('people.write')) {
    return () => card({ title: t('co.names') }, facts(FORMATS.map((name) =>
      [t(`co.${name}`), bdi(data[name])])));
  }
  let made, fault;
  const one = (name, label, value, optional) => field({ name, label, value, optional, max: 64,
    change: () => look() });
  const fields = [...['firstname', 'middleName', 'surname'].map((name, i) =>
    one(name, t(`field.${name}`), ['Åsa', '', 'Öberg'][i], i === 1)),
    ...FORMATS.map((name) => one(name, t(`co.${name}`), data[name]))];
  const look = later(500, async () => {
    const values = Object.fromEntries(fields.map((each) => [each.name, each.value()]));
    try {
      [made, fault] = [await get('user/preview', values, signal), null];
    } catch (error) { if (!signal.aborted) fault = error; }
    redraw();
  });
  look();
  return () => card({ title: t('co.names') }, el('p', { class: 'muted' }, t('co.try')),
    el('div', { class: 'grid' }, fields.map((each) => each.view())), el('div', { role: 'status' },
      fault ? el('p', null, errorText(fault), ' ', quote(fault.message))
        : made && facts([[t('co.displayNameFormat'), bdi(made.displayName)],
          [t('co.usernameFormat'), [bdi(made.userPrincipalName), made.numbered && ` (${t('co.numbered')})`]],
          [t('co.emailFormat'), bdi(made.mail)]])));
}

/* --- a directory --- */

/* The doctor's lines; beneath one that failed, what to do. */
function lines({ state, requestedAt, finishedAt, lines: all }) {
  if (state === 'none') return '';
  const bad = all.filter((line) => !line.ok).length;
  return [el('h3', null, state === 'done' ? t('co.checked', { n: bad }) : t(`co.check.${state}`)),
    el('p', { class: 'muted' }, when(finishedAt || requestedAt)),
    timeline(all.map((line) => ({
      icon: line.ok ? 'done' : 'failed', tone: line.ok ? 'ok' : 'bad',
      title: said(line.check) === line.check ? el('code', null, line.check) : said(line.check) || line.check,
      detail: [quote(line.detail, line.ok), !line.ok && el('div', null, advice(line))],
    })))];
}
const advice = ({ check }) => {
  const kind = check.split(' ')[0];
  return t(has(`co.mend.${kind}`) ? `co.mend.${kind}` : 'co.mend');
};

function directory(name, company, signal) {
  const query = { directory: name };
  let report, fault, watching;
  function watch() {
    watching?.abort();
    watching = new AbortController();
    const until = watching;
    poll({
      path: 'directory/check', query, every: 2000, signal: AbortSignal.any([signal, until.signal]),
      apply: (data) => { report = data; if (data.state === 'done') until.abort(); redraw(); },
    });
  }
  const go = async (run) => {
    fault = null;
    try { await run(); } catch (error) { fault = error; }
    redraw();
  };
  const check = () => go(async () => {
    const { requestedAt } = await send('POST', 'directory/check', { query });
    report = { state: 'waiting', requestedAt, lines: [] };
    watch();
  });
  const read = (one) => go(async () => {
    const done = one.state === 'stopped' ? await confirm({
      title: t('co.acceptAsk'), danger: true, verb: t('co.accept'),
      body: [el('p', null, t('co.acceptNote')), quote(one.problem)],
      run: () => send('POST', 'directory/sync', { query, body: { acceptDeletions: true } }),
    }) : await send('POST', 'directory/sync', { query });
    if (done) notice({ text: rich('co.reading', { directory: directoryName(name) }) });
  });
  get('directory/check', query, signal).then((data) => {
    report = data;
    redraw();
    if (data.state === 'waiting' || data.state === 'running') watch();
  }).catch(() => {}); // no report is no fault: the button makes one
  return (one) => known(one, company, [fault ? failed(fault) : report && lines(report)],
    { check, read: () => read(one) });
}

/* What is known of a directory; found: its last look; run: what may be asked of it. */
function known(one, company, found, run) {
  const operate = company.can('company.operate');
  const bad = one.state === 'held' || one.state === 'stopped';
  return card({
    title: directoryName(one.directory), id: `directory-${one.directory}`,
    beside: pill(word('dirstate', one.state), ...STATES[one.state]),
  },
  one.problem && box(bad ? 'bad' : 'warn', el('p', null, rich(`co.problem.${one.state}`, {
    since: when(one.since), next: age(one.nextProbeAt), n: one.waitingTasks,
  })), el('p', null, quote(one.problem))),
  one.progress && box('info', rich('co.progress', { users: one.progress.users, since: when(one.progress.startedAt) })),
  facts([
    [t('co.asOf'), one.asOf && [when(one.asOf, 'second'), ' (', age(one.asOf), ')']],
    [t('co.signIns'), one.signInsAsOf ? when(one.signInsAsOf) : t('co.noSignIns')],
    [t('log.address'), bdi(one.address)],
    [t('co.holds'), t('co.counts', { users: number(one.users), groups: number(one.groups) })],
    [t('co.interval'), duration(one.syncInterval * 1000)],
    [t('co.guard'), percent(one.deletionGuard / 100)],
    [t('co.createIn'), one.createIn && bdi(one.createIn)],
    [t('co.marker'), one.markerAttribute && bdi(one.markerAttribute)],
    [t('co.protected'), one.protectedAccountCount ? number(one.protectedAccountCount) : null],
    ...one.secrets.filter((each) => each.expiresAt).map((each) => [word('secret', each.kind),
      [t('co.until'), ' ', when(each.expiresAt, 'day'),
        Date.parse(each.expiresAt) - now() < 30 * 864e5 && [' ', pill(t('co.soon'), 'warn', 'attention')]]]),
  ], { kind: 'long' }),
  operate && el('div', { class: 'actions' },
    button(t(one.state === 'stopped' ? 'co.accept' : 'co.read'), { icon: 'retry', run: run.read }),
    button(t('co.check'), { icon: 'directory', run: run.check })),
  el('div', { 'aria-live': 'polite' }, found));
}

export async function page({ company, signal }) {
  let data = await get('company', {}, signal);
  const shown = new Map(data.directories.map((one) =>
    [one.directory, directory(one.directory, company, signal)]));
  const tryNames = names(data, company, signal);
  const { links } = company;
  const rate = (name) => [[null, '', 'off'].includes(data.rateLimits[name] ?? null) ? t('co.none')
    : data.rateLimits[name], ' ',
    el('small', { class: 'muted' }, word('source', data.rateLimits.source[name]))];
  const yes = (on) => pill(t(on ? 'co.on' : 'co.off'), on ? 'ok' : '', on ? 'done' : 'pause');
  return {
    title: t('nav.company'),
    view: () => el('div', { class: 'page' },
      head({ title: t('nav.company'), lead: bdi(data.name) }), companyTabs(company, 'company'),
      el('div', { class: 'columns' },
        el('div', { class: 'stack' },
          card({ title: t('co.id') }, el('p', { class: 'big' }, copyable(data.companyId, { what: t('co.id') })),
            el('p', { class: 'muted' }, rich('co.idNote', { header: el('code', null, 'X-Company-ID') })),
            facts([['REST', copyable(links.rest)], ['MCP', copyable(links.mcp)],
              ['OpenAPI', links.openapi && el('a', { href: links.openapi }, links.openapi)]], { kind: 'wide' })),
          data.directories.map((one) => safely(() => shown.get(one.directory)(one))),
          tryNames()),
        el('div', { class: 'stack' },
          card({ title: t('co.facts') }, facts([
            [t('co.zone'), [data.timeZone, ' ', el('span', { class: 'muted' }, t('co.clock', {
              time: clockOf(), city: city() }))]],
            [t('co.seats'), data.seats.limit ? t('co.seatsOf', { used: data.seats.used, limit: data.seats.limit })
              : t('co.seatsFree', { n: data.seats.used })],
            [t('co.createUsersIn'), data.createUsersIn && directoryName(data.createUsersIn)],
            [t('co.domains'), [...new Set([data.upnDomain, data.emailDomain])].map((one) => el('div', null, bdi(one)))],
            [t('co.brake'), data.brake?.offboardingsPerHour
              ? t('co.brakeAt', { n: data.brake.offboardingsPerHour }) : t('co.none')],
            [t('co.stale'), t('co.days', { n: data.hygiene.staleAfterDays })],
            [t('co.history'), t('co.days', { n: data.retention.taskHistoryDays })],
            [t('co.audit'), t('co.days', { n: data.retention.auditDays })],
            [t('co.rateKey'), rate('key')], [t('co.rateCompany'), rate('company')],
            ...Object.entries(data.modules).map(([name, on]) => [word('module', name), yes(on)]),
            [t('nav.workflows'), number(data.workflowCount)], [t('co.notifications'), number(data.notificationCount)],
          ]), el('p', { class: 'muted' }, rich('co.readOnly', {
            command: el('code', null, 'idadminctl tenant apply'),
          })))))),
    poll: { path: 'company', every: 15000, apply: (fresh) => { data = fresh; } },
  };
}
