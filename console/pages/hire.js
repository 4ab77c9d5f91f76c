// A new hire, or a change of somebody: one form, a preview or the changes beside it, a dry run before.
import { get, now, send } from '../api.js';
import { ATTRIBUTES } from '../attributes.js';
import { bdi, el, later, redraw } from '../dom.js';
import { addDays, city, clockOf, dayOf, has, listed, rich, stepName, t, when } from '../format.js';
import { choose, confirm } from '../components/dialog.js';
import { knownWords } from '../components/words.js';
import { comment, field, form, required } from '../components/form.js';
import { box, button, card, facts, fold, head } from '../components/page.js';
import { failed, notice, quote, unnotice } from '../components/states.js';
import { go, href, reload, settle } from '../router.js';
import { adjusted } from './offboard.js';

export const shape = 'form';

const LIMIT = { firstname: 64, middleName: 64, surname: 64, jobTitle: 128, department: 64,
  employeeId: 16, ...ATTRIBUTES };

/* Told on the task's page; it offers the way back until the task is due. */
export function queuedNotice({ taskId, scheduledAtUtc, warnings = [] }, begun) {
  const stays = begun ? 0 : Date.parse(scheduledAtUtc) - now();
  let fault;
  const undo = async () => {
    try {
      await send('DELETE', 'task', { query: { id: taskId } });
      unnotice('queued');
      await reload();
      notice({ text: t('moment.undone') });
    } catch (error) {
      fault = error;
      redraw();
    }
  };
  notice({
    key: 'queued', next: '', tone: warnings.length ? 'warn' : 'ok',
    text: () => [begun ? t('moment.begins') : stays > 0 ? rich('moment.queued', { at: when(scheduledAtUtc) })
      : t('moment.waits'), warnings.map((one) => el('p', null, quote(one))), fault && failed(fault)],
    actions: () => (!begun && Date.parse(scheduledAtUtc) > now() ? [{ label: t('undo'), run: undo }] : []),
  });
  if (stays > 0 && stays < 864e5) setTimeout(redraw, stays);
}

/* The photo as the service takes it: base64 without a prefix. */
const photoOf = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result.split(',')[1]);
  reader.onerror = reject;
  reader.readAsDataURL(file);
});

/* Values as the service takes them: of a change only what is another, empty where it is cleared. */
const bodyOf = async ({ profilePhoto, ...values }, before) => ({ ...changed(values, before),
  ...(profilePhoto && { profilePhoto: await photoOf(profilePhoto) }) });
function changed({ accountEnabled, profilePhoto, ...values }, before) {
  const body = {};
  for (const [name, value] of Object.entries(values)) {
    if (before ? value !== (before[name] ?? '') : value.length) body[name] = value;
  }
  if (before && (accountEnabled === 'on') !== before.accountEnabled) {
    body.accountEnabled = accountEnabled === 'on';
  }
  if (before) body.userPrincipalName = before.userPrincipalName;
  return body;
}

/* Groups and role templates that workflows give, each by its name, and which workflows run. */
export function follows({ access = [], steps }) {
  const given = access.filter((one) => one.action !== 'removeFromGroup');
  const taken = access.filter((one) => one.action === 'removeFromGroup');
  const runs = [...new Set(steps.map((one) => stepName(one).workflow).filter(Boolean))];
  const by = (one) => one.workflow && el('small', { class: 'muted' }, ' ', t('hire.byWorkflow', { workflow: one.workflow }));
  const line = (one) => el('li', null, one.roleTemplate ? [rich('hire.template', { role: one.roleTemplate }),
    by(one), el('ul', null, (one.groups ?? []).map((name) => el('li', null, bdi(name))))]
    : [bdi(one.group), by(one)]);
  const part = (title, items) => items.length > 0 && [el('h3', null, title), el('ul', null, items.map(line))];
  return [part(t('hire.groups'), given), part(t('hire.taken'), taken),
    el('p', { class: 'muted' }, runs.length ? t('hire.workflows', { n: runs.length, names: listed(runs) })
      : t('hire.workflows', { n: 0 }))];
}

/* Everything that was given, once more. */
const given = ({ replaces, rehire: way, accountEnabled, ...body }) => facts(Object.entries(body)
  .filter(([name]) => name !== 'date' && name !== 'time')
  .map(([name, value]) => [label(name), told(name, value)]));

const stepList = (steps) => fold(t('offboard.steps', { n: steps.length }), el('ol', null,
  steps.map((one) => el('li', null, stepName(one).name))));
const warned = (warnings = []) => warnings.length > 0
  && box('warn', ...warnings.map((one) => el('p', null, quote(one))));

const begins = ({ scheduledAtUtc }, key) => (Date.parse(scheduledAtUtc) <= now() ? t('moment.begins')
  : rich(key, { at: when(scheduledAtUtc, 'moment'), city: city() }));

async function finish(done) {
  if (!done) return;
  settle();
  queuedNotice(done, Date.parse(done.scheduledAtUtc) <= now());
  go(href('task', done.taskId));
}

/* --- a new hire --- */

/* Somebody has the employee number: the choice, then the same dry run with it. */
async function rehire({ details, message }) {
  const people = details.people || [];
  const one = people.length === 1 && people[0];
  return choose({
    title: t('rehire.title'),
    body: [el('ul', null, people.map((each) => el('li', null, has(`rehire.${each.state}`)
      ? rich(`rehire.${each.state}`, { name: each.userPrincipalName }) : bdi(each.userPrincipalName)))),
    el('p', null, quote(message))],
    options: [{ label: t('rehire.new'), value: 'new' },
      ...(one && ['disabled', 'leaving'].includes(one.state)
        ? [{ label: t('rehire.restore'), value: 'restore', kind: 'primary' }] : [])],
  });
}

async function hire(values, more, rehiring) {
  const body = { ...await bodyOf(values), ...more, ...(rehiring && { rehire: rehiring }) };
  let answer;
  try {
    answer = await send('POST', 'user', { query: { dryRun: true }, body });
  } catch (error) {
    if (error.reason !== 'rehireUndecided' || rehiring) throw error;
    const way = await rehire(error);
    return way && hire(values, more, way);
  }
  const { plan, warnings, rehire: back } = answer;
  const name = plan.displayName || `${values.firstname} ${values.surname}`, why = comment();
  return finish(await confirm({
    title: t(body.replaces ? 'hire.askAgain' : back ? 'hire.askBack' : 'hire.ask'), wide: true,
    verb: t(body.replaces ? 'hire.goAgain' : 'hire.go'),
    body: () => [
      el('p', null, rich(back ? 'hire.getsBack' : 'hire.gets',
        { name, upn: plan.userPrincipalName }), ' ', begins(plan, 'hire.at')),
      given(body),
      adjusted(plan, body),
      back?.memberships?.length > 0 && box('info', el('p', null, t('rehire.memberships')),
        el('ul', null, back.memberships.map((one) => el('li', null, bdi(one.name))))),
      follows(plan), warned(warnings), stepList(plan.steps), why.view(),
    ],
    run: (key) => send('POST', 'user', { query: { comment: why.value() }, body, key }),
  }));
}

/* What the account will be, as it is typed. Answers {look(), view()}. */
function preview(values, signal, again) { // again: the queued hire that is replaced
  let asking, data, fault;
  const look = later(500, async () => {
    asking?.abort();
    asking = new AbortController();
    const { firstname, surname, middleName, date, time, employeeId } = values();
    [data, fault] = [firstname && surname ? data : null, null];
    try {
      if (firstname && surname) {
        data = await get('user/preview', { firstname, surname, middleName, date, time, employeeId },
          AbortSignal.any([signal, asking.signal]));
      }
    } catch (error) {
      if (error.name === 'AbortError') return;
      fault = error;
    }
    redraw();
  });
  const view = () => {
    if (fault) return failed(fault);
    if (!data) return el('p', { class: 'muted' }, t('hire.previewEmpty'));
    const same = (data.sameEmployeeId ?? []).filter((one) => one.taskId !== again?.task.id);
    const full = data.seats?.limit && data.seats.used >= data.seats.limit;
    return [
      el('p', { class: 'figure' }, bdi(data.displayName)),
      // The queued hire holds its name until it is replaced: the review tells the new one.
      !again && [el('p', null, bdi(data.userPrincipalName)),
        data.numbered && el('p', { class: 'muted' }, t('hire.numbered')),
        data.mail !== data.userPrincipalName && el('p', null, bdi(data.mail))],
      el('p', null, when(data.scheduledAtUtc, 'minute', { forYou: true }), ` (${city()})`),
      adjusted(data, { time: values().time || undefined }),
      full ? box('bad', t('hire.noSeat', data.seats))
        : data.seats?.limit && el('p', { class: 'muted' }, t('hire.seat', data.seats)),
      same.length > 0 && box('warn', el('p', null, t('rehire.title')),
        same.map((one) => el('p', null, bdi(one.userPrincipalName))))];
  };
  return { look, view };
}

/* --- a change --- */

const label = (name) => t(`field.${name}`);
const told = (name, value, none = 'change.empty') => (name === 'profilePhoto' ? t('change.photo')
  : name === 'accountEnabled' ? t(value ? 'change.on' : 'change.off')
    : Array.isArray(value) ? listed(value) : value ? bdi(value) : el('span', { class: 'muted' }, t(none)));
/* Old and new of each value that changes. */
const changes = (body, before) => facts(Object.keys(body)
  .filter((name) => !['userPrincipalName', 'date', 'time'].includes(name))
  .map((name) => [label(name), el('span', null, name !== 'profilePhoto' && [
    el('del', { class: 'muted' }, told(name, before[name] ?? '')), ' → '],
  el('strong', null, told(name, body[name], 'change.cleared')))]), { kind: 'wide' });

async function change(values, before) {
  const body = await bodyOf(values, before);
  const { plan, warnings } = await send('PATCH', 'user', { query: { dryRun: true }, body });
  const why = comment();
  return finish(await confirm({
    title: rich('change.ask', { name: before.displayName }), verb: t('change.go'),
    body: () => [changes(body, before),
      el('p', null, begins(plan, 'change.at')), warned(warnings),
      adjusted(plan, body),
      stepList(plan.steps), why.view()],
    run: (key) => send('PATCH', 'user', { query: { comment: why.value() }, body, key }),
  }));
}

/* --- the page --- */

/* The Monday after this day. */
export const nextMonday = (day) => addDays(day, 7 - ((new Date(`${day}T12:00Z`).getUTCDay() + 6) % 7));

/* A hire that is still queued: what it was asked with, to be changed. */
async function queued(id, signal) {
  const [{ task }, { asked }] = await Promise.all([get('task', { id }, signal), get('task/asked', { id }, signal)]);
  return { task, asked: { ...asked, date: dayOf(task.scheduledAtUtc), time: clockOf(task.scheduledAtUtc) } };
}

/* Role templates to choose from, each with its groups; nothing where there is none. */
async function templateField(chosen, signal) {
  const { items } = await get('role-templates', { limit: 200 }, signal);
  return items.length > 0 && field({ name: 'roleTemplates', kind: 'checks', label: t('access.templates'), optional: true,
    value: chosen?.filter((name) => items.some((one) => one.name === name)), options: items.map((one) =>
      ({ value: one.name, label: bdi(one.name), hint: listed(one.groups.map((each) => each.name)) })) });
}

export async function page({ company, params, query, signal }) {
  const user = params.id ? (await get('user/details', { user: params.id }, signal)).user : null;
  const old = query.task && !user ? await queued(query.task, signal) : null;
  const before = user && { ...user, firstname: user.givenName ?? '',
    manager: user.manager?.userPrincipalName ?? '' };
  const templates = !user && company.can('access.write') && await templateField(old?.asked.roleTemplates, signal);
  const start = user ? {} : old?.asked ?? { date: nextMonday(dayOf()), time: '08:00' };
  const known = knownWords(signal);
  known.load();
  const text = (name, more) => field({ name, label: label(name), max: LIMIT[name],
    value: before?.[name] ?? start[name], optional: !user, suggest: () => known.of(name), ...more });
  // What the directory does not tell again cannot be compared: those stand in a new hire alone, or
  // are sent when something is typed.
  const names = ['firstname', 'surname', 'middleName'].map((name) => text(name,
    { optional: name === 'middleName' && !user, suggest: null }));
  const work = ['department', 'jobTitle'].map((name) => text(name));
  const manager = field({ name: 'manager', label: label('manager'), kind: 'person', optional: !user,
    value: user?.manager ?? (start.manager && { userPrincipalName: start.manager }) });
  const moment = [
    field({ name: 'date', label: t('field.date'), kind: 'date', optional: true, value: start.date }),
    field({ name: 'time', label: t('moment.time', { city: city() }), kind: 'time', optional: true,
      value: start.time })];
  const folded = Object.keys(ATTRIBUTES).map((name) => text(name, name === 'streetAddress' ? { kind: 'textarea', suggest: null } : {}));
  let url;
  const photo = field({ name: 'profilePhoto', label: label('profilePhoto'), kind: 'file', optional: true,
    hint: t('hire.photoHint'), attrs: { accept: 'image/jpeg,image/png' }, change: (file) => {
      URL.revokeObjectURL(url);
      url = file && URL.createObjectURL(file);
    } });
  signal.addEventListener('abort', () => URL.revokeObjectURL(url));
  const number = text('employeeId', { hint: t('hire.numberHint'), suggest: null });
  const account = user && field({ name: 'accountEnabled', label: label('accountEnabled'), kind: 'radio',
    value: user.accountEnabled ? 'on' : 'off', options: [{ value: 'on', label: t('change.on') },
      { value: 'off', label: t('change.off') }] });
  const fields = [...names, ...work, manager, templates, ...moment, ...folded, photo, number, account].filter(Boolean);
  const group = (title, inside, more) => el('fieldset', { class: 'stack' }, el('legend', { class: 'h3' },
    title), el('div', { class: 'grid' }, inside.map((one) => one.view()), more));
  const made = form({
    fields, label: t(user ? 'change.title' : 'hire.title'), submit: t('review'),
    layout: () => [group(t('hire.name'), names), group(t('hire.work'), [work[0], manager, work[1]]),
      group(t(user ? 'change.when' : 'hire.starts'), moment, el('p', { class: 'hint' }, t('moment.hint'))),
      account && account.view(), templates && templates.view(),
      fold(t('hire.address'), el('div', { class: 'grid' }, folded.map((one) => one.view()))),
      fold(label('profilePhoto'), photo.view(),
        url && el('img', { class: 'photo', alt: t('hire.photoAlt'), width: 96, height: 96, src: url })),
      fold(label('employeeId'), number.view())],
    check: (values) => [...required(values, 'firstname', 'surname'),
      ...(user && !made.dirty() ? [{ name: 'department', message: t('change.nothing') }] : []),
      ...(values.time && !values.date ? [{ name: 'date', message: t('form.required') }] : [])],
    run: (values) => (user ? change(values, before)
      : hire(values, old && { replaces: old.task.id,
        ...(old.asked.accountEnabled ? {} : { accountEnabled: false }) })),
    change: () => looking?.look(),
  });
  const looking = user ? null : preview(made.values, signal, old);
  if (old) looking.look();
  const compared = () => {
    const body = changed(made.values(), before);
    return Object.keys(body).length > 1 ? changes(body, before) : el('p', { class: 'muted' }, t('change.none'));
  };
  const back = user ? [bdi(user.displayName || user.userPrincipalName), href('person', user.id)]
    : old ? [bdi(old.task.displayName || old.task.userPrincipalName), href('task', old.task.id)]
      : [t('nav.people'), href('people')];
  return {
    title: t(user ? 'change.title' : 'hire.title'), leave: made.dirty,
    view: () => el('div', { class: 'page' },
      head({ title: user ? rich('change.of', { name: user.displayName })
        : old ? rich('hire.again', { name: old.task.displayName }) : t('hire.title'),
      path: [back], lead: old && t('hire.againLead') }),
      el('div', { class: 'columns' }, card({}, made.view()),
        card({ title: t(user ? 'change.changes' : 'hire.preview'), kind: 'beside' },
          el('div', { class: 'stack tight', 'aria-live': 'polite' }, user ? compared() : looking.view())))),
  };
}
