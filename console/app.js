// Owns the start and the frame: who is here, navigation, search, pulse, banners, keys.
import { ApiError, address, events, get, isPaused, now, pause, poll, useCompany, wake } from './api.js';
import { announce, el, icon, remembered } from './dom.js';
import { LANGUAGES, age, city, dateText, has, language, listed, loadLanguage, t, useZone, word }
  from './format.js';
import { go, href, mayOpen, parse, reload, start } from './router.js';
import { open } from './components/dialog.js';
import { menu } from './components/menu.js';
import { combobox, finder } from './components/person-picker.js';
import { failure, notice, unnotice } from './components/states.js';

const MAIN = ['overview', 'people', 'tasks', 'access', 'workflows', 'hygiene'];
const REST = ['log', 'keys', 'company'];
const GOES = { o: 'overview', p: 'people', t: 'tasks', a: 'access', w: 'workflows', h: 'hygiene',
  l: 'log', k: 'keys', c: 'company' };

let session, company, heart, pulse;
const place = {};

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

const home = () => [...MAIN, ...REST].find((page) => mayOpen(company ?? place.first, page));

/* --- frame --- */

function draw() {
  place.page = el('div', { id: 'page' });
  place.printed = el('p', { class: 'print' });
  addEventListener('beforeprint', head);
  place.nav = el('nav', { class: 'side', 'aria-label': t('frame.main') });
  place.company = el('div', { class: 'switch' });
  place.search = el('div', { class: 'find', role: 'search' });
  place.live = el('div', { class: 'live' });
  place.user = el('div', { class: 'user' });
  const skip = document.getElementById('skip');
  skip.textContent = t('frame.skip');
  skip.onclick = (event) => {
    event.preventDefault();
    const target = document.querySelector('#page h1') || document.getElementById('main');
    target.focus();
  };
  document.getElementById('app').replaceChildren(
    el('header', { class: 'top' },
      el('a', { class: 'brand', href: '#/', 'aria-label': t('frame.home') },
        el('img', { src: 'icon.svg', alt: '', width: 28, height: 28 }), el('span', null, 'idadmin')),
      place.company, place.search, place.live, place.user),
    place.nav,
    el('main', { id: 'main', tabindex: '-1' }, el('div', { id: 'notices' }), place.printed, place.page));
}

/* What a sheet of paper must tell of itself. */
function head() {
  place.printed.textContent = `idadmin · ${company?.name ?? ''} · ${dateText(now(), 'full')} (${city()})`;
}

/* A company and a page stand: what of the frame depends on them. */
function stand(next, page) {
  const changed = company?.companyId !== next.companyId;
  company = next;
  place.here = page;
  if (changed) {
    useCompany(company.companyId);
    useZone(company.timeZone);
    remembered('company', company.companyId);
    pulse = null;
    ['worker', 'firstSync'].forEach(unnotice);
    drawSwitch();
    drawSearch();
    drawUser();
    beat();
  }
  drawNav();
}

const SECTION = { person: 'people', hire: 'people', offboard: 'people', task: 'tasks' };
function link(page) {
  const count = page === 'tasks' ? (pulse?.queue?.failed ?? 0) + (pulse?.queue?.attention ?? 0)
    : page === 'access' ? pulse?.toDecide ?? 0 : 0;
  const here = (SECTION[place.here] || place.here) === page;
  return el('a', { href: href(page), class: 'nav', 'aria-current': here ? 'page' : null },
    icon(page), el('span', null, t(`nav.${page}`)),
    count > 0 && el('span', { class: 'count' }, el('span', { 'aria-hidden': 'true' }, String(count)),
      el('span', { class: 'unseen' }, t(`nav.${page}.count`, { n: count }))));
}
function drawNav() {
  const main = MAIN.filter((page) => mayOpen(company, page));
  const rest = REST.filter((page) => mayOpen(company, page));
  const shown = JSON.stringify([place.here, language(), main, rest, pulse?.queue, pulse?.toDecide,
    company.companyId]);
  if (shown === place.shown) return;
  place.shown = shown;
  // The bottom bar of small screens shows four and the rest behind "More".
  const behind = [...main.slice(4), ...rest];
  const focused = document.activeElement?.closest?.('.side a')?.getAttribute('href');
  place.nav.replaceChildren(...main.map(link), main.length && rest.length ? el('hr') : '',
    ...rest.map(link), menu({
      label: el('span', { class: 'stacked' }, icon('more'), t('nav.more')), kind: 'nav more up',
      align: 'start', items: behind.map((page) => ({
        label: t(`nav.${page}`), icon: page, href: href(page), current: page === place.here })),
    }));
  [...place.nav.querySelectorAll('a')].filter((one) => behind.some((page) =>
    one.getAttribute('href') === href(page))).forEach((one) => one.classList.contains('nav')
    && one.classList.add('wide'));
  place.nav.lastElementChild.hidden = !behind.length;
  if (focused) [...place.nav.children].find((one) => one.getAttribute('href') === focused)?.focus();
}

function drawSwitch() {
  const to = (one) => `#/${encodeURIComponent(one.companyId)}`;
  const name = el('bdi', { class: 'company-name' }, company.name);
  if (session.companyCount < 2) { place.company.replaceChildren(name); return; }
  const others = session.companies.filter((one) => one.companyId !== company.companyId);
  const items = [{ label: company.name, current: true, href: to(company) }];
  place.company.replaceChildren(menu({
    label: name, title: t('frame.company', { name: company.name }), align: 'start',
    items: () => (session.companyCount <= 10
      ? [...items, ...others.map((one) => ({ label: one.name, href: to(one) }))]
      : [...items, el('div', { class: 'menu-search' }, combobox({
        label: t('frame.findCompany'), hideLabel: true, placeholder: t('frame.findCompany'),
        load: async (query, signal) => (await get('companies', { query, limit: 8 }, signal)).items,
        render: (one) => el('bdi', null, one.name), text: (one) => one.name,
        pick: (one) => { place.company.firstChild.close(); go(to(one)); },
      }).node)]),
  }));
}

function drawSearch() {
  if (!company.can('people.read')) { place.search.replaceChildren(); return; }
  const box = finder({
    label: t('frame.find'), placeholder: t('frame.find'),
    pick: (one) => { box.set(''); go(href('person', one.id)); },
    enter: (query) => { box.set(''); go(href('people', '', { query })); },
  });
  place.find = box.input;
  place.search.replaceChildren(icon('search'), box.node);
}

function drawUser() {
  const look = (name, value, run) => ({
    label: t(`look.${name}`), current: value, run,
  });
  const theme = remembered('theme') || '';
  const title = (text) => el('p', { class: 'menu-title' }, text);
  const line = () => el('hr');
  const { help, signOut } = session.links;
  const setTheme = (value) => {
    remembered('theme', value || null);
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
    drawUser();
  };
  place.user.replaceChildren(menu({
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
  }));
}

async function changeLanguage(code) {
  remembered('language', code);
  await loadLanguage(code);
  const was = company;
  company = place.shown = null;
  draw();
  stand(was, place.here);
  reload();
}

/* --- pulse: the one poll of the frame --- */

const BANNERS = {
  worker: () => pulse.workersRunning === 0 && { tone: 'bad', text: t('banner.worker') },
  firstSync: () => pulse.directories?.some((one) => one.state === 'never')
    && { tone: 'info', text: t('banner.firstSync') },
};

function beat() {
  heart?.abort();
  heart = new AbortController();
  const { signal } = heart;
  poll({ path: 'pulse', every: 10000, signal, apply: (data) => {
    pulse = data;
    events.dispatchEvent(new CustomEvent('pulse', { detail: data }));
    drawNav();
    for (const [key, make] of Object.entries(BANNERS)) {
      const banner = make();
      if (banner) notice({ ...banner, key, fixed: true }).dataset.frame = '';
      else unnotice(key);
    }
  } });
  setTimeout(wake);
}

let checkedAt, away;
function drawLive() {
  const still = isPaused();
  const clock = checkedAt ? dateText(checkedAt, 'second') : '';
  const text = still ? t('frame.paused') : away ? t('frame.away') : t('frame.live');
  if (!place.live.firstChild) {
    place.live.append(el('span', { class: 'live-text' }), el('button', {
      type: 'button', class: 'button small plain', onclick: () => { pause(!isPaused()); drawLive(); },
    }));
  }
  const [label, button] = place.live.children;
  label.className = `live-text ${still ? 'still' : away ? 'away' : ''}`;
  label.title = checkedAt ? t('frame.checked', { time: clock }) : '';
  label.replaceChildren(el('i', { class: 'lamp' }), el('span', { class: 'live-word' }, text),
    el('span', null, ` ${clock}`));
  button.setAttribute('aria-label', t(still ? 'frame.goOn' : 'frame.pause'));
  if (place.still !== still) button.replaceChildren(icon(still ? 'running' : 'pause'));
  place.still = still;
}

/* --- server away, signed out --- */

function watch() {
  events.addEventListener('answer', ({ detail }) => {
    checkedAt = new Date(detail).toISOString();
    if (away) { away = false; unnotice('away'); wake(); announce(t('banner.backAgain')); }
    drawLive();
  });
  events.addEventListener('poll-failed', ({ detail: { error, wait } }) => {
    if (!error.lost) return;
    const first = !away;
    away = true;
    drawLive();
    const next = new Date(Date.now() + wait).toISOString();
    notice({
      key: 'away', tone: 'warn', fixed: true,
      text: [t('banner.away', { time: checkedAt ? dateText(checkedAt, 'clock') : '–' }), ' ',
        t('banner.nextTry'), ' ', age(next)],
      actions: [{ label: t('tryNow'), run: wake }],
    }).dataset.frame = '';
    if (first) announce(t('banner.away', { time: dateText(checkedAt, 'clock') }), { assertive: true });
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
      ready: (close) => document.addEventListener('visibilitychange', async function back() {
        if (document.hidden || !(await get('session').catch(() => null))) return;
        document.removeEventListener('visibilitychange', back);
        close();
      }),
    });
    asking = false;
    wake();
  });
}

/* --- keys --- */

const inField = (node) => node?.closest?.('input, textarea, select, dialog, [contenteditable]');
let gone = 0;
function keys(event) {
  if (event.key === 'Escape' && event.target === place.find) place.find.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !company
    || remembered('noKeys') || inField(event.target) || document.querySelector('dialog[open]')) return;
  const after = Date.now() - gone < 1500;
  gone = 0;
  if (after && GOES[event.key]) {
    if (mayOpen(company, GOES[event.key])) go(href(GOES[event.key]));
  } else if (event.key === 'g') { gone = Date.now(); return; }
  else if (event.key === '/') place.find?.focus();
  else if (event.key === 'n' && mayOpen(company, 'hire')) go(href('hire'));
  else if (event.key === '?') showKeys();
  else return;
  event.preventDefault();
}
const showKeys = () => open({
  title: t('keys.title'), back: t('close'),
  body: el('dl', { class: 'facts' }, [['/', 'find'],
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
  draw();
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
    const shown = failure(error, () => location.reload());
    document.title = `${shown.title} – idadmin`;
    place.page.replaceChildren(shown.node);
    document.documentElement.dataset.ready = 'failed';
    return;
  }
  const came = stored('idadmin.signin');
  stored('idadmin.signin', null);
  if (came && !parse().company) history.replaceState(null, '', came);
  place.first = await findCompany('').catch(() => null);
  watch();
  drawLive();
  document.addEventListener('keydown', keys);
  start({ findCompany, frame: { get page() { return place.page; }, stand, home } });
}
begin();
