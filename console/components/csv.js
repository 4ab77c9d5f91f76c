// Owns reading of CSV as people have it: Excel's semicolons, tabs, byte order marks, quotes, and the
// code page of Windows. Knows no column.

/* The text of a file: UTF-16 with its mark, UTF-8, else what Excel writes in western Europe. */
export async function textOf(file) {
  const bytes = await file.arrayBuffer();
  const [first, second] = new Uint8Array(bytes, 0, Math.min(2, bytes.byteLength));
  if (first + second === 0x1FD) return new TextDecoder(first === 0xFF ? 'utf-16le' : 'utf-16be').decode(bytes);
  try { return new TextDecoder('utf-8', { fatal: true }).decode(bytes); } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

/* The sign that stands most often in the first line, outside of quotes. */
function separatorOf(text) {
  const first = text.replace(/"[^"]*"/g, '').split(/\r?\n/, 1)[0];
  const count = (sign) => first.split(sign).length;
  return [';', ',', '\t'].reduce((best, sign) => (count(sign) > count(best) ? sign : best));
}

/* [{line, cells}], empty lines left out; line counts from 1, as an editor shows it. */
export function parseCsv(given) {
  const marked = given.replace(/^\uFEFF/, '');
  const said = marked.match(/^"?sep=([;,\t])"?\r?\n/i); // as Excel takes it
  const text = said ? marked.slice(said[0].length) : marked;
  const separator = said?.[1] ?? separatorOf(text);
  const rows = [];
  let cells = [''], line = said ? 2 : 1, begun = line, quoted = false;
  const end = () => {
    if (cells.some((cell) => cell.trim())) rows.push({ line: begun, cells: cells.map((cell) => cell.trim()) });
    cells = [''];
  };
  for (let i = 0; i < text.length; i++) {
    const sign = text[i];
    const last = cells.length - 1;
    if (sign === '\n') line++;
    if (quoted) {
      if (sign !== '"') cells[last] += sign;
      else if (text[i + 1] === '"') { cells[last] += '"'; i++; } else quoted = false;
    } else if (sign === '"' && !cells[last].trim()) { cells[last] = ''; quoted = true; }
    else if (sign === separator) cells.push('');
    else if (sign === '\n') { end(); begun = line; }
    else if (sign !== '\r') cells[last] += sign;
  }
  end();
  return rows;
}

/* 128 bits of a text, as hexadecimal digits: the same text has the same, on any day. */
export function digest(text) {
  const parts = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f];
  for (let i = 0; i < text.length; i++) {
    for (let k = 0; k < 4; k++) {
      parts[k] = Math.imul(parts[k] ^ (text.charCodeAt(i) + 31 * k), 0x01000193 + 2 * k);
      parts[k] ^= parts[k] >>> 13 + k;
    }
  }
  return parts.map((part) => (part >>> 0).toString(16).padStart(8, '0')).join('');
}
