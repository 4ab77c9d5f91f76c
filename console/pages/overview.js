// What needs somebody, who starts and leaves, how the directories are; twelve months; punctuality.
import { get, now } from '../api.js';
import { bdi, el, icon, nodes } from '../dom.js';
import { addDays, age, city, clockOf, dateText, dayOf, dayText, directoryName, duration, forViewer,
  instantOf,
  percent, rich, t, when, word } from '../format.js';
import { chart, diverging, gauge, logLines, paired } from '../components/chart.js';
import { button, card, head, pill } from '../components/page.js';
import { empty, failed, quote } from '../components/states.js';
import { go, href, mayOpen } from '../router.js';

export const shape = 'cards';

/* --- needs --- */

const NEEDS = {
  workerNone: 'company', chainBroken: 'log', strays: 'log', offboardingFailed: 'tasks',
  offboardingOverdue: 'tasks',
  syncStopped: 'company', directoryHeld: 'company', failed: 'tasks', attention: 'tasks',
  braked: 'tasks', approvals: 'access', syncFailed: 'company', directoryLate: 'company',
  keyExpiring: 'keys', secretExpiring: 'company', seatsLow: 'company',
};
const FILTER = {
  offboardingFailed: { type: 'userDelete', state: 'failed' }, failed: { state: 'failed' },
  attention: { state: 'attention' }, braked: { braked: 'true' }, offboardingOverdue: { tab: 'queued', type: 'userDelete' },
};

function need(one, data, company) {
  const first = one.sample[0] || {};
  const directory = data.directories?.find((each) => each.directory === first.directory);
  const name = first.displayName || first.userPrincipalName || first.username || '';
  const values = {
    n: one.count, name: bdi(name), directory: first.directory ? word('the', first.directory) : '',
    since: when(one.since, 'near'), age: el('span', null, duration(now() - Date.parse(one.since))),
    record: first.record ?? first.reason?.match(/\d+/)?.[0] ?? '', used: data.seats?.used ?? 0,
    limit: data.seats?.limit ?? 0,
  };
  const to = one.count === 1 && first.taskId ? href('task', first.taskId)
    : href(NEEDS[one.kind], one.kind === 'approvals' ? 'requests' : '', FILTER[one.kind]);
  return el('li', { class: one.severity === 'critical' ? 'bad' : 'warn' },
    icon(one.kind === 'braked' || one.kind === 'directoryHeld' ? 'held'
      : one.severity === 'critical' ? 'failed' : 'attention'),
    el('div', null, el('strong', null, rich(`need.${one.kind}`, values),
      directory?.waitingTasks > 0 && ` ${t('need.waiting', { n: directory.waitingTasks })}`,
      directory?.nextProbeAt && [` ${t('dir.next')} `, when(directory.nextProbeAt, 'near'), '.']),
      first.reason && one.kind !== 'chainBroken' && el('div', null, one.kind === 'approvals'
        ? el('small', { class: 'muted' }, bdi(name), ' · ', bdi(first.reason)) : quote(first.reason))),
    mayOpen(company, NEEDS[one.kind]) && button(t(`need.${one.kind}.do`), { href: to, kind: 'small' }));
}

const needs = (company) => (data) => (data.needs.length
  ? el('ul', { class: 'needs' }, data.needs.map((one) => need(one, data, company)))
  : empty(t('overview.calm')));

/* --- today --- */

const VERB = { userCreate: 'starts', userDelete: 'leaves' };
function today({ today: { open: all, done, late, totalCount } }) {
  const open = all.slice(0, 10);
  const past = done > 0 && el('p', { class: 'muted' }, t('today.done', { n: done }), ' ',
    late ? t('today.late', { n: late }) : t('today.onTime'));
  return [open.length ? el('ul', { class: 'plain' }, open.map((task) => el('li', null,
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

function week({ days }) {
  const shown = days.slice(0, 8);
  const name = (day) => (day.date === dayOf() ? t('date.todayWord') : dayText(day.date, 'short'));
  const sum = (of) => shown.reduce((all, day) => all + day[of], 0);
  if (!sum('creates') && !sum('deletes')) return empty(t('week.none'));
  return chart({
    finding: t('week.finding', { hires: sum('creates'), leavers: sum('deletes') }),
    legend: [['one', t('chart.hires')], ['two', t('chart.leavers')]],
    head: ['date', 'hires', 'leavers', 'changes', 'access'].map((key) => t(`chart.${key}`)),
    rows: shown.map((day) => [el('a', { href: href('tasks', '', dayFilter(day.date)) },
      dayText(day.date, 'weekday')), day.creates, day.deletes, day.updates, day.access]),
    draw: diverging(shown.map((day, i) => ({
      label: name(day), up: day.creates, down: day.deletes, strong: i === 0,
      soft: [0, 6].includes(new Date(day.date).getUTCDay()),
      run: () => go(href('tasks', '', dayFilter(day.date))),
    }))),
  });
}

function months({ months: all, historyFrom }) {
  const month = dayOf().slice(0, 7);
  const rows = all.map((one) => ({ ...one, open: one.month === month,
    none: historyFrom && one.month < dayOf(historyFrom).slice(0, 7) }));
  const sum = (of) => rows.reduce((total, one) => total + one[of], 0);
  const told = (one, value) => (one.none ? t('chart.noHistory') : value);
  return chart({
    finding: t('months.finding', { hires: sum('hires'), leavers: sum('leavers') }),
    legend: [['one', t('chart.hires')], ['two', t('chart.leavers')], ['outline', t('chart.soFar')]],
    head: ['month', 'hires', 'leavers'].map((key) => t(`chart.${key}`)),
    rows: rows.map((one) => [`${dayText(`${one.month}-15`, 'monthYear')}${one.open
      ? `, ${t('chart.soFar')}` : ''}`, told(one, one.hires), told(one, one.leavers)]),
    draw: paired(rows.map((one) => ({ label: one.none ? '–' : dayText(`${one.month}-15`, 'month'),
      one: one.hires, two: one.leavers, open: one.open }))),
  });
}

function punctuality({ hours }) {
  const begun = hours.reduce((all, one) => all + one.begun, 0);
  const onTime = hours.reduce((all, one) => all + one.onTime, 0);
  const figure = begun ? t('punctual.share', { share: percent(onTime / begun) }) : t('punctual.none');
  const made = chart({
    finding: figure,
    legend: [['curve', t('chart.p99')], ['curve old', t('chart.oldest')]],
    head: ['hour', 'begun', 'p50', 'p99', 'oldest'].map((key) => t(`chart.${key}`)),
    rows: hours.map((one) => [when(one.from, 'clock'), one.begun, ...[one.p50Ms, one.p99Ms, one.oldestMs]
      .map((ms) => (ms === null || ms === undefined ? '–' : duration(ms)))]),
    draw: logLines(hours.map((one) => ({ label: clockOf(one.from), values: [one.p99Ms, one.oldestMs] })),
      [[10, duration(10)], [1000, '1 s'], [60000, '1 min'], [3600000, '1 h']], ['curve', 'curve old']),
  });
  return { toggle: made.toggle, node: [el('p', { class: 'figure' }, figure), made.node] };
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
      one.problem && el('small', null, quote(one.problem)),
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
  const data = await get('overview', {}, signal);
  const slots = [];
  const leadNode = el('span'), clock = el('span');
  const tell = () => {
    const text = t('overview.now', { day: dateText(now(), 'weekday'), time: clockOf(), city: city() });
    clock.textContent = [text[0].toUpperCase() + text.slice(1), forViewer(now())]
      .filter(Boolean).join(' · ');
  };
  /* A card whose content is drawn from a member of the overview, or from the trends. */
  function slot(key, place, draw, there = data[key]) {
    if (!there) return null;
    const one = { key, draw, host: el('div', { class: 'stack' }), beside: el('span') };
    slots.push(one);
    return el('div', { var: { '--place': place } },
      card({ title: t(`overview.title.${key}`), beside: one.beside }, one.host));
  }
  function show(fresh) {
    if (fresh.needs) leadNode.textContent = lead(fresh);
    for (const one of slots) {
      const text = JSON.stringify(one.key === 'needs' ? [fresh.needs, fresh.directories] : fresh[one.key]);
      if (!fresh[one.key] || text === one.text) continue;
      one.text = text;
      const made = one.draw(fresh);
      const inside = one.host.contains(document.activeElement)
        && document.activeElement.getAttribute('href');
      one.host.replaceChildren(...nodes([made.node ?? made]));
      if (made.toggle) one.beside.replaceChildren(made.toggle);
      if (inside) one.host.querySelector(`[href="${CSS.escape(inside)}"]`)?.focus({ preventScroll: true });
    }
  }
  const trends = company.can('tasks.read');
  const columns = el('div', { class: 'columns' },
    el('div', { class: 'stack' }, slot('needs', 1, needs(company)), slot('days', 3, week),
      slot('months', 5, months, trends)),
    el('div', { class: 'stack' }, slot('today', 2, today), slot('directories', 4, directories),
      slot('hours', 6, punctuality, trends)));
  tell();
  const ticking = setInterval(tell, 5000);
  signal.addEventListener('abort', () => clearInterval(ticking));
  show(data);
  if (trends) {
    const late = slots.filter(({ key }) => key === 'months' || key === 'hours');
    late.forEach(({ host }) => host.append(el('i', { class: 'bar block' })));
    const load = () => get('overview/trends', {}, signal).then(show, (error) => signal.aborted
      || late.forEach(({ host }) => host.replaceChildren(failed(error, load))));
    load();
  }
  return {
    title: t('nav.overview'),
    node: el('div', { class: 'page' },
      head({
        title: t('nav.overview'),
        actions: company.can('people.write') && [
          button(t('offboard.open'), { href: href('offboard'), icon: 'leave' }),
          button(t('hire.title'), { href: href('hire'), icon: 'add', kind: 'primary' })],
        lead: data.needs && leadNode, sub: clock,
      }), columns),
    poll: [{ path: 'overview', every: 15000, apply: show },
      trends && { path: 'overview/trends', every: 300000, apply: show }].filter(Boolean),
  };
}
