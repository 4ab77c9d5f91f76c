// Offboarding: whom, when, what happens in words; a dry run before, the address typed for "now".
import { get, send } from '../api.js';
import { bdi, el } from '../dom.js';
import { addDays, city, clockOf, dateText, dayOf, rich, stepName, t, when } from '../format.js';
import { confirm } from '../components/dialog.js';
import { comment, field, form, required } from '../components/form.js';
import { box, card, fold, head, person } from '../components/page.js';
import { part, quote } from '../components/states.js';
import { go, href, settle } from '../router.js';
import { queuedNotice } from './hire.js';

export const shape = 'form';

const MOMENTS = {
  today: () => ({ date: dayOf(), time: '17:00' }),
  now: () => ({ date: dayOf(), time: clockOf() }),
  day: ({ date, time }) => ({ date, time }),
};

/* What is known of the person, beside the form: groups that are left, who reports to them. */
const whom = (user, company, signal) => part(async () => ({
  access: company.can('access.read') && await get('user/access', { user: user.id, limit: 1 }, signal),
  known: (await get('user/details', { user: user.id }, signal)).user,
}), ({ access, known }) => {
  const reports = known.directReportCount;
  return el('div', { class: 'stack tight' }, person(user, href('person', user.id)),
    el('ul', null,
      el('li', null, t('offboard.disabled')), el('li', null, t('offboard.sessions')),
      access && el('li', null, t('offboard.groups', { n: access.totalCount })),
      reports > 0 && el('li', null, el('a', { href: href('people', '', { manager: known.id }) },
        t('offboard.manager', { n: reports })))),
    user.userPrincipalName === company.person?.userPrincipalName && box('bad', t('person.own')));
});

async function ask({ user, when: moment, ...values }) {
  const body = { userPrincipalName: user, ...MOMENTS[moment](values) };
  const { plan, warnings } = await send('POST', 'user/offboard', { query: { dryRun: true }, body });
  // 17:00 that has passed begins at once, and is asked for like "now".
  const now = moment === 'now' || plan.adjustment === 'past';
  const name = plan.displayName || user, why = comment();
  const done = await confirm({
    title: now ? rich('offboard.askNow', { name }) : rich('offboard.ask',
      { name, at: when(plan.scheduledAtUtc, 'moment') }),
    body: () => [
      el('p', null, t(!now ? 'offboard.canMove' : warnings.length ? 'offboard.held' : 'offboard.noReturn')),
      moment !== 'now' && adjusted(plan, body),
      warnings.length > 0 && box('warn', ...warnings.map((one) => el('p', null, quote(one)))),
      fold(t('offboard.steps', { n: plan.steps.length }), el('ol', null, plan.steps.map((one) => {
        const { name: step, by } = stepName(one);
        return el('li', null, step, by && el('small', { class: 'muted' }, ` · ${by}`));
      }))), why.view(),
    ],
    verb: t(now ? 'offboard.goNow' : 'offboard.go'), danger: now, typed: now ? user : null,
    run: (key) => send('POST', 'user/offboard', { query: { comment: why.value() }, body, key }),
  });
  if (!done) return;
  settle();
  queuedNotice(done, now && !done.warnings?.length); // what it is warned of may hold it
  go(href('task', done.taskId));
}
/* A time that has passed, an hour that summer time skips or doubles, said; else nothing. */
export const adjusted = ({ adjustment, scheduledAtUtc }, { time = '00:00' }) =>
  adjustment && box('warn', adjustment === 'past' ? rich('moment.passed', { at: when(scheduledAtUtc, 'moment',
    { year: true }) }) : t(`moment.${adjustment}`, { time, instead: dateText(scheduledAtUtc, 'clock') }));

export async function page({ company, params, signal }) {
  const user = params.id ? (await get('user/details', { user: params.id }, signal)).user : null;
  let chosen = user?.id && whom(user, company, signal);
  const today = clockOf() < '17:00';
  const who = field({ name: 'user', label: t('offboard.who'), kind: 'person', value: user,
    change: (one) => { chosen = one?.id && whom(one, company, signal); } });
  const moment = field({ name: 'when', label: t('offboard.when'), kind: 'radio', value: today ? 'today' : 'day',
    options: [...(today ? [{ value: 'today', label: t('offboard.today') }] : []),
      { value: 'day', label: t('offboard.day') },
      { value: 'now', label: t('offboard.now'), hint: t('offboard.nowHint') }] });
  const day = [
    field({ name: 'date', label: t('field.date'), kind: 'date', value: addDays(dayOf(), 7) }),
    field({ name: 'time', label: t('moment.time', { city: city() }), kind: 'time', value: '17:00' }),
  ];
  const made = form({
    fields: [who, moment, ...day], submit: t('review'), label: t('type.userDelete'), run: ask,
    layout: () => [who.view(), moment.view(),
      moment.value() === 'day' && el('div', { class: 'grid' }, day.map((one) => one.view()))],
    check: (values) => required(values, 'user', ...(values.when === 'day' ? ['date', 'time'] : [])),
  });
  return {
    title: t('type.userDelete'), leave: made.dirty,
    view: () => el('div', { class: 'page' },
      head({ title: user ? rich('offboard.of', { name: user.displayName }) : t('type.userDelete'),
        path: [user ? [bdi(user.displayName || user.userPrincipalName), href('person', user.id)]
          : [t('nav.people'), href('people')]] }),
      el('div', { class: 'columns' }, card({}, made.view()), card({ title: t('offboard.happens') },
        chosen ? chosen.view() : el('p', { class: 'muted' }, t('offboard.choose'))))),
  };
}
