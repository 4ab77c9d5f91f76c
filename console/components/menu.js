// Owns menus: a button and a popover; the browser opens it, closes it by Escape and a click elsewhere.
import { el, icon, uid, useRef, useState } from '../dom.js';

/* items: [{label, icon, href, run, current, kind}] or elements that stand as they are; a function is
 * asked when the menu opens and may take close(). label: children of the button, or hidden beside
 * `dots`. */
export const menu = (props) => el(Menu, props);

function Menu({ label, title, items, dots, kind = 'plain', align = 'end' }) {
  const [id] = useState(uid), [shown, show] = useState(false);
  const panel = useRef(), button = useRef();
  // The browser's event may come when the menu has left the page already.
  const close = () => panel.current?.hidePopover();
  const focusable = () => [...panel.current?.querySelectorAll('a, button, input') ?? []];
  const made = () => (typeof items === 'function' ? items(close) : items).filter(Boolean);
  function move(event) {
    const all = focusable();
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || at < 0 || document.activeElement.matches('input')) return;
    event.preventDefault();
    all.at(to % all.length)?.focus();
  }
  function line(item) {
    if ('props' in item) return item;
    const common = {
      class: `item ${item.kind || ''}`, 'aria-current': item.current ? 'true' : null,
      onclick: () => { close(); item.run?.(); },
    };
    const content = [item.icon && icon(item.icon), el('span', null, item.label)];
    return item.href ? el('a', { ...common, href: item.href, download: item.download }, content)
      : el('button', { ...common, type: 'button' }, content);
  }
  return el('span', { class: 'menu-box' }, el('button', {
    type: 'button', class: `button ${dots ? 'dots small plain' : kind}`, popovertarget: id, ref: button,
    'aria-haspopup': 'true', 'aria-expanded': String(shown), 'aria-label': dots || title,
    onkeydown: (event) => {
      if (event.key !== 'ArrowDown') return;
      event.preventDefault();
      panel.current.showPopover({ source: button.current });
    },
  }, dots ? icon('more') : [label, icon('down')]), el('div', {
    id, popover: 'auto', class: `menu ${align}`, ref: panel, onkeydown: move,
    onbeforetoggle: ({ newState }) => show(newState === 'open'),
    ontoggle: ({ newState }) => newState === 'open' && focusable()[0]?.focus(),
    onfocusout: ({ relatedTarget }) => {
      if (relatedTarget && !panel.current?.contains(relatedTarget)) close();
    },
  }, shown && made().map(line)));
}
