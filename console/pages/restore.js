// Owns bringing a leaver back: the account is enabled, and by the employee number with the memberships
// that the offboarding took.
import { now, send } from '../api.js';
import { bdi, el } from '../dom.js';
import { rich, t } from '../format.js';
import { confirm } from '../components/dialog.js';
import { box } from '../components/page.js';
import { errorText, notice, quote } from '../components/states.js';
import { href, go } from '../router.js';
import { queuedNotice } from './hire.js';

/* By the number it is a hire that restores; without one a change that enables the account. */
const ways = (user) => [
  user.employeeId && user.givenName && user.surname && ['POST', { firstname: user.givenName, surname: user.surname,
    employeeId: user.employeeId, rehire: 'restore' }],
  ['PATCH', { userPrincipalName: user.id, accountEnabled: true }],
].filter(Boolean);

async function planned(user) {
  const all = ways(user);
  for (const [method, body] of all) {
    try {
      return { method, body, answer: await send(method, 'user', { query: { dryRun: true }, body }) };
    } catch (error) {
      // Another person has the number too, so it restores no account.
      if (error.status !== 409 || method === all.at(-1)[0]) throw error;
    }
  }
  return null;
}

const list = (title, items) => items?.length > 0 && [el('h3', null, title),
  el('ul', null, items.map((one) => el('li', null, bdi(one.name), one.reason && [' ', quote(one.reason)])))];

export async function restore(user) {
  try {
    const { method, body, answer: { rehire, warnings = [] } } = await planned(user);
    const done = await confirm({
      title: rich('restore.ask', { name: user.displayName || user.userPrincipalName }), verb: t('restore.open'),
      body: [el('p', null, t('restore.enabled')),
        rehire?.cancelledTaskId && el('p', null, t('restore.cancels')),
        list(t('rehire.memberships'), rehire?.memberships), list(t('restore.kept'), rehire?.notRevokedThen),
        !rehire && box('warn', el('p', null, t('restore.bare'))),
        warnings.map((one) => el('p', null, quote(one)))],
      run: (key) => send(method, 'user', { body, key }),
    });
    if (!done) return;
    queuedNotice(done, Date.parse(done.scheduledAtUtc) <= now());
    go(href('task', done.taskId));
  } catch (error) {
    if (error.status === undefined) throw error;
    notice({ tone: 'bad', text: [errorText(error), ' ', quote(error.message)] });
  }
}
