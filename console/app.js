// Owns the start and the frame: who is here, navigation, search, pulse, banners, keys.
import { ApiError, address, events, get, isPaused, isStale, now, pause, poll, useCompany, wake }
  from './api.js';
import { announce, draw, el, icon, mount, redraw, remembered } from './dom.js';
import { LANGUAGES, age, allTexts, city, dateText, has, language, listed, loadLanguage, printing, t, useZone, word }
  from './format.js';
import { go, href, isWaiting, mayOpen, pageKey, pageView, parse, reload, start } from './router.js';
import { dialogs, open } from './components/dialog.js';
import { menu } from './components/menu.js';
import { combobox } from './components/person-picker.js';
import { failure, notice, noticeLine, notices } from './components/states.js';

const MAIN = ['overview', 'people', 'tasks', 'access', 'calendar', 'workflows', 'hygiene'];
const REST = ['log', 'keys', 'company'];
const GOES = { o: 'overview', p: 'people', t: 'tasks', m: 'calendar', a: 'access', w: 'workflows', h: 'hygiene',
  l: 'log', k: 'keys', c: 'company' };

let session, company, first, heart, pulse, here, find, companies, fatal;

/* --- who is here --- */

/* The company of an address, with can(right); the last one, or the first, where it names none. */
async function findCompany(id, signal) {
  const wanted = id || remembered('company') || session.companies[0]?.companyId;
  let found = session.companies.find((one) => one.companyId === wanted);
  if (!found && session.companyCount > session.companies.length) {
    found = (await get('companies', { query: wanted }, signal)).items
      .find((one) => one.companyId === wanted);
  }
  if (!found && !id) [found] = session.companies;
  if (!found) throw new ApiError(403, { reason: 'companyUnknown' });
  return { ...found, person: session.person, links: session.links,
    can: (right) => found.rights.includes(right) };
}

const home = () => [...MAIN, ...REST].find((page) => mayOpen(company ?? first, page));

/* --- frame --- */

/* The whole screen. */
const screen = () => [
  el('a', { class: 'skip', href: '#main', onclick: (event) => {
    event.preventDefault();
    (document.querySelector('#page h1') || document.getElementById('main')).focus();
  } }, t('frame.skip')),
  el('div', { id: 'frame' }, el('header', { class: 'top' },
    el('a', { class: 'brand', href: '#/', 'aria-label': t('frame.home') },
      el('img', { src: 'icon.svg', alt: '', width: 28, height: 28 }), el('span', null, 'idadmin')),
    el('div', { class: 'switch' }, company && companySwitch()),
    el('div', { class: 'find', role: 'search' }, find && [icon('search'), find.view()]),
    el('div', { class: 'live' }, session && live()),
    el('div', { class: 'user' }, company && user())),
  el('nav', { class: 'side', 'aria-label': t('frame.main') }, company && navigation()),
  el('main', { id: 'main', tabindex: '-1' },
    el('div', { id: 'notices' }, company && (away || !notices().length ? banners().map(noticeLine) : notices())),
    // What a sheet of paper must tell of itself.
    el('p', { class: 'print' },
      `idadmin · ${company?.name ?? ''} · ${dateText(now(), 'full')} (${city()})`),
    el('div', { id: 'page', 'aria-busy': isWaiting() ? 'true' : null },
      el('div', { key: pageKey() }, fatal ? fatal.view() : pageView())))),
  dialogs()];

/* A company and a page stand: what of the frame depends on them. */
function stand(next, page) {
  const changed = company?.companyId !== next.companyId;
  company = next;
  here = page;
  if (changed) {
    useCompany(company.companyId);
    useZone(company.timeZone);
    remembered('company', company.companyId);
    pulse = null;
    find = search();
    beat();
  }
  redraw();
}

const SECTION = { settings: 'company', person: 'people', hire: 'people', hires: 'people',
  offboard: 'people', task: 'tasks' };
const isHere = (page) => (SECTION[here] || here) === page;
function link(page, behind) {
  const count = page === 'tasks' ? (pulse?.queue?.failed ?? 0) + (pulse?.queue?.attention ?? 0)
    : page === 'access' ? pulse?.toDecide ?? 0 : 0;
  return el('a', { href: href(page), class: `nav${behind ? ' wide' : ''}`, key: page,
    'aria-current': isHere(page) ? 'page' : null },
  icon(page), el('span', null, t(`nav.${page}`)),
  count > 0 && el('span', { class: 'count' }, el('span', { 'aria-hidden': 'true' }, String(count)),
    el('span', { class: 'unseen' }, t(`nav.${page}.count`, { n: count }))));
}
/* The bottom bar of small screens shows four and the rest behind "More". */
function navigation() {
  const main = MAIN.filter((page) => mayOpen(company, page));
  const rest = REST.filter((page) => mayOpen(company, page));
  const behind = [...main.slice(4), ...rest];
  return [main.map((page, i) => link(page, i >= 4)), main.length && rest.length ? el('hr') : null,
    rest.map((page) => link(page, true)), behind.length > 0 && menu({
      label: el('span', { class: 'stacked' }, icon('more'), t('nav.more')), kind: 'nav more',
      items: behind.map((page) => ({
        label: t(`nav.${page}`), icon: page, href: href(page), current: isHere(page) })),
    })];
}

function companySwitch() {
  const to = (one) => `#/${encodeURIComponent(one.companyId)}`;
  const name = el('bdi', { class: 'company-name' }, company.name);
  if (session.companyCount < 2) return name;
  const others = session.companies.filter((one) => one.companyId !== company.companyId);
  const items = [{ label: company.name, current: true, href: to(company) }];
  return menu({
    label: name, title: t('frame.company', { name: company.name }), align: 'start',
    items: (close) => {
      if (session.companyCount <= 10) return [...items, ...others.map((one) => ({ label: one.name, href: to(one) }))];
      companies ||= combobox({
        label: t('frame.findCompany'), hideLabel: true, placeholder: t('frame.findCompany'),
        load: async (query, signal) => (await get('companies', { query, limit: 8 }, signal)).items,
        render: (one) => el('bdi', null, one.name), text: () => '',
        pick: (one) => { close(); go(to(one)); },
      });
      return [...items, el('div', { class: 'menu-search' }, companies.view())];
    },
  });
}

/* What is found is made when it is first looked for. */
const search = () => {
  const box = combobox({
    label: t('frame.find'), placeholder: t('frame.find'), hideLabel: true, type: 'search', pause: 120,
    empty: true, group: (hit) => hit.group, render: (hit) => hit.view, text: () => '',
    load: async (query, signal) => {
      const [{ find: all }] = await Promise.all([import('./find.js'), allTexts()]);
      return all(query, company, signal);
    },
    pick: (hit) => { box.set(''); go(hit.to); },
    enter: company.can('people.read') ? (query) => { box.set(''); go(href('people', '', { query })); } : null,
  });
  return box;
};

function user() {
  const look = (name, value, run) => ({
    label: t(`look.${name}`), current: value, run: () => { run(); redraw(); },
  });
  const theme = remembered('theme') || '';
  const title = (text) => el('p', { class: 'menu-title' }, text), line = () => el('hr');
  const { help, signOut } = session.links;
  const setTheme = (value) => {
    remembered('theme', value || null);
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
  };
  return menu({
    label: [icon('people'), el('bdi', null, session.user)], title: t('frame.user', { name: session.user }),
    items: () => [
      title(t('frame.roles', { roles: listed(company.roles.map((role) => word('role', role))) })),
      line(), title(t('frame.language')),
      ...Object.entries(LANGUAGES).map(([code, label]) => ({
        label: el('span', { lang: code }, label), current: code === language(),
        run: () => changeLanguage(code) })),
      line(), title(t('frame.look')),
      look('light', theme === 'light', () => setTheme('light')),
      look('dark', theme === 'dark', () => setTheme('dark')),
      look('system', !theme, () => setTheme('')),
      line(),
      look('compact', Boolean(remembered('compact')), () => {
        remembered('compact', remembered('compact') ? null : true);
        document.documentElement.toggleAttribute('data-compact');
      }),
      look('keys', !remembered('noKeys'), () => remembered('noKeys', remembered('noKeys') ? null : true)),
      line(),
      { label: t('keys.title'), run: showKeys },
      help && { label: t('frame.help'), href: help },
      signOut ? { label: t('frame.signOut'), href: signOut } : title(t('frame.closeBrowser')),
    ],
  });
}

async function changeLanguage(code) {
  remembered('language', code);
  await loadLanguage(code);
  if (find) find = search();
  companies = null;
  reload();
}

/* --- pulse: the one poll of the frame --- */

function beat() {
  heart?.abort();
  heart = new AbortController();
  const { signal } = heart;
  poll({ path: 'pulse', every: 10000, signal, apply: (data) => {
    pulse = data;
    events.dispatchEvent(new CustomEvent('pulse', { detail: data }));
    redraw();
  } });
  setTimeout(wake);
}

let checkedAt, away; // away: {error, next, since}: what is shown is of `since`
function live() {
  const still = isPaused();
  const clock = checkedAt ? dateText(checkedAt, 'second') : '';
  const text = still ? t('frame.paused') : away ? t('frame.away') : t('frame.live');
  return [el('span', { class: `live-text ${still ? 'still' : away ? 'away' : ''}`,
    title: checkedAt ? t('frame.checked', { time: clock }) : null },
  el('i', { class: 'lamp' }), el('span', { class: 'live-word' }, text), el('span', null, ` ${clock}`)),
  el('button', { type: 'button', class: 'button small plain',
    'aria-label': t(still ? 'frame.goOn' : 'frame.pause'), onclick: () => { pause(!still); redraw(); } },
  icon(still ? 'running' : 'pause'))];
}

/* What holds for every page: one at a time, the worst. */
function banners() {
  const said = [
    away && {
      key: 'away', tone: 'warn', fixed: true,
      text: [t(away.error.lost ? 'banner.away' : 'banner.stale', { time: away.since ? dateText(away.since, 'clock') : '–' }),
        ' ', t('banner.nextTry'), ' ', age(away.next)],
      actions: [{ label: t('tryNow'), run: wake }],
    },
    pulse?.workersRunning === 0 && { key: 'worker', tone: 'bad', fixed: true, text: t('banner.worker') },
    pulse?.directories?.some((one) => one.state === 'never')
      && { key: 'firstSync', tone: 'info', fixed: true, text: t('banner.firstSync') },
  ];
  return said.filter(Boolean).slice(0, 1);
}

/* --- server away, signed out --- */

function watch() {
  events.addEventListener('answer', ({ detail }) => {
    checkedAt = new Date(detail).toISOString();
    redraw();
  });
  events.addEventListener('poll-failed', ({ detail: { error, wait } }) => {
    const first = !away;
    away = { error, since: away?.since || checkedAt, next: new Date(now() + wait).toISOString() };
    if (first && error.lost) {
      announce(t('banner.away', { time: checkedAt ? dateText(checkedAt, 'clock') : '–' }), { assertive: true });
    }
    redraw();
  });
  events.addEventListener('back', () => {
    if (away && !isStale()) announce(t('banner.backAgain'));
    away = null;
    wake();
    redraw();
  });
  let asking = false;
  events.addEventListener('signed-out', async () => {
    if (asking || !session) return;
    asking = true;
    await open({
      title: t('signedOut.title'), back: null, locked: true,
      body: el('p', null, t('signedOut.text')),
      buttons: [{ label: t('signIn'), kind: 'primary', run: () => {
        window.open(address('sign-in'), '_blank', 'noopener');
        return false;
      } }],
      ready: (close) => {
        // A person may sign in in another window.
        const look = async () => {
          if (document.hidden || !asking || !(await get('session').catch(() => null))) return;
          clearInterval(timer);
          removeEventListener('focus', look);
          close();
        };
        const timer = setInterval(look, 3000);
        addEventListener('focus', look);
      },
    });
    asking = false;
    wake();
  });
  for (const [name, yes] of [['beforeprint', true], ['afterprint', false]]) {
    addEventListener(name, () => { printing(yes); draw(); });
  }
}

/* --- keys --- */

const inField = (node) => node?.closest?.('input, textarea, select, dialog, [contenteditable]');
let gone = 0;
function keys(event) {
  if (event.key === 'Escape' && event.target.id === find?.id) event.target.blur();
  if ((event.ctrlKey || event.metaKey) && event.key === 'k' && !document.querySelector('dialog[open]')) {
    event.preventDefault();
    return find?.open();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !company
    || remembered('noKeys') || inField(event.target) || document.querySelector('dialog[open]')) return;
  const after = Date.now() - gone < 1500;
  gone = 0;
  if (after && GOES[event.key]) {
    if (mayOpen(company, GOES[event.key])) go(href(GOES[event.key]));
  } else if (event.key === 'g') { gone = Date.now(); return; }
  else if (event.key === '/') find?.open();
  else if (event.key === 'n' && mayOpen(company, 'hire')) go(href('hire'));
  else if (event.key === '?') showKeys();
  else return;
  event.preventDefault();
}
const showKeys = () => open({
  title: t('keys.title'), back: t('close'),
  body: el('dl', { class: 'facts' }, [['/', 'find'], ['Ctrl K', 'find'],
    ...Object.entries(GOES).map(([key, page]) => [`g ${key}`, page]), ['n', 'hire'], ['?', 'list']]
    .map(([key, what]) => el('div', null, el('dt', null, el('kbd', null, key)),
      el('dd', null, has(`keys.${what}`) ? t(`keys.${what}`) : t(`nav.${what}`))))),
});

/* --- start --- */

const stored = (name, value) => {
  try {
    if (value === undefined) return sessionStorage.getItem(name);
    if (value === null) sessionStorage.removeItem(name); else sessionStorage.setItem(name, value);
  } catch { /* not kept */ }
  return null;
};

/* The only thing that may be asked before anybody is known. */
async function begin() {
  await loadLanguage(remembered('language'));
  mount(screen, document.getElementById('app'));
  try {
    session = await get('session');
    for (const [name, link] of Object.entries(session.links)) { // to copy: with scheme and host
      session.links[name] = new URL(link, location.origin).href;
    }
  } catch (error) {
    if (error.status === 401 && stored('idadmin.signin') === null) {
      stored('idadmin.signin', location.hash || '#/');
      location.assign(address('sign-in'));
      return;
    }
    stored('idadmin.signin', null);
    fatal = failure(error, () => location.reload());
    document.title = `${fatal.title} – idadmin`;
    draw();
    document.documentElement.dataset.ready = 'failed';
    if (error.lost || error.status >= 500) setTimeout(() => location.reload(), 10000);
    return;
  }
  const came = stored('idadmin.signin');
  stored('idadmin.signin', null);
  if (came && !parse().company) history.replaceState(null, '', came);
  first = await findCompany('').catch(() => null);
  watch();
  document.addEventListener('keydown', keys);
  start({ findCompany, frame: { stand, home } });
}
begin();
