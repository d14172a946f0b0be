// Values as people read them.
import { language } from './words.js';
import { h, put } from './dom.js';

const NAME_LONGEST = 80;

// Shows control characters, and characters that turn the direction of a text, as codes.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function visible(text) {
  return text.replace(UNSEEN, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

// Names and payloads are texts, or {"base64": "..."} when they are not UTF-8.
export function textOf(value) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'object') return 'base64' in value ? 'base64:' + value.base64 : JSON.stringify(value);
  return String(value);
}

export function cut(text, longest = NAME_LONGEST) {
  return text.length > longest ? text.slice(0, longest) + '…' : text;
}

// A name in a page: isolated, so that it cannot turn the text around it.
export function nameNode(value) {
  const bare = visible(textOf(value)), text = /^ +$/.test(bare) ? `“${bare}”` : bare; // spaces alone cannot be seen
  return h('bdi', { title: text.length > NAME_LONGEST ? cut(text, 1000) : null }, cut(text));
}

// A name in an address: "~" is the mark of base64.
export function nameToPath(value) {
  if (typeof value === 'object') return encodeURIComponent('~' + value.base64);
  return encodeURIComponent(value.startsWith('~') ? '~' + value : value);
}

export function nameFromPath(part) {
  if (part.startsWith('~~')) return part.slice(1);
  return part.startsWith('~') ? { base64: part.slice(1) } : part;
}

export function count(number) {
  return number === null || number === undefined ? '–' : number.toLocaleString(language());
}

export function rate(number) {
  if (number === null || number === undefined) return '–';
  return number.toLocaleString(language(), { maximumFractionDigits: number < 100 ? 1 : 0 });
}

export function decimal(number) {
  if (number === null || number === undefined) return '–';
  return number.toLocaleString(language(), { maximumSignificantDigits: 4 });
}

export function percent(share) {
  if (share === null || share === undefined) return '–';
  return share.toLocaleString(language(), { style: 'percent', maximumFractionDigits: 1 });
}

export function bytes(number) {
  if (number === null || number === undefined) return '–';
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit++;
  }
  return number.toLocaleString(language(), { maximumFractionDigits: number < 10 && unit > 0 ? 1 : 0 }) + ' ' + units[unit];
}

// "250 ms", "1.5 s", "3m 20s", "2h 5m", "4d 1h"
export function duration(ms) {
  if (ms === null || ms === undefined) return '–';
  if (ms < 0) return '-' + duration(-ms);
  if (ms < 1000) return Math.round(ms) + ' ms';
  const seconds = ms / 1000;
  if (seconds < 60) return (seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)) + ' s';
  const steps = [[86400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']];
  const first = steps.findIndex(([size]) => seconds >= size);
  const [size, unit] = steps[first], [next, nextUnit] = steps[first + 1];
  const whole = Math.floor(seconds / size), rest = Math.floor((seconds % size) / next);
  return whole + unit + (rest > 0 ? ' ' + rest + nextUnit : '');
}

// "in 3 minutes"
function distance(text) {
  const away = (Date.parse(text) - Date.now()) / 1000;
  const [size, unit] = [[86400, 'day'], [3600, 'hour'], [60, 'minute'], [0, 'second']]
    .find(([seconds]) => Math.abs(away) >= seconds);
  const words = new Intl.RelativeTimeFormat(language(), { numeric: 'auto' });
  return words.format(Math.round(away / (size || 1)), unit);
}

// How far away a moment is; the exact time on hover.
export function timeNode(text) {
  if (!text) return '–';
  return h('time', { datetime: text, title: new Date(text).toLocaleString(language()) + '\n' + text }, distance(text));
}

// Updates the times on the screen.
export function refreshTimes() {
  for (const node of document.querySelectorAll('time')) put(node, distance(node.dateTime));
}

const SECRET = '[^"=&\\s]*(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|private[_-]?key|authorization|cookie|cvv|cvc)[^"=&\\s]*';
const SECRET_IN_JSON = new RegExp(`("${SECRET}"\\s*:\\s*)("(?:[^"\\\\]|\\\\.)*"?|\\[[^\\]]*\\]?|\\{[^}]*\\}?|[^,}\\]\\s]+)`, 'gi');
const SECRET_IN_FORM = new RegExp(`((?:^|[?&\\s])${SECRET}=)([^&\\s]+)`, 'gi');

// A text in which the values of fields that sound like secrets are covered.
export const masked = (text) => text.replace(SECRET_IN_JSON, '$1"•••"').replace(SECRET_IN_FORM, '$1•••');

// JSON in lines with indentation, until they are longer than `longest`. The text may end anywhere, and
// its numbers and strings stay as they are.
const TOKEN = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/gs;

function indented(text, longest) {
  let made = '', depth = 0, before = '';
  for (const [token] of text.matchAll(TOKEN)) {
    const isEnd = token === '}' || token === ']', isEmpty = isEnd && (before === '{' || before === '[');
    if (isEnd) depth--;
    if ((isEnd && !isEmpty) || before === ',' || (!isEnd && (before === '{' || before === '['))) made += '\n' + '  '.repeat(Math.max(depth, 0));
    made += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth++;
    if (made.length > longest) break;
    before = token;
  }
  return made;
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// Lays out a payload, and cuts it: JSON with indentation, anything else as it is. `isCut`: it is
// only the beginning of a payload.
export function layOut(value, { longest = 4096, masks = true, isCut = false } = {}) {
  let text = textOf(value);
  if (/^\s*[{[]/.test(text) && (isCut ? /^\s*(\{\s*"|\[\s*["{[\d])/.test(text) : isJson(text))) text = indented(text, longest);
  text = text.length > longest || isCut ? text.slice(0, longest) + '…' : text;
  return visible(masks ? masked(text) : text);
}
