'use strict';
// What the scripts of all pages share.
const berth = (() => {
  const json = (id) => JSON.parse(document.getElementById(id).textContent);
  const css = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const count = (n) => Math.round(n).toLocaleString('en-US');
  const percent = (share, digits = 2) => (100 * share).toFixed(digits) + ' %';

  // Colours live in the style sheet. Whoever draws with them draws again when they change: for a
  // dark screen, and for paper, which is light.
  const drawers = [];
  const redraw = () => drawers.forEach((draw) => draw());
  const onTheme = (draw) => { drawers.push(draw); draw(); };
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  const onPaper = (paper) => () => {
    document.documentElement.classList.toggle('print', paper);
    redraw();
  };
  window.addEventListener('beforeprint', onPaper(true));
  window.addEventListener('afterprint', onPaper(false));

  // Eight colours; after them the same ones dashed, then dotted.
  const dashes = [[], [7, 3], [2, 3]];
  const style = (index) => ({
    color: () => css('--c' + index % 8),
    dash: dashes[Math.floor(index / 8) % dashes.length],
  });

  const element = (tag, attributes, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const swatch = (style) => {
    const space = 'http://www.w3.org/2000/svg';
    const svg = document.createElementNS(space, 'svg');
    const line = document.createElementNS(space, 'line');
    for (const [name, value] of [['width', 26], ['height', 10], ['aria-hidden', true]]) {
      svg.setAttribute(name, value);
    }
    for (const [name, value] of [['x1', 0], ['x2', 26], ['y1', 5], ['y2', 5],
      ['stroke-width', 3], ['stroke-dasharray', style.dash.join(' ')]]) {
      line.setAttribute(name, value);
    }
    onTheme(() => line.setAttribute('stroke', style.color()));
    svg.append(line);
    return svg;
  };

  // A legend of buttons, so that it works without a mouse. items: {key, label, style, shown, main}.
  const chips = (box, items, changed) => {
    const shown = new Set(items.filter((item) => item.shown).map((item) => item.key));
    const buttons = new Map();
    const update = () => {
      buttons.forEach((button, key) => button.setAttribute('aria-pressed', shown.has(key)));
      changed(shown);
    };
    for (const item of items) {
      const button = element('button', {type: 'button', class: 'chip'}, swatch(item.style),
        element('span', {}, item.label));
      if (item.title) button.title = item.title;
      button.addEventListener('click', () => {
        if (!shown.delete(item.key)) shown.add(item.key);
        update();
      });
      buttons.set(item.key, button);
      box.append(button);
    }
    const sets = [['all', () => true], ['main', (item) => item.shown], ['none', () => false]];
    for (const [name, wanted] of sets) {
      const button = element('button', {type: 'button', class: 'no-print'}, name);
      button.addEventListener('click', () => {
        shown.clear();
        items.filter(wanted).forEach((item) => shown.add(item.key));
        update();
      });
      box.append(button);
    }
    update();
    return shown;
  };

  const axis = (title, more) => Object.assign({
    title: {display: true, text: title, color: css('--soft')},
    grid: {color: css('--line')},
    ticks: {color: css('--soft')},
  }, more);

  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

  return {json, css, count, percent, onTheme, style, element, chips, axis, bytes};
})();
