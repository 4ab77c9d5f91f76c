// What needs somebody, who starts and leaves, how the directories are; twelve months; punctuality.
import { get, now } from '../api.js';
import { bdi, el, icon, redraw } from '../dom.js';
import { addDays, age, city, clockOf, dateText, dayOf, dayText, directoryName, duration, forViewer,
  has, instantOf, number, percent, rich, t, when, word } from '../format.js';
import { chartCard, gauge, logLines, paired } from '../components/chart.js';
import { button, card, head, named, pill } from '../components/page.js';
import { empty, inWords, part, safely } from '../components/states.js';
import { byDay, dueIn, moversOf } from '../movers.js';
import { href, mayOpen } from '../router.js';

export const shape = 'cards';

/* --- needs --- */

const NEEDS = {
  workerNone: 'company', chainBroken: 'log', strays: 'log', offboardingFailed: 'tasks',
  offboardingOverdue: 'tasks', tasksLate: 'tasks',
  syncStopped: 'company', directoryHeld: 'company', paused: 'company', failed: 'tasks', attention: 'tasks',
  braked: 'tasks', approvals: 'access', syncFailed: 'company', directoryLate: 'company',
  keyExpiring: 'keys', secretExpiring: 'company', seatsLow: 'company',
};
const FILTER = {
  offboardingFailed: { type: 'userDelete', state: 'failed' }, failed: { state: 'failed' },
  attention: { state: 'attention' }, braked: { braked: 'true' }, offboardingOverdue: { tab: 'queued', type: 'userDelete' },
  tasksLate: { tab: 'queued' },
};

/* worst: the first of all, which is seen first. */
function need(one, data, company, worst) {
  const first = one.sample[0] || {};
  const directory = data.directories?.find((each) => each.directory === first.directory);
  const name = named(first);
  const key = [first.accountDisabled ? '.disabled' : first.begun === false && '.waiting', !one.since && '.unknown', ''].filter((end) => typeof end === 'string')
    .map((end) => `need.${one.kind}${end}`).find((name) => has(name) || has(`${name}.other`));
  const values = {
    n: one.count, name: bdi(name), directory: first.directory ? word('the', first.directory) : '',
    since: when(one.since, 'near'), age: one.since ? duration(now() - Date.parse(one.since)) : '–',
    record: first.record ?? first.reason?.match(/\d+/)?.[0] ?? '', used: data.seats?.used ?? 0,
    limit: data.seats?.limit ?? 0,
  };
  const to = one.count === 1 && first.taskId ? href('task', first.taskId)
    : href(NEEDS[one.kind], one.kind === 'approvals' ? 'requests' : '', FILTER[one.kind]);
  return el('li', { class: `${one.severity === 'critical' ? 'bad' : 'warn'} ${worst ? 'worst' : ''}` },
    icon(one.kind === 'braked' || one.kind === 'directoryHeld' ? 'held'
      : one.severity === 'critical' ? 'failed' : 'attention'),
    el('div', null, el('strong', null, rich(key, values),
      directory?.waitingTasks > 0 && ` ${t('need.waiting', { n: directory.waitingTasks })}`,
      directory?.nextProbeAt && [` ${t('dir.next')} `, when(directory.nextProbeAt, 'near'), '.']),
      first.reason && !['chainBroken', 'braked'].includes(one.kind) && el('div', null, one.kind === 'approvals'
        ? el('small', { class: 'muted' }, bdi(name), ' · ', bdi(first.reason))
        : one.kind === 'secretExpiring' ? word('secret', first.reason) : inWords(first.reason))),
    mayOpen(company, NEEDS[one.kind]) && button(t(`need.${one.kind}.do`), { href: to, kind: worst ? '' : 'small' }));
}

const needs = (company) => (data) => (data.needs.length
  ? el('ul', { class: 'needs' }, data.needs.map((one, i) => safely(() => need(one, data, company, !i))))
  : empty(t('overview.calm')));

/* --- today --- */

const VERB = { userCreate: 'starts', userDelete: 'leaves' };
function today({ today: { open: all, done, late, totalCount } }) {
  const open = all.slice(0, 10);
  const past = done > 0 && el('p', { class: 'muted' }, t('today.done', { n: done }), ' ',
    late ? t('today.late', { n: late }) : t('today.onTime'));
  return [open.length ? el('ul', { class: 'plain due' }, open.map((task) => el('li', null,
    when(task.scheduledAtUtc, 'clock'),
    el('a', { href: href('task', task.id) }, bdi(task.displayName || task.userPrincipalName)),
    el('span', { class: `small ${task.state === 'failed' ? 'bad' : 'muted'}` },
      task.state === 'queued' ? t(`today.${VERB[task.type] || 'changes'}`) : t(`state.${task.state}`)))))
    : empty(t('today.none')),
  totalCount > open.length + done && el('a', { href: href('tasks', '', dayFilter(dayOf())) },
    t('today.all', { n: totalCount })), past];
}

const dayFilter = (day) => ({ tab: 'all', dueFrom: instantOf(day), dueTo: instantOf(addDays(day, 1)) });

/* --- charts --- */

const NAMES = 6; // of a day of the week
/* A line a day: who starts and who leaves. Until the names are there, how many. */
function week({ days }, names) {
  const shown = days.slice(1, 8);
  if (!shown.some((day) => day.creates + day.deletes)) return empty(t('week.none'));
  const of = byDay(names || []);
  return el('ul', { class: 'week' }, shown.map((day) => {
    const total = day.creates + day.deletes;
    return el('li', { key: day.date, class: total ? null : 'free' },
      el('a', { href: href('calendar', day.date) }, dayText(day.date, 'short')),
      total ? el('div', { class: 'movers' }, moversOf(of.get(day.date) || [], total, day.date, NAMES))
        : el('span', { class: 'muted' }, t('week.nobody')));
  }));
}

const POINTS = 3; // fewer make no chart
const figure = (value, words) => el('p', null, el('span', { class: 'figure' }, value), ' ',
  el('span', { class: 'muted' }, words));

function months({ months: all, historyFrom }) {
  const month = dayOf().slice(0, 7);
  const rows = all.map((one) => ({ ...one, open: one.month === month,
    none: historyFrom && one.month < dayOf(historyFrom).slice(0, 7) }));
  const sum = (of) => rows.reduce((total, one) => total + one[of], 0);
  const told = (one, value) => (one.none ? t('chart.noHistory') : value);
  if (rows.filter((one) => !one.none && (one.hires || one.leavers)).length < POINTS) {
    return el('div', { class: 'figures' }, figure(number(sum('hires')), t('months.hires', { n: sum('hires') })),
      figure(number(sum('leavers')), t('months.leavers', { n: sum('leavers') })),
      historyFrom && el('p', { class: 'muted' }, rich('months.since', { day: when(historyFrom, 'day') })));
  }
  return {
    finding: t('months.finding', { hires: sum('hires'), leavers: sum('leavers') }),
    legend: [['one', t('chart.hires')], ['two', t('chart.leavers')], ['outline', t('chart.soFar')]],
    head: ['month', 'hires', 'leavers'].map((key) => t(`chart.${key}`)),
    rows: rows.map((one) => [`${dayText(`${one.month}-15`, 'monthYear')}${one.open
      ? `, ${t('chart.soFar')}` : ''}`, told(one, one.hires), told(one, one.leavers)]),
    draw: paired(rows.map((one) => ({ label: one.none ? '–' : dayText(`${one.month}-15`, 'month'),
      one: one.hires, two: one.leavers, open: one.open }))),
  };
}

function punctuality({ hours }) {
  const begun = hours.reduce((all, one) => all + one.begun, 0);
  const onTime = hours.reduce((all, one) => all + one.onTime, 0);
  if (!begun) return empty(t('punctual.none'));
  const share = t('punctual.share', { share: percent(onTime / begun) });
  const slowest = duration(Math.max(...hours.map((one) => one.maxMs ?? 0)));
  const text = el('p', { class: 'muted' }, t('punctual.of', { n: begun }), ' ', t('punctual.slowest', { slowest }));
  const headline = el('p', { class: 'figure' }, share);
  if (hours.filter((one) => one.begun).length < POINTS) return [headline, text];
  return {
    finding: share, headline: [headline, text],
    legend: [['curve', t('chart.p99')], ['curve old', t('chart.oldest')]],
    head: ['hour', 'begun', 'p50', 'p99', 'oldest'].map((key) => t(`chart.${key}`)),
    rows: hours.map((one) => [when(one.from, 'clock'), one.begun, ...[one.p50Ms, one.p99Ms, one.oldestMs]
      .map((ms) => (ms === null || ms === undefined ? '–' : duration(ms)))]),
    draw: logLines(hours.map((one) => ({ label: clockOf(one.from), values: [one.p99Ms, one.oldestMs] })),
      [[10, duration(10)], [1000, '1 s'], [60000, '1 min'], [3600000, '1 h']], ['curve', 'curve old']),
  };
}

/* --- directories --- */

const STATE = { fresh: ['ok', 'done'], late: ['warn', 'attention'], held: ['bad', 'held'],
  stopped: ['bad', 'attention'], never: ['accent', 'queued'] };
function directories({ directories: all }) {
  return el('ul', { class: 'plain' }, all.map((one) => {
    const [tone, sign] = STATE[one.state];
    return el('li', { class: 'dir' }, el('strong', null, directoryName(one.directory)),
      el('span', { class: 'muted small' }, one.asOf ? age(one.asOf)
        : one.progress ? t('dir.progress', { n: one.progress.users }) : ''),
      pill(t(`dir.${one.state}`), tone, sign),
      one.asOf && gauge((now() - Date.parse(one.asOf)) / (one.syncInterval * 1000), tone),
      one.problem && el('small', null, inWords(one.problem)),
      one.nextProbeAt && el('small', { class: 'muted' }, t('dir.next'), ' ', when(one.nextProbeAt, 'second')));
  }));
}

/* --- the page --- */

function lead(data) {
  const [day] = data.days || [];
  const said = day && (day.creates + day.deletes ? t('overview.today', {
    start: t('overview.start', { n: day.creates }), leave: t('overview.leave', { n: day.deletes }) })
    : t('overview.nobody'));
  return [t('overview.needs', { n: data.needs?.length ?? 0 }), said].filter(Boolean).join(' ');
}

export async function page({ company, signal }) {
  let data = await get('overview', {}, signal);
  const mayTasks = company.can('tasks.read');
  const trends = mayTasks && part(() => get('overview/trends', {}, signal));
  let names; // of the week's joiners and leavers, the first 200
  const weekly = () => dueIn(addDays(dayOf(), 1), addDays(dayOf(), 8));
  if (mayTasks) get('tasks', weekly(), signal).then(({ items }) => { names = items; redraw(); }).catch(() => {});
  const title = (key) => t(`overview.title.${key}`);
  const placed = (place, made) => el('div', { var: { '--place': place } }, made);
  const slot = (key, place, draw) => data[key] && placed(place, card({ title: title(key) }, () => draw(data)));
  const trend = (key, place, draw) => trends && placed(place, trends.data()
    ? chartCard({ title: title(key), of: () => draw(trends.data()) })
    : card({ title: title(key) }, trends.view()));
  const clock = () => {
    const text = t('overview.now', { day: dateText(now(), 'weekday'), time: clockOf(), city: city() });
    return [text[0].toUpperCase() + text.slice(1), forViewer(now())].filter(Boolean).join(' · ');
  };
  return {
    title: t('nav.overview'),
    view: () => el('div', { class: 'page' },
      head({
        title: t('nav.overview'),
        actions: company.can('people.write') && [
          button(t('people.offboard'), { href: href('offboard'), icon: 'leave' }),
          button(t('hire.title'), { href: href('hire'), icon: 'add', kind: 'primary' })],
        lead: data.needs && lead(data), sub: clock(),
      }), el('div', { class: 'columns' },
        el('div', { class: 'stack' }, slot('needs', 1, needs(company)),
          data.days && placed(3, card({ title: title('days'), beside: el('a', { href: href('calendar') },
            t('nav.calendar')) }, () => week(data, names))),
          trend('months', 5, months)),
        el('div', { class: 'stack' }, slot('today', 2, today), slot('directories', 4, directories),
          trend('hours', 6, punctuality)))),
    poll: [{ path: 'overview', every: 15000, apply: (fresh) => { data = fresh; } },
      mayTasks && { path: 'tasks', query: weekly, every: 60000, apply: ({ items }) => { names = items; } },
      mayTasks && { path: 'overview/trends', every: 300000, apply: trends.set }].filter(Boolean),
  };
}
