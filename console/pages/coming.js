// Owns a hire that is still queued: what was asked, and the way to change it.
import { get } from '../api.js';
import { bdi, el } from '../dom.js';
import { listed, t } from '../format.js';
import { button, card, facts } from '../components/page.js';
import { part } from '../components/states.js';
import { href } from '../router.js';

/* Arguments of the list of them. */
export const COMING = { type: 'userCreate', state: 'queued,running,attention,failed', order: 'due' };

const SAID = { accountEnabled: (on) => (on ? null : t('change.off')), photo: (has) => (has ? t('coming.photo') : null) };
const value = ([name, given]) => (SAID[name] ? SAID[name](given) : Array.isArray(given) ? listed(given)
  : given && bdi(given));

/* A card for the page of a task; nothing for any other task. */
export function asked(task, company, signal) {
  if (task.type !== 'userCreate' || !company.can('people.read')) return null;
  const values = part(() => get('task/asked', { id: task.id }, signal), (data) => facts(
    Object.entries(data.asked).filter(([name]) => !['rehire', 'replaces'].includes(name)).map((entry) =>
      [t(`field.${entry[0]}`), value(entry)])));
  return (now) => card({
    title: t('coming.asked'),
    beside: company.can('people.write') && now.state === 'queued' && !now.startedAt
      && button(t('coming.change'), { href: href('hire', '', { task: now.id }), kind: 'small' }),
  }, values.view());
}
