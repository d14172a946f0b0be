// Elements. All text goes in as text: nothing here, or anywhere in web/, makes HTML from strings.

// h('a', {class: 'name', href: '#/queues', onclick: open}, 'Queues'): an element with attributes,
// listeners and children. Children are elements, texts, arrays of them; null and false are left out.
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// Makes an element of SVG in the same way.
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

// Makes these the children of an element. Children that are there already stay where they are, so
// that focus and selection survive; an equal text is left alone.
export function put(element, ...children) {
  const old = element.childNodes;
  const wanted = nodesOf(children).map((child, i) => {
    if (child instanceof Node) return child;
    const there = old[i];
    return there instanceof Text && there.data === String(child) ? there : new Text(child);
  });
  const kept = new Set(wanted);
  for (const child of [...old]) if (!kept.has(child)) child.remove();
  wanted.forEach((child, i) => {
    if (old[i] !== child) element.insertBefore(child, old[i] ?? null);
  });
  return element;
}
