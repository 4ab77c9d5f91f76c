// Owns charts: SVG at the width of its container in pixels, so that text keeps its size; a title that
// tells the finding; the same as a table.
import { el, useLayoutEffect, useRef, useState } from '../dom.js';
import { number, t } from '../format.js';
import { card } from './page.js';
import { safely } from './states.js';

const svg = (tag, props, ...children) => el(`svg:${tag}`, props, ...children);
const text = (x, y, content, props) => svg('text', { x, y, ...props }, content);
const hatch = () => svg('pattern', { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse',
  patternTransform: 'rotate(45)' }, svg('rect', { width: 6, height: 6, class: 'hatch-ground' }),
svg('line', { y2: 6, class: 'hatch-line' }));

/* A card with a chart. of(): what the chart is made of, worked out at each drawing, or what stands
 * instead of one: {draw(width), finding, legend, head, rows}. draw answers the height and what is in
 * it; finding: its title; legend [[class, words]]; rows: a table's; headline: what stands above it. */
export const chartCard = ({ title, of }) => el(ChartCard, { title, of });

function ChartCard({ title, of }) {
  const [asTable, show] = useState(false);
  const made = safely(of);
  const chart = made.draw;
  return card({
    title, beside: chart && el('button', {
      type: 'button', class: 'button small plain', 'aria-pressed': String(asTable),
      onclick: () => show(!asTable),
    }, t('chart.table')),
  }, el('div', { class: 'stack' }, !chart ? made
    : [made.headline,
      asTable ? asRows(made) : [el(Drawing, made), made.legend && legendOf(made.legend)]]));
}

const asRows = ({ finding, head, rows }) => el('table', { class: 'table' },
  el('caption', { class: 'unseen' }, finding),
  el('thead', null, el('tr', null, head.map((one) => el('th', { scope: 'col' }, one)))),
  el('tbody', null, rows.map(([first, ...rest]) => el('tr', null, el('th', { scope: 'row' }, first),
    rest.map((cell, i) => el('td', { 'data-label': head[i + 1] }, cell))))));

const legendOf = (legend) => el('div', { class: 'legend' }, legend.map(([kind, words]) => el('span', null,
  svg('svg', { 'aria-hidden': 'true', class: 'chart' }, kind.startsWith('curve')
    ? svg('line', { x2: 24, y1: 6, y2: 6, class: kind })
    : svg('rect', { width: 24, height: 12, class: kind })), words)));

/* At the width of its place in pixels, so that text keeps its size. */
function Drawing({ draw, finding }) {
  const host = useRef(), [width, measured] = useState(0);
  useLayoutEffect(() => {
    const watching = new ResizeObserver(([entry]) => {
      if (entry.contentRect.width) measured(Math.round(entry.contentRect.width));
    });
    watching.observe(host.current);
    return () => watching.disconnect();
  }, []);
  return el('div', { ref: host }, width > 0 && safely(() => {
    const [height, ...content] = draw(width);
    return svg('svg', { class: 'chart', role: 'img', width, height, 'aria-label': finding },
      svg('title', null, finding), svg('defs', null, hatch()), content);
  }));
}

const mid = (x, y, content, kind) => text(x, y, typeof content === 'number' ? number(content) : content,
  { 'text-anchor': 'middle', class: kind });

/* The least of 1, 2, 5, 10, 20, 50 … that is as large: what people count in. */
function roundStep(least) {
  const ten = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((one) => one * ten).find((one) => one >= least);
}

/* Two bars each: items [{label, one, two, open, none}]; open: not over yet, none: words instead. */
export const paired = (items) => (width) => {
  const most = Math.max(1, ...items.flatMap((one) => [one.one ?? 0, one.two ?? 0]));
  const step = roundStep(most / 4), top = Math.ceil(most / step) * step, height = 150;
  const ticks = Array.from({ length: top / step + 1 }, (_, i) => i * step);
  const left = 14 + 7 * number(top).length; // as wide as its widest number
  const slot = (width - left) / items.length, bar = Math.min(18, slot * 0.34);
  const at = (value) => 12 + height - (value / top) * height;
  return [height + 40,
    ticks.map((tick) => [svg('line', { class: tick ? 'grid-line' : 'axis', x1: left, x2: width,
      y1: at(tick), y2: at(tick) }),
    text(left - 6, at(tick) + 4, number(tick), { 'text-anchor': 'end', class: 'soft' })]),
    items.map((item, i) => {
      const x = left + slot * i + slot / 2;
      const one = (value, kind, to) => value > 0 && svg('rect', { x: to, y: at(value), width: bar,
        height: 12 + height - at(value), class: `${kind}${item.open ? ' outline' : ''}` });
      return [one(item.one, 'one', x - bar - 1), one(item.two, 'two', x + 1),
        (slot > 34 || i % 2 === (items.length - 1) % 2)
          && mid(x, height + 32, item.label, item.open ? 'strong' : 'soft')];
    })];
};

/* Lines on a logarithmic axis of milliseconds: marks [[ms, words]], hours [{label, values[]}]. */
export const logLines = (hours, marks, kinds) => (width) => {
  const height = 130, left = 44, low = Math.log10(marks[0][0]), high = Math.log10(marks.at(-1)[0]);
  const y = (ms) => 10 + height * (1 - (Math.min(high, Math.max(low, Math.log10(ms || 1))) - low)
    / (high - low));
  const x = (i) => left + 4 + ((width - left - 12) * i) / Math.max(1, hours.length - 1);
  const path = (k) => hours.map((hour, i) => (hour.values[k] > 0
    ? `${i && hours[i - 1].values[k] > 0 ? 'L' : 'M'}${x(i).toFixed(1)} ${y(hour.values[k]).toFixed(1)}h.01`
    : '')).join('');
  return [height + 36,
    marks.map(([ms, words]) => [
      svg('line', { class: 'grid-line', x1: left, x2: width, y1: y(ms), y2: y(ms) }),
      text(left - 6, y(ms) + 4, words, { 'text-anchor': 'end', class: 'soft' })]),
    kinds.map((kind, k) => svg('path', { class: kind, d: path(k), 'stroke-linecap': 'round' })),
    hours.map((hour, i) => i % 6 === 5 && text(x(i), height + 30, hour.label,
      { class: 'soft', 'text-anchor': i === hours.length - 1 ? 'end' : 'middle' }))];
};

/* An age against its interval, with marks at 1 x and 3 x. The page knows the server's clock to the
 * second only: data that look newer than it have age 0. */
export const gauge = (share, tone) => svg('svg', { class: `chart gauge ${tone}`, viewBox: '0 0 100 10',
  preserveAspectRatio: 'none', 'aria-hidden': 'true' },
svg('rect', { class: 'trough', width: 100, height: 10 }),
svg('rect', { class: 'level', width: Math.max(0, Math.min(100, share * 25)), height: 10 }),
[25, 75].map((at) => svg('line', { class: 'mark', x1: at, x2: at, y2: 10 })));
