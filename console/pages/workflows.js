// Owns workflows: what each is for, and what its runs came to.
import { get, now } from '../api.js';
import { bdi, el, icon } from '../dom.js';
import { duration, t, when, word } from '../format.js';
import { href } from '../router.js';
import { head, pill, tabs } from '../components/page.js';
import { part, quote } from '../components/states.js';
import { list } from '../components/table.js';

export const shape = 'table';

const OUTCOMES = {
  done: ['done', 'ok'], already: ['done', 'ok'], doneWithWarnings: ['attention', 'warn'], failed: ['failed', 'bad'],
  unknown: ['attention', 'warn'], running: ['running', 'accent'], waiting: ['queued', ''],
  pending: ['queued', ''], skipped: ['more', ''], cancelled: ['failed', ''],
};
const mark = (status) => pill(word('run', status), ...[...(OUTCOMES[status] || ['queued', ''])].reverse());
const bad = (run) => run.status === 'failed' || run.status === 'doneWithWarnings';
const onlyBad = (data) => {
  const items = data.items.filter(bad);
  return { ...data, items, totalCount: items.length, totalCountIsMinimum: Boolean(data.nextCursor) };
};
const month = () => new Date(now() - 30 * 864e5).toISOString().slice(0, 10);

/* Runs of the last 30 days; failures are counted among the newest 200, which is said. */
async function figures(name, signal) {
  const { items, totalCount } = await get('workflow/runs', { workflow: name, from: month(), limit: 200 }, signal);
  const n = items.filter(bad).length;
  return el('span', null, t('wf.runs', { n: totalCount }), n > 0 && [' ', pill(t('wf.failed', { n }), 'bad', 'failed')],
    totalCount > items.length && ` ${t('wf.among', { n: items.length })}`);
}

async function all({ signal }) {
  const flows = list({
    path: 'workflows', signal, caption: t('nav.workflows'),
    columns: [
      { label: t('wf.name'), kind: 'main', cell: (one) =>
        el('a', { href: href('workflows', one.name) }, bdi(one.name)) },
      { label: t('wf.trigger'), cell: (one) => word('type', one.trigger) },
      { label: t('wf.actions'), kind: 'num', cell: (one) => String(one.actionCount) },
      { label: t('tasks.state'), cell: (one) => (one.active ? pill(t('wf.active'), 'ok', 'done')
        : pill(t('wf.inactive'), '', 'pause')) },
      { label: t('wf.month'), cell: (one) => part(() => figures(one.name, signal)) },
    ],
    none: () => ({ text: t('wf.none') }),
  });
  await flows.ready;
  const title = t('nav.workflows');
  return {
    title, node: el('div', { class: 'page' }, head({ title, lead: t('wf.lead') }),
      el('div', { class: 'card' }, flows.node)),
  };
}

const actions = (run) => el('ol', { class: 'marks' }, run.actions.map((one) => {
  const [sign, tone] = OUTCOMES[one.status] || ['queued', ''];
  return el('li', { class: `pill ${tone}`, title: one.error }, icon(sign),
    el('span', null, word('step', one.type)), el('span', { class: 'unseen' }, ` ${word('run', one.status)}`));
}));

async function runs({ params: { id: name }, query, signal }) {
  const only = query.status === 'failed';
  const made = list({
    path: 'workflow/runs', query: () => ({ workflow: name }), limit: only ? 200 : 50, signal, caption: name,
    of: only ? onlyBad : undefined,
    columns: [
      { label: t('tasks.person'), kind: 'main', cell: (run) => el('a', { href: href('task', run.event.taskId) },
        bdi(run.event.userPrincipalName)) },
      { label: t('tasks.state'), cell: (run) => mark(run.status) },
      { label: t('wf.actions'), kind: 'wide', cell: (run) => [actions(run),
        run.actions.filter((one) => one.error).map((one) => el('small', null, quote(one.error)))] },
      { label: t('wf.started'), cell: (run) => [when(run.startedAt), run.finishedAt && el('small', { class: 'muted' },
        ` ${duration(Date.parse(run.finishedAt) - Date.parse(run.startedAt))}`)] },
    ],
    none: () => ({ text: t(only ? 'wf.noneFailed' : 'wf.noRuns') }),
  });
  await made.ready;
  return {
    title: name,
    node: el('div', { class: 'page' }, head({
      title: bdi(name), sub: el('a', { href: href('workflows') }, t('wf.back')),
    }), tabs(t('wf.which'), [false, true].map((one) => ({
      label: t(one ? 'wf.onlyFailed' : 'wf.all'), current: one === only,
      href: href('workflows', name, one ? { status: 'failed' } : {}),
    }))), el('div', { class: 'card' }, made.node)),
  };
}

export const page = (args) => (args.params.id ? runs(args) : all(args));
