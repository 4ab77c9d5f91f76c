// Owns one task: what it is to do, what it waits for, what each step came to; and the changes people
// make, of one task or of many. What is possible now, actions[] of a task says: no rule of states
// stands here.
import { get, read, send } from '../api.js';
import { bdi, el, later, nodes } from '../dom.js';
import { age, city, clockOf, dayOf, directoryName, forViewer, has, rich, stepName, t, taskTitle, when, word }
  from '../format.js';
import { href, reload } from '../router.js';
import { copyable } from '../components/copy.js';
import { confirm, open } from '../components/dialog.js';
import { field } from '../components/form.js';
import { box, button, card, facts, head, pill, statePill, timeline } from '../components/page.js';
import { errorText, notice, part, quote } from '../components/states.js';
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
  const date = field({ name: 'date', kind: 'date', label: `${t('act.date')} ${zone}`, value: dayOf(due) });
  const time = field({ name: 'time', kind: 'time', label: `${t('act.time')} ${zone}`, value: clockOf(due) });
  const told = el('p', { class: 'muted', role: 'status' });
  const value = () => ({ date: date.value(), time: time.value() });
  const look = later(400, async () => {
    try { told.replaceChildren(...nodes([await preview(value())])); } catch (error) {
      if (error.status === 409) { told.replaceChildren(); return; } // the button's answer says why
      told.replaceChildren(...nodes([errorText(error), ' ', quote(error.message)]));
    }
  });
  return {
    body: [el('div', { class: 'grid', oninput: preview && look }, date.node, time.node), told], value,
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
      warnings.map((one) => [' ', quote(one)])];
  });
  const title = taskTitle(task);
  const own = `act.${verb}.${task.type}`;
  let stale;
  const done = await confirm({
    title: rich(`act.${verb}.ask`, { title }), danger: verb === 'cancel', verb: t(`act.${verb}`),
    body: [el('p', null, t(has(own) ? own : `act.${verb}.note`)), at && at.body],
    run: async (key) => {
      try { return await write({}, at ? at.value() : undefined, key); } catch (error) {
        stale = error.status === 409;
        throw error;
      }
    },
  });
  if (done || stale) await reload();
  if (done) notice({ text: rich(`act.${verb}.done`, { title: taskTitle(done.task) }) });
}

/* Many: exactly these, 200 a call, with progress and a stop; what came of it stays on the page. */
export async function actMany(verb, tasks) {
  const n = tasks.length;
  const at = verb === 'reschedule' && moment(tasks[0].scheduledAtUtc);
  const bar = el('progress', { max: n, value: 0, 'aria-label': t('act.progress') });
  const items = [];
  let stopped = false;
  const progress = el('p', { hidden: true }, bar, ' ',
    button(t('act.stop'), { kind: 'small', run: () => { stopped = true; } }));
  await open({
    title: t(`act.${verb}.many`, { n }),
    body: [el('p', null, t(`act.${verb}.note`)),
      el('ul', null, tasks.slice(0, 8).map((one) => el('li', null, taskTitle(one))),
        n > 8 && el('li', { class: 'muted' }, t('act.others', { n: n - 8 }))),
      at && at.body, progress],
    buttons: [{
      label: t(`act.${verb}.go`, { n }), kind: verb === 'cancel' ? 'danger' : 'primary',
      run: async () => {
        progress.hidden = n <= 200;
        while (items.length < n && !stopped) {
          const ids = tasks.slice(items.length, items.length + 200).map((one) => one.id);
          const body = { verb, ids, ...(at && at.value()) };
          items.push(...(await send('POST', 'tasks/change', { body })).items);
          bar.value = items.length;
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

function step(one) {
  const { name, by, technical } = stepName(one.name);
  const [icon, tone] = OUTCOMES[one.outcome] || ['queued', ''];
  return {
    icon, tone, title: [el('strong', null, bdi(name)), ' ', el('small', { class: 'code muted' }, technical)],
    beside: [t(`outcome.${one.outcome || 'waits'}`), one.at && [' ', when(one.at, 'second')]],
    detail: [by && el('div', null, bdi(by)), quote(one.detail)],
  };
}

/* What stands in the way and what to do about it; then the service's own words. */
function advice(task) {
  const say = (tone, key, values, told) => box(tone, el('p', null, rich(key, values)),
    told && el('p', null, quote(told)));
  if (task.hold) {
    return say('warn', 'task.held', {
      directory: directoryName(task.hold.directory), since: when(task.hold.since),
      next: age(task.hold.nextProbeAt),
    }, task.hold.reason);
  }
  if (task.state === 'queued' && task.nextAttemptAt) {
    return say('info', 'task.again', { n: task.attempts, next: age(task.nextAttemptAt) }, task.error);
  }
  const broken = task.steps.find((one) => one.outcome === 'failed' || one.outcome === 'unknown');
  const kind = task.braked ? 'braked' : broken?.outcome === 'unknown' ? 'unknown'
    : task.state === 'failed'
      && (task.type === 'userDelete' ? 'leaver' : broken ? 'failed' : 'undone');
  return kind && say(task.state === 'failed' ? 'bad' : 'warn', `task.todo.${kind}`, {
    name: task.displayName || task.userPrincipalName, step: broken ? stepName(broken.name).name : '',
  }, task.error);
}

/* Replaces what stands in a part; who is at its nth control stays there. */
function swap(host, ...children) {
  const controls = () => [...host.querySelectorAll('h1, a, button')];
  const at = controls().indexOf(document.activeElement);
  host.replaceChildren(...nodes(children));
  if (at >= 0) controls()[at]?.focus({ preventScroll: true });
}

export async function page({ company, params: { id }, signal }) {
  const top = el('div', { class: 'page' }), steps = el('div', { class: 'list' });
  const show = ({ task }) => {
    const verbs = verbsOf(task, company);
    const first = verbs.find((verb) => verb === 'release' || verb === 'retry');
    const by = task.requestedBy;
    swap(top, head({
      title: taskTitle(task),
      pill: [statePill(task.state), task.braked && [' ', pill(t('task.braked'), 'warn', 'pause')]],
      actions: verbs.map((verb) => button(t(`act.${verb}`), {
        kind: verb === first ? 'primary' : '', icon: ICONS[verb], run: () => act(verb, id),
      })),
      lead: [rich('task.due', { due: when(task.scheduledAtUtc), zone: city(task.timeZone) }),
        forViewer(task.scheduledAtUtc) && ` · ${forViewer(task.scheduledAtUtc)}`],
      sub: [rich('task.asked', {
        by: by.username || t('task.nobody'), via: word('via', by.via), when: when(task.createdAt),
      }), task.attempts > 1 && ` · ${t('task.tried', { n: task.attempts })}`,
      company.can('people.read') && [' · ', el('a', { href: href('person', task.userId || task.userPrincipalName) },
        bdi(task.userPrincipalName))]],
    }), advice(task));
    swap(steps, timeline(task.steps.map(step)), task.warnings.length > 0 && box('warn',
      el('ul', null, task.warnings.map((one) => el('li', null, quote(one))))));
  };
  const data = await get('task', { id }, signal);
  show(data);
  const { task } = data;
  const records = company.can('audit.read') && card({
    title: t('task.records'),
    beside: el('a', { href: href('log', '', { taskId: id, includeReads: 'true' }) }, t('task.inLog')),
  }, part(async () => {
    const { items } = await get('audit', { taskId: id, limit: 20 }, signal);
    return items.length ? el('ul', { class: 'bare' }, items.map(recordLine)) : t('task.noRecords');
  }));
  const line = `curl -H 'X-Company-ID: ${company.companyId}' -H "X-Api-User: $API_USER" `
    + `-H "X-Api-Key: $API_KEY" \\\n  '${company.links.rest}/task?id=${encodeURIComponent(id)}'`;
  return {
    title: t(`task.title.${task.type}`, { name: task.displayName || task.userPrincipalName }),
    node: el('div', { class: 'page' }, top, card({ title: t('task.steps') }, steps), records,
      card({ title: t('task.same') }, facts([['ID', copyable(id)]]),
        copyable(line, { what: 'curl', block: true }))),
    poll: {
      path: 'task', query: { id }, apply: show,
      every: (last) => ((last || data).task.state === 'running' ? 2000 : 10000),
    },
  };
}
