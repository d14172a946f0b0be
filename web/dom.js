// Elements. All text goes in as text: nothing here, or anywhere in web/, makes HTML from strings.

// h('a', {class: 'name', href: '#/queues', onclick: open}, 'Queues'): an element with attributes,
// listeners and children. Children are elements, texts, arrays of them; null and false are left out.
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// The same for SVG.
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value') element.value = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...nodesOf(children));
  return element;
}

function nodesOf(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

// Replaces all children.
export function put(element, ...children) {
  element.replaceChildren(...nodesOf(children));
  return element;
}
