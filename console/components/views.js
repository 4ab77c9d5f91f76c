// Owns saved views of lists: addresses with a name, which this browser remembers for a company.
import { bdi, redraw, remembered } from '../dom.js';
import { t } from '../format.js';
import { href, parse } from '../router.js';
import { formDialog } from './form-dialog.js';
import { field, required } from './form.js';

const place = () => { const { company, page, id } = parse(); return [company, page, id].filter(Boolean).join('/'); };
const stored = () => remembered('views')?.[place()] || [];
const store = (views) => remembered('views', { ...remembered('views'), [place()]: views });
const address = ({ query }) => href(parse().page, parse().id, query);

async function save() {
  const { query } = parse();
  const name = await formDialog({
    title: t('lists.save'), submit: t('lists.saveGo'),
    fields: [field({ name: 'view', label: t('hire.name'), max: 60 })],
    check: (values) => required(values, 'view'), run: ({ view }) => view,
  });
  if (!name) return;
  store([...stored().filter((one) => one.name !== name), { name, query }]);
  redraw();
}

/* Items of a menu: each view of this list, then what can be done with the one that stands. */
export function viewItems() {
  const here = stored().find((one) => address(one) === location.hash);
  return [
    ...stored().map((one) => ({ label: bdi(one.name), href: address(one), current: one === here })),
    { label: t('lists.save'), icon: 'add', run: save },
    here && { label: t('lists.forget', { name: here.name }), icon: 'failed', kind: 'bad', run: () => {
      store(stored().filter((one) => one !== here));
      redraw();
    } },
  ].filter(Boolean);
}
