// Owns the keys of a company: the list, making and rotating one, ending one. A secret lives in the
// elements of one dialog alone and goes with it.
import { now, send } from '../api.js';
import { bdi, el } from '../dom.js';
import { addDays, age, dayOf, dayText, listed, rich, t, when, word } from '../format.js';
import { reload, setQuery } from '../router.js';
import { copyable } from '../components/copy.js';
import { choose, confirm, open } from '../components/dialog.js';
import { formDialog } from '../components/form-dialog.js';
import { field, required } from '../components/form.js';
import { box, button, fold, head, pill } from '../components/page.js';
import { notice } from '../components/states.js';
import { list } from '../components/table.js';

export const shape = 'table';

const STATES = {
  active: ['ok', 'done'], expiring: ['warn', 'attention'], expired: ['', 'failed'],
  disabled: ['', 'pause'],
};
const LABEL_MAX = 100;
const SCOPES = ['users', 'access', 'requests', 'hygiene', 'workflows', 'tasks', 'audit'];

/* --- the secret, once --- */

const ask = (name) => `read -rs ${name}; export ${name}`;
const bearer = '--header "Authorization: Bearer $MCP_SECRET"';
const file = (name, value) => `# ${name}\n${typeof value === 'string' ? value : JSON.stringify(value, null, 1)}`;
const server = (mcp, variable) =>
  ({ idadmin: { type: 'http', url: mcp, headers: { Authorization: `Bearer \${${variable}}` } } });
/* Client -> lines to type, or a file's content. The secret itself stands in none of them. */
const SNIPPETS = {
  'Claude Code': ({ mcp }) => [ask('MCP_SECRET'), `claude mcp add --transport http idadmin ${mcp} \\\n  ${bearer}`],
  Cursor: ({ mcp }) => [ask('MCP_SECRET'),
    file('.cursor/mcp.json', { mcpServers: server(mcp, 'env:MCP_SECRET') })],
  'VS Code': ({ mcp }) => [file('.vscode/mcp.json', {
    servers: server(mcp, 'input:mcp-secret'),
    inputs: [{ type: 'promptString', id: 'mcp-secret', description: 'MCP secret', password: true }],
  })],
  Codex: ({ mcp }) => [ask('MCP_SECRET'), file('~/.codex/config.toml',
    `[mcp_servers.idadmin]\nurl = "${mcp}"\nbearer_token_env_var = "MCP_SECRET"`)],
  'Gemini CLI': ({ mcp }) => [ask('MCP_SECRET'), `gemini mcp add --transport http ${bearer} \\\n  idadmin ${mcp}`],
  curl: ({ rest }, key) => [ask('API_KEY'), `curl -H 'X-Company-ID: ${key.companyId}' -H 'X-Api-User: `
    + `${key.username}' \\\n  -H "X-Api-Key: $API_KEY" '${rest}/tasks?limit=5'`],
};

/* Neither Escape nor a click outside ends it; without the tick it asks once more. */
async function reveal(key, company) {
  const full = key.accessLevel === 'full';
  const client = field({
    name: 'client', kind: 'select', label: t('apikey.client'),
    options: Object.keys(SNIPPETS).filter((name) => !full || name === 'curl')
      .map((name) => ({ value: name, label: name })),
  });
  const sample = (name) => copyable(SNIPPETS[name](company.links, key).join('\n'), { what: name, block: true });
  const stored = field({ name: 'stored', kind: 'check', label: t('apikey.stored') });
  const secret = (label, text) => [el('h3', null, label), copyable(text, { what: label, block: true })];
  await open({
    title: t('apikey.made'), locked: true, back: null, wide: true,
    body: () => [
      box('warn', el('p', null, t('apikey.once')),
        el('p', null, rich(`apikey.care.${full ? 'full' : 'read'}`, { company: company.name }))),
      key.replaces && el('p', null, rich('apikey.replaced', {
        name: key.replaces, when: when(key.oldExpiresAt),
      })),
      secret(t('apikey.key'), key.apiKey), secret(t('apikey.secret'), key.mcpSecret),
      client.view(), client.value() === 'VS Code' ? null : el('p', { class: 'hint' }, t('apikey.paste')),
      sample(client.value()), stored.view(),
    ],
    buttons: [{
      label: t('close'), kind: 'primary',
      run: async () => stored.value() || (await choose({
        title: t('apikey.unstored'), text: t('apikey.lost'), back: t('apikey.toKey'),
        options: [{ label: t('apikey.closeAnyway'), value: true, kind: 'danger' }],
      })) || false,
    }],
  });
  await reload();
}

/* --- making, rotating --- */

const year = () => addDays(dayOf(), 365);
const expiry = (value = year()) => [
  field({ name: 'expires', kind: 'date', label: t('apikey.expires'), value, hint: t('apikey.expiresHint') }),
  field({ name: 'never', kind: 'check', label: t('apikey.never') }),
];
const expiryFault = ({ expires, never }) => (!never && !(expires > dayOf())
  ? [{ name: 'expires', message: t('apikey.expiresFault') }] : []);
const expiryOf = ({ expires, never }) => (never ? 'never' : expires);

async function make(company) {
  let own = false;
  const label = field({
    name: 'label', label: t('apikey.label'), max: LABEL_MAX,
    hint: () => [t('apikey.labelHint'), ' ', t('apikey.count', { n: label.value().length, of: LABEL_MAX })],
    change: (text) => {
      if (!own) username.set(suggest(text));
    },
  });
  const username = field({
    name: 'username', label: t('apikey.username'), max: 64, hint: t('apikey.usernameHint'),
    change: () => { own = true; }, attrs: { spellcheck: false, autocapitalize: 'none' },
  });
  const full = company.can('keys.full');
  const access = field({
    name: 'accessLevel', kind: 'cards', label: t('nav.access'), value: 'read-only',
    hint: full ? null : t('apikey.fullNeeds'),
    options: ['read-only', ...(full ? ['full'] : [])].map((value) => ({
      value, label: word('access', value), hint: t(`apikey.${value}`),
    })),
  });
  const ends = expiry();
  const rateLimit = field({
    name: 'rateLimit', label: t('apikey.rate'), optional: true, hint: t('apikey.rateHint'),
  });
  const from = field({
    name: 'from', kind: 'textarea', label: t('apikey.from'), optional: true, hint: t('apikey.fromHint'),
  });
  const scopes = SCOPES.map((name) => field({ name, kind: 'check', label: t(`scope.${name}`) }));
  const limited = () => fold(t('apikey.scopes'), el('p', { class: 'hint' }, t('apikey.scopesHint')),
    scopes.map((one) => one.view())); // of keys that only read
  const decisions = field({
    name: 'decisions', kind: 'check', label: t('apikey.decisions'), hint: t('apikey.decisionsHint'),
  });
  const key = await formDialog({
    title: t('apikey.make'), submit: t('apikey.make'),
    fields: [label, username, access, ...ends, decisions, rateLimit, from, ...scopes],
    layout: () => [label.view(), username.view(), access.view(),
      access.value() === 'full' && decisions.view(), // a decision is a write
      ends.map((one) => one.view()), access.value() !== 'full' && limited(),
      fold(t('apikey.more'), rateLimit.view(), from.view())],
    check: (values) => [...required(values, 'label', 'username'), ...expiryFault(values)],
    run: ({ label: text, username: name, accessLevel, ...rest }) => send('POST', 'key', { body: {
      label: text, username: name, accessLevel, expires: expiryOf(rest), rateLimit: rest.rateLimit || null,
      from: rest.from.split(/[\s,]+/).filter(Boolean),
      scopes: accessLevel === 'full' ? [] : SCOPES.filter((one) => rest[one]),
      decisions: accessLevel === 'full' && rest.decisions,
    } }),
  });
  if (key) await reveal(key, company);
}
const suggest = (label) => label.normalize('NFD').toLowerCase().replace(/[^a-z0-9]+/g, (other) =>
  (/^\p{M}+$/u.test(other) ? '' : '-')).replace(/^-+|-+$/g, '').slice(0, 40);

async function rotate(one, company) {
  const overlap = field({
    name: 'overlapDays', kind: 'number', label: t('apikey.overlap'), value: 7, attrs: { min: 0, max: 90 },
  });
  const tell = () => {
    const days = Number(overlap.value());
    return days > 0 ? t('apikey.oldEnds', { day: dayText(addDays(dayOf(), days)) }) : t('apikey.oldEndsNow');
  };
  const name = field({
    name: 'newUsername', label: t('apikey.newName'), max: 64,
    value: `${one.username.replace(/-\d{6}$/, '')}-${dayOf().slice(0, 7).replace('-', '')}`,
  });
  const ends = expiry();
  const key = await formDialog({
    title: rich('apikey.rotateAsk', { name: one.username }), lead: el('p', null, t('apikey.rotateNote')),
    submit: t('apikey.rotate'), fields: [overlap, name, ...ends],
    layout: () => [overlap.view(), el('p', { class: 'hint', role: 'status' }, tell()), name.view(),
      ends.map((each) => each.view())],
    check: (values) => [...required(values, 'newUsername'), ...expiryFault(values),
      ...(/^([0-8]?\d|90)$/.test(values.overlapDays) ? []
        : [{ name: 'overlapDays', message: t('apikey.overlapFault') }])],
    run: ({ overlapDays, newUsername, ...rest }) => send('POST', 'key/rotate', { body: {
      username: one.username, newUsername, overlapDays: Number(overlapDays), expires: expiryOf(rest),
    } }),
  });
  if (key) await reveal(key, company);
}

/* --- ending --- */

async function end(verb, { username, lastUsedAt }) {
  const values = { name: username, used: lastUsedAt ? age(lastUsedAt) : t('apikey.unused') };
  const fresh = verb === 'delete' && lastUsedAt && now() - Date.parse(lastUsedAt) < 30 * 864e5;
  const done = await confirm({
    title: rich(`apikey.${verb}.ask`, values), body: el('p', null, rich(`apikey.${verb}.note`, values)),
    verb: t(`apikey.${verb}`), danger: verb !== 'enable', typed: fresh ? username : null,
    run: (key) => (verb === 'delete' ? send('DELETE', 'key', { query: { username }, key })
      : send('POST', `key/${verb}`, { query: { username }, key })),
  });
  if (!done) return;
  await reload();
  notice({ text: rich(`apikey.${verb}.done`, { name: username }) });
}

export async function page({ company, query, signal }) {
  const write = company.can('keys.write');
  // "Create a key" of what was found: asked once, when the page stands.
  if (write && query.create) setTimeout(() => { setQuery({}); make(company); });
  const add = () => button(t('apikey.make'), { kind: 'primary', icon: 'add', run: () => make(company) });
  const keys = list({
    path: 'keys', id: (one) => one.username, signal, caption: t('nav.keys'),
    columns: [
      { label: t('apikey.username'), kind: 'main', cell: (one) => el('span', { class: 'person' },
        el('strong', null, bdi(one.username)), one.label && el('small', null, bdi(one.label))) },
      { label: t('nav.access'), cell: (one) => [word('access', one.accessLevel),
        one.scopes.length > 0 && el('small', { class: 'muted under' },
          listed(one.scopes.map((name) => t(`scope.${name}`)))),
        one.decisions && el('small', { class: 'muted under' }, t('apikey.decides')),
        one.concurrency && el('small', { class: 'muted under' }, t('apikey.atOnce', { n: one.concurrency }))] },
      { label: t('apikey.lastUsed'), cell: (one) => (one.lastUsedAt ? age(one.lastUsedAt) : t('apikey.unused')) },
      { label: t('apikey.expires'), cell: (one) => (one.expiresAt ? when(one.expiresAt, 'cellDay') : t('apikey.never')) },
      { label: t('apikey.created'), cell: (one) => [when(one.createdAt, 'cellDay'), ' ',
        el('small', { class: 'muted under' }, bdi(one.createdBy))] },
      { label: t('tasks.state'), cell: (one) => pill(word('keystate', one.state), ...STATES[one.state]) },
    ],
    menu: write ? (one) => [
      ...(one.accessLevel === 'read-only' || company.can('keys.full')
        ? [{ label: t('apikey.rotate'), run: () => rotate(one, company) }] : []),
      one.state === 'disabled' ? { label: t('apikey.enable'), run: () => end('enable', one) }
        : { label: t('apikey.disable'), run: () => end('disable', one) },
      { label: t('apikey.delete'), kind: 'danger', run: () => end('delete', one) },
    ] : null,
    none: () => ({ text: t('apikey.none'), action: write && add() }),
  });
  await keys.ready;
  return {
    title: t('nav.keys'), view: () => el('div', { class: 'page' }, head({
      title: t('nav.keys'), actions: write && keys.rows().length > 0 && add(), // the empty state offers it too
      lead: t('apikey.lead'),
    }), el('div', { class: 'card' }, keys.view())),
  };
}
