// Owns who starts and who leaves on which day, by their tasks: for the week of the overview and the
// calendar.
import { get } from './api.js';
import { bdi, el, icon } from './dom.js';
import { dayOf, instantOf, t } from './format.js';
import { href } from './router.js';

export const MOST = 1000;
const PLANNED = 'queued,running,failed,attention,done'; // a cancelled task moves nobody

/* Arguments of a list of tasks that are due from one day up to another (YYYY-MM-DD, not included). */
export const dueIn = (from, to, type = 'userCreate,userDelete') => ({
  state: PLANNED, type, dueFrom: instantOf(from), dueTo: instantOf(to), order: 'due', limit: 200 });

/* Day -> tasks in the order in which they are due. */
export const byDay = (tasks) => Map.groupBy(tasks, (task) => dayOf(task.scheduledAtUtc));

/* {tasks, more}: more is true where there are further ones behind the first 1,000. */
export async function dueTasks(args, signal) {
  const tasks = [];
  let cursor;
  do {
    const next = await get('tasks', { ...args, cursor }, signal);
    tasks.push(...next.items);
    cursor = next.nextCursor;
  } while (cursor && tasks.length < MOST);
  return { tasks, more: Boolean(cursor) };
}

/* A name that leads to its task: how it moves is said by icon and words, never by colour alone. */
export function mover(task) {
  const leaves = task.type === 'userDelete';
  const troubled = task.state === 'failed' || task.state === 'attention';
  return el('a', { class: `mover ${leaves ? 'out' : 'in'}`, key: task.id, href: href('task', task.id) },
    icon(troubled ? 'attention' : leaves ? 'leave' : 'add'),
    el('span', null, bdi(task.displayName || task.userPrincipalName)),
    el('span', { class: 'unseen' }, ` ${t(leaves ? 'today.leaves' : 'today.starts')}`,
      troubled && `, ${t(`state.${task.state}`)}`));
}
/* The first of them, then how many further ones there are, as a link to the day. */
export const moversOf = (tasks, total, day, most) => [tasks.slice(0, most).map(mover),
  total > Math.min(most, tasks.length) && el('a', { class: 'small', key: 'more', href: href('calendar', day) },
    t('cal.others', { n: total - Math.min(most, tasks.length) }))];
