// Owns the company's page: what others need to know of it, and what is in force. Nothing is changed
// here but by asking a directory to be read or checked.
import { get, now, poll, send } from '../api.js';
import { bdi, el, later } from '../dom.js';
import { age, city, clockOf, directoryName, duration, has, number, percent, rich, t, when, word }
  from '../format.js';
import { copyable } from '../components/copy.js';
import { confirm } from '../components/dialog.js';
import { field } from '../components/form.js';
import { box, button, card, facts, head, pill, timeline } from '../components/page.js';
import { errorText, failed, notice, quote } from '../components/states.js';

export const shape = 'cards';

const STATES = {
  fresh: ['ok', 'done'], late: ['warn', 'attention'], held: ['bad', 'held'], stopped: ['bad', 'attention'],
  never: ['', 'queued'],
};

/* --- names --- */

const FORMATS = ['usernameFormat', 'emailFormat', 'displayNameFormat'];

/* A name typed in, and the formats, which may be altered to see what would come of it. */
function names(data, signal) {
  const result = el('div', { role: 'status' });
  const one = (name, label, value, optional) => field({ name, label, value, optional, max: 64,
    change: () => look() });
  const fields = [...['firstname', 'middleName', 'surname'].map((name, i) =>
    one(name, t(`field.${name}`), ['Åsa', '', 'Öberg'][i], i === 1)),
    ...FORMATS.map((name) => one(name, t(`co.${name}`), data[name]))];
  const look = later(500, async () => {
    const values = Object.fromEntries(fields.map((each) => [each.name, each.value()]));
    try {
      const made = await get('user/preview', values, signal);
      result.replaceChildren(facts([[t('co.displayNameFormat'), bdi(made.displayName)],
        [t('co.usernameFormat'), [bdi(made.userPrincipalName), made.numbered && ` (${t('co.numbered')})`]],
        [t('co.emailFormat'), bdi(made.mail)]]));
    } catch (error) {
      if (!signal.aborted) result.replaceChildren(el('p', null, errorText(error), ' ', quote(error.message)));
    }
  });
  look();
  return card({ title: t('co.names') }, el('p', { class: 'muted' }, t('co.try')),
    el('div', { class: 'grid' }, fields.map((each) => each.node)), result);
}

/* --- a directory --- */

/* The doctor's lines; beneath one that failed, what to do. */
function report({ state, requestedAt, finishedAt, lines }) {
  if (state === 'none') return '';
  const bad = lines.filter((line) => !line.ok).length;
  return [el('h3', null, state === 'done' ? t('co.checked', { n: bad }) : t(`co.check.${state}`)),
    el('p', { class: 'muted' }, when(finishedAt || requestedAt)),
    timeline(lines.map((line) => ({
      icon: line.ok ? 'done' : 'failed', tone: line.ok ? 'ok' : 'bad',
      title: el('span', { lang: 'en' }, bdi(line.check)),
      detail: line.ok ? el('span', { lang: 'en' }, bdi(line.detail))
        : [quote(line.detail), el('div', null, advice(line))],
    })))];
}
const advice = ({ check }) => {
  const kind = check.split(' ')[0];
  return t(has(`co.mend.${kind}`) ? `co.mend.${kind}` : 'co.mend');
};

function directory(one, company, signal) {
  const host = el('div', { 'aria-live': 'polite' });
  const query = { directory: one.directory };
  const show = (data) => { host.replaceChildren(...[report(data)].flat()); };
  let watching;
  function watch() {
    watching?.abort();
    watching = new AbortController();
    const until = watching;
    poll({
      path: 'directory/check', query, every: 2000, signal: AbortSignal.any([signal, until.signal]),
      apply: (data) => { show(data); if (data.state === 'done') until.abort(); },
    });
  }
  const go = async (run) => {
    try { await run(); } catch (error) { host.replaceChildren(failed(error)); }
  };
  const check = () => go(async () => {
    const { requestedAt } = await send('POST', 'directory/check', { query });
    show({ state: 'waiting', requestedAt, lines: [] });
    watch();
  });
  const read = () => go(async () => {
    const stopped = one.state === 'stopped';
    const done = stopped ? await confirm({
      title: t('co.acceptAsk'), danger: true, verb: t('co.accept'),
      body: [el('p', null, t('co.acceptNote')), quote(one.problem)],
      run: () => send('POST', 'directory/sync', { query, body: { acceptDeletions: true } }),
    }) : await send('POST', 'directory/sync', { query });
    if (done) notice({ text: rich('co.reading', { directory: directoryName(one.directory) }) });
  });
  get('directory/check', query, signal).then((data) => {
    show(data);
    if (data.state === 'waiting' || data.state === 'running') watch();
  }).catch(() => {}); // no report is no fault: the button makes one
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
    [t('co.address'), bdi(one.address)],
    [t('co.holds'), t('co.counts', { users: number(one.users), groups: number(one.groups) })],
    [t('co.interval'), duration(one.syncInterval * 1000)],
    [t('co.guard'), percent(one.deletionGuard / 100)],
    [t('co.createIn'), one.createIn && bdi(one.createIn)],
    [t('co.marker'), one.markerAttribute && bdi(one.markerAttribute)],
    [t('co.protected'), one.protectedAccountCount ? number(one.protectedAccountCount) : null],
    ...one.secrets.filter((each) => each.expiresAt).map((each) => [word('secret', each.kind),
      [t('co.until'), ' ', when(each.expiresAt, 'day'),
        Date.parse(each.expiresAt) - now() < 30 * 864e5 && [' ', pill(t('co.soon'), 'warn', 'attention')]]]),
  ]),
  operate && el('div', { class: 'actions' },
    button(t(one.state === 'stopped' ? 'co.accept' : 'co.read'), { icon: 'retry', run: read }),
    button(t('co.check'), { icon: 'directory', run: check })),
  host);
}

export async function page({ company, signal }) {
  const data = await get('company', {}, signal);
  const { links } = company;
  const rate = (name) => [data.rateLimits[name] || t('co.none'), ' ',
    el('small', { class: 'muted' }, word('source', data.rateLimits.source[name]))];
  const yes = (on) => pill(t(on ? 'co.on' : 'co.off'), on ? 'ok' : '', on ? 'done' : 'pause');
  return {
    title: t('nav.company'),
    node: el('div', { class: 'page' },
      head({ title: t('nav.company'), lead: bdi(data.name) }),
      el('div', { class: 'columns' },
        el('div', { class: 'stack' },
          card({ title: t('co.id') }, el('p', { class: 'big' }, copyable(data.companyId, { what: t('co.id') })),
            el('p', { class: 'muted' }, rich('co.idNote', { header: el('code', null, 'X-Company-ID') })),
            facts([['REST', copyable(links.rest)], ['MCP', copyable(links.mcp)],
              ['OpenAPI', links.openapi && el('a', { href: links.openapi }, links.openapi)]], { wide: true })),
          data.directories.map((one) => directory(one, company, signal)),
          names(data, signal)),
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
  };
}
