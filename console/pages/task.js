// Owns one task: what it is to do, what it waits for, what each step came to; and the changes people
// make, of one task or of many. What is possible now, actions[] of a task says: no rule of states
// stands here.
import { get, now, read, send } from '../api.js';
import { bdi, el, later, redraw } from '../dom.js';
import { age, city, clockOf, dayOf, directoryName, forViewer, has, rich, stepName, t, taskTitle, when, word }
  from '../format.js';
import { href, reload } from '../router.js';
import { copyable } from '../components/copy.js';
import { confirm, open } from '../components/dialog.js';
import { comment, field, pastField } from '../components/form.js';
import { box, button, card, facts, fold, head, pill, statePill, timeline } from '../components/page.js';
import { errorText, inWords, notice, part, quote, safely, unnotice } from '../components/states.js';
import { asked } from './coming.js';
import { adjusted } from './offboard.js';
import { recordLine } from './log.js';

export const shape = 'facts';

/* --- changes --- */

const CALLS = {
  cancel: ['DELETE', 'task'], reschedule: ['PATCH', 'task'], retry: ['POST', 'task/retry'],
  release: ['POST', 'task/release'],
};
export const VERBS = ['release', 'retry', 'reschedule', 'cancel'];
const ICONS = { cancel: 'failed', reschedule: 'queued', retry: 'retry', release: 'running' };

/* What this person may do with a task now. */
export const verbsOf = (task, company) => VERBS.filter((verb) => task.actions.includes(verb)
  && company.can(verb === 'release' ? 'tasks.release' : 'tasks.write'));

/* Day and time of the company's zone; beneath them what the service makes of them. */
function moment(due, preview) {
  const zone = t('act.zone', { zone: city() });
  let told = '', asked = 0, answered = false;
  const look = preview && later(400, async () => {
    const mine = ++asked;
    if (answered || !document.getElementById(date.id)) return; // the question was answered meanwhile
    const say = (words) => { if (mine === asked) { told = words; redraw(); } };
    try { say(await preview(value())); } catch (error) {
      // 409: the button's answer says why
      say(error.status === 409 ? '' : [errorText(error), ' ', quote(error.message)]);
    }
  });
  const again = look && (() => { answered = false; look(); });
  const date = field({ name: 'date', kind: 'date', label: `${t('field.date')} ${zone}`, value: dayOf(due), change: again });
  const time = field({ name: 'time', kind: 'time', label: `${t('field.time')} ${zone}`, value: clockOf(due), change: again });
  const value = () => ({ date: date.value(), time: time.value() });
  return {
    view: () => [el('div', { class: 'grid' }, date.view(), time.view()),
      el('p', { class: 'muted', role: 'status' }, told)],
    /* What is sent: from then on no preview is asked for. */
    answer: () => { answered = true; return value(); },
    value,
  };
}

/* One task: reads it, asks, and changes it if it is still as it was read. */
export async function act(verb, id) {
  const { data: { task }, etag } = await read('task', { id });
  const [method, path] = CALLS[verb];
  const write = (query, body, key) =>
    send(method, path, { query: { id, ...query }, body, key, ifMatch: etag });
  const at = verb === 'reschedule' && moment(task.scheduledAtUtc, async (body) => {
    const { plan, warnings } = await write({ dryRun: true }, body);
    return [rich('act.becomes', { when: when(plan.scheduledAtUtc, 'minute', { forYou: true }) }),
      adjusted(plan, body), warnings.map((one) => [' ', quote(one)])];
  });
  const title = taskTitle(task);
  const own = `act.${verb}.${task.type}`;
  const why = comment();
  let stale;
  const done = await confirm({
    title: rich(`act.${verb}.ask`, { title }), danger: verb === 'cancel', verb: t(`act.${verb}`),
    body: () => [el('p', null, t(has(own) ? own : `act.${verb}.note`)), at && at.view(), why.view()],
    run: async (key) => {
      try { return await write({ comment: why.value() }, at ? at.answer() : undefined, key); } catch (error) {
        stale = error.status === 409;
        throw error;
      }
    },
  });
  if (done) unnotice('queued'); // what was said of it when it was queued holds no longer
  if (done || stale) await reload();
  if (done) notice({ text: rich(`act.${verb}.done`, { title: taskTitle(done.task) }) });
}

/* Many: exactly these, 200 a call, with progress and a stop; what came of it stays on the page. */
export async function actMany(verb, tasks) {
  const n = tasks.length;
  const at = verb === 'reschedule' && moment(tasks[0].scheduledAtUtc), why = comment();
  const past = at ? pastField(at.value) : null;
  const items = [];
  let begun = false, stopped = false;
  await open({
    title: t(`act.${verb}.many`, { n }),
    body: () => [el('p', null, t(`act.${verb}.note`)),
      el('ul', null, tasks.slice(0, 8).map((one) => el('li', null, taskTitle(one),
        one.displayName && one.userPrincipalName && [' ', el('small', { class: 'muted' }, bdi(one.userPrincipalName))])),
        n > 8 && el('li', { class: 'muted' }, t('act.others', { n: n - 8 }))),
      at && at.view(), past?.view(), why.view(),
      begun && n > 200 && el('p', null,
        el('progress', { max: n, value: items.length, 'aria-label': t('act.progress') }), ' ',
        button(t('act.stop'), { kind: 'small', run: () => { stopped = true; } }))],
    buttons: [{
      label: t(`act.${verb}.go`, { n }), kind: verb === 'cancel' ? 'danger' : 'primary',
      run: async () => {
        const [fault] = begun || !past ? [] : past.check();
        past?.error?.(fault?.message ?? '');
        if (fault) return false;
        begun = true;
        while (items.length < n && !stopped) {
          const ids = tasks.slice(items.length, items.length + 200).map((one) => one.id);
          const body = { verb, ids, ...(at && at.value()), comment: why.value() || undefined };
          items.push(...(await send('POST', 'tasks/change', { body })).items);
          redraw();
        }
      },
    }],
  });
  if (!items.length) return;
  await reload();
  const refused = items.filter((one) => one.outcome !== 'done');
  notice({
    tone: refused.length ? 'warn' : 'ok',
    text: [t(`act.${verb}.sum`, { n: items.length - refused.length }),
      items.length < n && ` ${t('act.untouched', { n: n - items.length })}`,
      refused.length && el('details', null,
        el('summary', null, t('act.refused', { n: refused.length })),
        el('ul', null, refused.map((one) => el('li', null,
          el('a', { href: href('task', one.id) }, bdi(one.userPrincipalName || one.id)), ': ',
          errorText({ status: 409, ...one }), ' ', quote(one.message)))))],
  });
}

/* --- the page --- */

const OUTCOMES = {
  done: ['done', 'ok'], already: ['done', 'ok'], skipped: ['more', ''], failed: ['failed', 'bad'],
  unknown: ['attention', 'warn'],
};

/* A step that was not begun waits while its task may still go on. */
const OVER = ['done', 'failed', 'cancelled'];
const outcomeOf = (one, task) => t(`outcome.${one.outcome || (OVER.includes(task.state) ? 'never' : 'waits')}`);

const step = (task) => (one) => {
  const { name, by, technical } = stepName(one.name);
  const [icon, tone] = OUTCOMES[one.outcome] || ['queued', ''];
  return {
    icon, tone, title: el('strong', { title: technical }, bdi(name)),
    beside: [outcomeOf(one, task), one.at && [' ', when(one.at, 'second')]],
    detail: [by && el('div', null, bdi(by)), inWords(one.detail)],
  };
};

/* Whether a step found the leaver's account disabled, so that signing in is impossible. */
const disabled = (task) => {
  const steps = task.steps.filter((one) => one.name.startsWith('disableAccount'));
  return steps.length > 0 && steps.every((one) => ['done', 'already'].includes(one.outcome));
};

/* What stands in the way and what to do about it; then the service's own words. */
function advice(task) {
  const say = (tone, key, values, told) => box(tone, el('p', null, rich(key, values)),
    told && (key === 'task.todo.braked' ? fold(t('error.detail'), el('q', { lang: 'en' }, bdi(told)))
      : el('p', null, quote(told))));
  if (task.hold) {
    return say('warn', 'task.held', {
      directory: directoryName(task.hold.directory), since: when(task.hold.since),
      next: age(task.hold.nextProbeAt),
    }, task.hold.reason);
  }
  if (task.state === 'queued' && task.nextAttemptAt) {
    const ahead = Date.parse(task.nextAttemptAt) > now();
    const key = !task.attempts ? 'task.first' : ahead ? 'task.again' : 'task.againNow';
    return say('info', key, { n: task.attempts, next: age(task.nextAttemptAt) }, task.error);
  }
  const broken = task.steps.find((one) => one.outcome === 'failed' || one.outcome === 'unknown');
  const kind = task.braked ? 'braked' : broken?.outcome === 'unknown' ? 'unknown'
    : task.state === 'failed'
      && (task.type === 'userDelete' ? disabled(task) ? 'leaverDisabled' : 'leaver' : broken ? 'failed' : 'undone');
  return kind && say(task.state === 'failed' ? 'bad' : 'warn', `task.todo.${kind}`, {
    name: task.displayName || task.userPrincipalName, step: broken ? stepName(broken.name).name : '',
  }, task.error);
}

export async function page({ company, params: { id }, signal }) {
  let { task } = await get('task', { id }, signal);
  const records = company.can('audit.read')
    && part(() => get('audit', { taskId: id, limit: 20 }, signal), ({ items }) => (items.length
      ? el('ul', { class: 'bare' }, items.map(recordLine)) : t('task.noRecords')));
  const wanted = asked(task, company, signal);
  const comments = part(async () => (await get('task/comments', { id }, signal)).items, (items) => el('ul',
    { class: 'bare' }, items.map((one) => el('li', null, el('blockquote', null, bdi(one.comment)),
      el('small', { class: 'muted' }, rich('task.commented', { by: one.by || t('task.nobody'), when: when(one.at) }))))));
  const line = `curl -H 'X-Company-ID: ${company.companyId}' -H "X-Api-User: $API_USER" `
    + `-H "X-Api-Key: $API_KEY" \\\n  '${company.links.rest}/task?id=${encodeURIComponent(id)}'`;
  const top = () => {
    const verbs = verbsOf(task, company);
    const first = verbs.find((verb) => verb === 'release' || verb === 'retry');
    const by = task.requestedBy;
    return head({
      path: [[t('nav.tasks'), href('tasks')]], title: taskTitle(task),
      pill: [statePill(task.state), task.braked && [' ', pill(t('task.braked'), 'warn', 'pause')]],
      actions: verbs.map((verb) => button(t(`act.${verb}`), {
        kind: verb === first ? 'primary' : '', icon: ICONS[verb], run: () => act(verb, id), key: verb,
      })),
      lead: [rich('task.due', { due: when(task.scheduledAtUtc), zone: city(task.timeZone) }),
        forViewer(task.scheduledAtUtc) && ` · ${forViewer(task.scheduledAtUtc)}`],
      sub: [rich('task.asked', {
        by: by.username || t('task.nobody'), via: word('via', by.via), when: when(task.createdAt),
      }), task.attempts > 1 && ` · ${t('task.tried', { n: task.attempts })}`,
      // A new hire has no page before there is an account.
      company.can('people.read') && [' · ', task.userId
        ? el('a', { href: href('person', task.userId) }, bdi(task.userPrincipalName)) : bdi(task.userPrincipalName)]],
    });
  };
  return {
    title: () => t(`task.title.${task.type}`, { name: task.displayName || task.userPrincipalName }),
    view: () => el('div', { class: 'page' }, top(), safely(() => advice(task)), wanted && wanted(task),
      card({ title: t('task.steps') }, () => [timeline(task.steps.map(step(task))),
        task.warnings.length > 0 && box('warn', el('ul', null, task.warnings.map((one) => el('li', null, quote(one)))))]),
      comments.data()?.length > 0 && card({ title: t('task.comments') }, comments.view()),
      records && card({
        title: t('task.records'),
        beside: el('a', { href: href('log', '', { taskId: id, includeReads: 'true' }) }, t('task.inLog')),
      }, records.view()),
      card({ title: t('error.detail') }, facts([['ID', copyable(id)], task.correlationId && ['X-Request-Id', copyable(task.correlationId)]]
        .filter(Boolean)),
        fold(t('task.steps'), el('ul', null, task.steps.map((one) => el('li', null, el('code', null, one.name),
          one.detail && [': ', el('q', { lang: 'en' }, bdi(one.detail))])))),
        fold(t('task.same'), copyable(line, { what: 'curl', block: true })))),
    poll: [{
      path: 'task', query: { id }, every: () => (task.state === 'running' ? 2000 : 10000),
      apply: (data) => {
        ({ task } = data);
        if (task.state !== 'queued') unnotice('queued');
      },
    }, { path: 'task/comments', query: { id }, every: 10000, apply: ({ items }) => comments.set(items) },
    records && { path: 'audit', query: { taskId: id, limit: 20 }, every: 10000, apply: records.set }]
      .filter(Boolean),
  };
}
