// Who starts and who leaves: a month of names, or one day with all that is due in it.
import { now } from '../api.js';
import { el, redraw } from '../dom.js';
import { addDays, dayOf, dayText, instantOf, number, t, taskTitle, when } from '../format.js';
import { byDay, dueIn, dueTasks, MOST, moversOf } from '../movers.js';
import { href } from '../router.js';
import { box, button, card, head, person, statePill } from '../components/page.js';
import { empty } from '../components/states.js';

export const shape = 'table';

const NAMES = 6; // of a day of the month
const capital = (text) => text[0].toUpperCase() + text.slice(1);
const monthAfter = (month, count) => {
  const [year, at] = month.split('-').map(Number);
  return new Date(Date.UTC(year, at - 1 + count, 15)).toISOString().slice(0, 7);
};
/* Monday is 1: weeks begin with it in both languages of the console. */
const weekday = (day) => (new Date(day).getUTCDay() + 6) % 7 + 1;
const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && addDays(text, 0) === text;
const isMonth = (text) => /^\d{4}-(0[1-9]|1[0-2])$/.test(text);

/* Loads the tasks of a span of days, and again when something in it changes. */
async function span(from, to, signal, type) {
  const args = dueIn(from, to, type);
  let data = await dueTasks(args, signal);
  const again = async () => { data = await dueTasks(args, signal); redraw(); };
  return { tasks: () => data.tasks, more: () => data.more && box('info', t('cal.more', { n: MOST })),
    poll: { path: 'tasks', query: args, every: 60000, apply: () => again().catch(() => {}) } };
}
const turn = (before, present, after) => [
  button(t('cal.before'), { href: before, icon: 'back', kind: 'plain' }),
  button(t('overview.title.today'), { href: present }),
  button(t('cal.after'), { href: after, icon: 'forth', kind: 'plain after' })];
const sum = (tasks) => {
  const n = (type) => tasks.filter((one) => one.type === type).length;
  const [start, leave] = [n('userCreate'), n('userDelete')];
  return start + leave ? t('cal.sum', { start: t('cal.start', { n: start }), leave: t('cal.leave', { n: leave }) })
    : t('cal.nobody');
};

/* --- a month --- */

async function month(id, signal) {
  const next = monthAfter(id, 1);
  const made = await span(`${id}-01`, `${next}-01`, signal);
  const title = capital(dayText(`${id}-15`, 'monthYear'));
  const days = [];
  for (let day = `${id}-01`; day < `${next}-01`; day = addDays(day, 1)) days.push(day);
  const cell = (day, tasks) => el('li', {
    key: day, var: { '--column': weekday(day) },
    class: `day ${tasks.length ? '' : 'free'} ${day === dayOf() ? 'today' : ''} ${weekday(day) > 5 ? 'weekend' : ''}`,
  }, el('a', { class: 'date', href: href('calendar', day), 'aria-current': day === dayOf() ? 'date' : null },
    el('span', { class: 'number', 'aria-hidden': 'true' }, number(Number(day.slice(8)))),
    el('span', { class: 'name' }, capital(dayText(day, 'weekday')))),
  tasks.length > 0 && el('div', { class: 'movers' }, moversOf(tasks, tasks.length, day, NAMES)));
  return {
    title: `${t('nav.calendar')}: ${title}`,
    view: () => {
      const of = byDay(made.tasks());
      return el('div', { class: 'page' }, head({
        title, lead: sum(made.tasks()),
        actions: turn(href('calendar', monthAfter(id, -1)), href('calendar'), href('calendar', next)),
      }), made.more(), el('div', { class: 'card' }, el('div', { class: 'calendar' }, el('div', { class: 'weekdays', 'aria-hidden': 'true' },
        days.slice(0, 7).toSorted((a, b) => weekday(a) - weekday(b))
          .map((day) => el('span', null, dayText(day, 'weekdayShort')))),
      el('ol', { class: 'month', 'aria-label': title }, days.map((day) => cell(day, of.get(day) || []))),
      !of.size && el('p', { class: 'muted onlyNarrow' }, t('cal.nobody')))));
    },
    poll: made.poll,
  };
}

/* --- a day --- */

const PARTS = { starts: ['userCreate'], leaves: ['userDelete'],
  others: ['userUpdate', 'accessGrant', 'accessRevoke'] };

async function day(id, signal) {
  const made = await span(id, addDays(id, 1), signal, '');
  const title = capital(dayText(id, 'weekday'));
  const line = (task) => el('li', { key: task.id }, when(task.scheduledAtUtc, 'clock'),
    person(task, href('task', task.id)), statePill(task.state));
  const part = (name) => {
    const tasks = made.tasks().filter((one) => PARTS[name].includes(one.type));
    return tasks.length > 0 && card({ title: t(`cal.part.${name}`, { n: tasks.length }) },
      el('ul', { class: 'plain' }, tasks.map((one) => (name === 'others'
        ? el('li', { key: one.id }, when(one.scheduledAtUtc, 'clock'),
          el('a', { href: href('task', one.id) }, taskTitle(one)), statePill(one.state)) : line(one)))));
  };
  return {
    title: `${t('nav.calendar')}: ${title}`,
    view: () => el('div', { class: 'page' }, head({
      title, lead: sum(made.tasks()), path: [[t('nav.calendar'), href('calendar', id.slice(0, 7))]],
      actions: turn(href('calendar', addDays(id, -1)), href('calendar', dayOf(now())),
        href('calendar', addDays(id, 1))),
    }), made.more(), !made.tasks().length && el('div', { class: 'card' }, empty(t('cal.nothing'))),
    Object.keys(PARTS).map(part),
    el('p', null, el('a', { href: href('tasks', '', { tab: 'all', dueFrom: instantOf(id),
      dueTo: instantOf(addDays(id, 1)) }) }, t('cal.asTasks')))),
    poll: made.poll,
  };
}

export const page = ({ params: { id = '' }, signal }) => (isDay(id) ? day(id, signal)
  : month(isMonth(id) ? id : dayOf().slice(0, 7), signal));
