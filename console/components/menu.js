// Owns menus: a button with aria-expanded, items by arrow keys, Escape and a click elsewhere close.
import { el, icon, nodes } from '../dom.js';

/* items: [{label, icon, href, run, current, kind}] or nodes that stand as they are; a function makes
 * them when the menu opens. label: children of the button, or hidden beside `dots`. */
export function menu({ label, title, items, dots, kind = 'plain', align = 'end' }) {
  const button = el('button', {
    type: 'button', class: `button ${dots ? 'dots small plain' : kind}`, 'aria-haspopup': 'true',
    'aria-expanded': 'false', 'aria-label': dots || title || null,
    onclick: () => (panel.hidden ? open() : close()),
    onkeydown: (event) => { if (event.key === 'ArrowDown') { event.preventDefault(); open(); } },
  }, dots ? icon('more') : [label, icon('down')]);
  const panel = el('div', { class: `menu ${align}`, hidden: true });
  const box = el('span', {
    class: 'menu-box',
    onkeydown: move,
    onfocusout: (event) => {
      if (event.relatedTarget && !box.contains(event.relatedTarget)) close(false);
    },
  }, button, panel);

  const focusable = () => [...panel.querySelectorAll('a, button, input')];
  const away = (event) => { if (!box.contains(event.target)) close(false); };
  function open() {
    if (!panel.hidden) return;
    const made = typeof items === 'function' ? items() : items;
    panel.replaceChildren(...made.filter(Boolean).map(line));
    panel.hidden = false;
    button.setAttribute('aria-expanded', 'true');
    panel.classList.toggle('up', panel.getBoundingClientRect().bottom > innerHeight - 8);
    focusable()[0]?.focus();
    document.addEventListener('pointerdown', away);
  }
  function close(back = true) {
    if (panel.hidden) return;
    panel.hidden = true;
    button.setAttribute('aria-expanded', 'false');
    document.removeEventListener('pointerdown', away);
    if (back) button.focus();
  }
  function line(item) {
    if (item instanceof Node) return item;
    const content = [item.icon && icon(item.icon), el('span', null, ...nodes([item.label]))];
    const common = {
      class: `item ${item.kind || ''}`,
      'aria-current': item.current ? 'true' : null,
      onclick: () => { close(); item.run?.(); },
    };
    return item.href ? el('a', { ...common, href: item.href }, content)
      : el('button', { ...common, type: 'button' }, content);
  }
  function move(event) {
    const all = focusable();
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === 'Escape' && !panel.hidden) { event.stopPropagation(); close(); }
    if (to === undefined || at < 0 || document.activeElement.matches('input')) return;
    event.preventDefault();
    all.at(to % all.length)?.focus();
  }
  box.close = close;
  return box;
}
