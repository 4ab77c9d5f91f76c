// Owns what is set for a company, to be read: who is called with its events and what was not taken,
// the catalogue, the tenant document; and a draft of another one with what it would change.
import { get, send } from '../api.js';
import { bdi, el, redraw } from '../dom.js';
import { age, listed, rich, t, when, word } from '../format.js';
import { href, mayOpen } from '../router.js';
import { copyable } from '../components/copy.js';
import { box, button, card, fold, head, pill, tabs } from '../components/page.js';
import { empty, quote, refusal, safely } from '../components/states.js';

export const shape = 'cards';

const PARTS = ['receivers', 'catalog', 'document'];
export const companyTabs = (company, here) => tabs(t('nav.company'), [
  { label: t('nav.company'), href: href('company'), current: here === 'company' },
  ...(mayOpen(company, 'settings') ? PARTS : []).map((part) => ({
    label: t(`set.${part}`), href: href('settings', part), current: here === part }))]);

/* --- receivers of events --- */

function receiver(one) {
  const [tone, sign, key] = one.givenUp ? ['bad', 'failed', 'lost'] : one.failures ? ['warn', 'attention', 'failing']
    : one.waiting ? ['', 'queued', 'waiting'] : ['ok', 'done', 'well'];
  return el('li', { key: one.url }, el('strong', null, bdi(one.url)), pill(t(`set.state.${key}`), tone, sign),
    el('p', { class: 'muted' }, one.events.length
      ? t('set.gets', { events: listed(one.events.map((name) => word('set.event', name))) }) : t('set.gone')),
    (one.waiting > 0 || one.givenUp > 0 || one.failures > 0) && el('p', null, [
      one.waiting > 0 && t('set.waiting', { n: one.waiting }), one.givenUp > 0 && t('set.givenUp', { n: one.givenUp }),
      one.failures > 0 && t('set.failures', { n: one.failures })].filter(Boolean).join(' '),
    one.nextAt && [' ', t('set.next'), ' ', age(one.nextAt)]));
}
const event = (one) => el('li', { key: one.id + one.url }, el('div', null,
  el('a', { href: href('task', one.taskId) }, bdi(one.userPrincipalName)), ' · ', word('set.event', one.type),
  ' · ', when(one.at), el('div', { class: 'muted' }, bdi(one.url), ' · ', t('set.tries', { n: one.tries })),
  quote(one.error)), one.givenUpAt ? pill(t('set.state.lost'), 'bad', 'failed')
  : pill(t('set.state.waiting'), '', 'queued'));

const receivers = (data) => [
  card({ title: t('set.receivers') }, el('p', { class: 'muted' }, t('set.receiversLead')),
    () => (data.receivers.length ? el('ul', { class: 'plain rows' }, data.receivers.map(receiver))
      : empty(t('set.noReceivers')))),
  data.undelivered && data.receivers.length > 0 && card({ title: t('set.undelivered') },
    () => (data.undelivered.length ? el('ul', { class: 'plain rows' }, data.undelivered.map(event))
      : empty(t('set.allTaken')))),
];

/* --- the catalogue --- */

const catalog = ({ document }, company) => card({ title: t('set.catalog') },
  el('p', { class: 'muted' }, t('set.catalogLead')), () => {
    const all = document.accessCatalog || [];
    return all.length ? el('ul', { class: 'plain rows' }, all.map((one) => el('li', { key: one.service },
      el('strong', null, bdi(one.service)),
      el('p', null, rich('set.gives', { group: one.group })),
      el('p', { class: 'muted' }, one.approvers?.length ? [t('request.who'), ': ',
        one.approvers.map((who, i) => [i > 0 && ', ', bdi(who)])]
        : t('request.nobody'))))) : empty(t('set.noCatalog'), company.can('requests.read')
      && el('a', { href: href('access', 'requests') }, t('access.requests')));
  });

/* --- the document, and a draft of another --- */

const json = (value) => (value === undefined ? t('set.absent') : JSON.stringify(value));
function change({ member, before, after }) {
  return el('li', { key: member }, el('strong', { class: 'code' }, bdi(member)),
    el('div', { class: 'old' }, el('span', { class: 'muted' }, `${t('set.before')} `), el('code', null, json(before))),
    el('div', null, el('span', { class: 'muted' }, `${t('set.after')} `), el('code', null, json(after))));
}

function drafting(data, company) {
  const whole = JSON.stringify(data.document, null, 2);
  let text = whole, plan, fault, asking, of;
  const look = async () => {
    [asking, fault] = [true, null];
    redraw();
    try {
      plan = (await send('POST', 'company/plan', { body: { document: text } })).changes;
      of = text;
    } catch (error) { [fault, plan] = [error, null]; }
    asking = false;
    redraw();
  };
  const view = () => [
    card({ title: t('set.document'), beside: button(t('set.reset'), { kind: 'small plain', run: () => {
      [text, plan, fault] = [whole, null, null];
      redraw();
    } }) },
    el('p', { class: 'muted' }, t('set.documentLead')),
    el('div', { class: 'field' }, el('label', { for: 'draft' }, t('set.draft')),
      el('textarea', { id: 'draft', class: 'code', rows: '24', spellcheck: false, autocomplete: 'off', value: text,
        oninput: (event) => { text = event.target.value; redraw(); } })),
    company.can('people.read') && el('div', { class: 'form-foot' }, // others are shown no addresses of people
      button(t('set.look'), { kind: 'primary', run: look, 'aria-busy': asking ? 'true' : null })),
    el('div', { role: 'status' }, fault && refusal(fault), plan && of === text && [
      plan.length ? el('div', { class: 'stack tight' }, el('h3', null, t('set.changes', { n: plan.length })),
        el('ul', { class: 'plain rows' }, plan.map(change))) : box('info', t('set.nothing'))])),
    card({ title: t('set.apply') }, el('p', null, t('set.applyLead')),
      copyable('idadminctl tenant apply --dry-run tenant.json\nidadminctl tenant apply tenant.json',
        { what: t('set.command'), block: true }),
      fold(t('set.draft'), copyable(text, { what: t('set.draft'), block: true }))),
  ];
  return { view, leave: () => text !== whole };
}

export async function page({ company, params: { id }, signal }) {
  const part = PARTS.includes(id) ? id : PARTS[0];
  let data = await get('company/settings', {}, signal);
  const draft = part === 'document' && drafting(data, company);
  const shown = { receivers: () => receivers(data), catalog: () => catalog(data, company),
    document: () => draft.view() };
  return {
    title: `${t('nav.company')}: ${t(`set.${part}`)}`,
    view: () => el('div', { class: 'page' }, head({ title: t('nav.company'), lead: bdi(company.name) }),
      companyTabs(company, part), safely(shown[part])),
    leave: draft ? draft.leave : null,
    poll: part === 'receivers' && { path: 'company/settings', every: 15000, apply: (fresh) => { data = fresh; } },
  };
}
