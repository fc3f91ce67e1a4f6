'use strict';
(() => {
  const data = berth.json('curve-data');
  const maps = berth.json('curve-maps');
  const by = (id) => document.getElementById(id);
  const units = data.trace.units;
  const share = (slots) =>
    (100 * slots / units).toFixed(slots === 0 ? 0 : slots < units / 10 ? 2 : 1) + ' %';
  const slotsText = (slots) =>
    `${berth.count(slots)} slot${slots === 1 ? '' : 's'} (${share(slots)} of the units)`;

  // What is shown at first: LRU, whatever is best somewhere, and the bound.
  const best = data.sizes.map((size) => size.best_online);
  const firstBound = data.policies.findIndex((policy) => policy.bound);
  const isMain = (policy, i) =>
    policy.name === 'lru' || best.includes(policy.name) || i === firstBound;
  const distance = (size) => Math.abs(size.slots - units / 2);
  const half = data.sizes.reduce((nearest, size, i) =>
    distance(size) < distance(data.sizes[nearest]) ? i : nearest, 0);

  // Bounds are drawn in the colour of text and dashed, policies in colours of their own: those that
  // are shown at first get the first ones, which are easiest to tell apart.
  const online = data.policies.filter((policy) => !policy.bound);
  const ranked = [...online.filter(isMain), ...online.filter((policy) => !isMain(policy))];
  const boundDashes = [[6, 4], [2, 3], [9, 3, 2, 3]];
  let bounds = 0;
  const styles = data.policies.map((policy) => policy.bound
    ? {color: () => berth.css('--bound'), dash: boundDashes[bounds++ % 3]}
    : berth.style(ranked.indexOf(policy)));
  const items = (main) => data.policies.map((policy, i) => ({
    key: i, label: policy.name + (policy.bound ? ' (bound)' : ''), title: policy.summary,
    style: styles[i], shown: main(policy, i),
  }));
  const missText = (point) => `${berth.percent(point.misses / point.lookups)}: ` +
    `${berth.count(point.misses)} of ${berth.count(point.lookups)} look-ups`;

  // ---- The curve
  const lruIndex = data.policies.findIndex((policy) => policy.name === 'lru');
  const lineIsLru = lruIndex >= 0 && !data.request.preload;
  const linePoints = () => {
    const {first_slots: first, stride, misses} = data.lru_curve;
    const step = Math.max(1, Math.floor(misses.length / 500));
    const points = [];
    for (let i = 0; i < misses.length; ++i) {
      if (i % step !== 0 && i !== misses.length - 1) continue;
      points.push({x: first + i * stride, y: 100 * misses[i] / data.lookups, misses: misses[i],
        lookups: data.lookups});
    }
    return points;
  };
  const datasets = data.policies.map((policy, i) => ({
    label: policy.name, policy: i, showLine: !(lineIsLru && i === lruIndex),
    data: policy.points.map((point, s) => ({
      x: data.sizes[s].slots, y: 100 * point.misses / point.lookups, misses: point.misses,
      lookups: point.lookups})),
    borderDash: styles[i].dash, borderWidth: policy.bound ? 2.5 : 2, pointRadius: 3,
    pointHitRadius: 8, tension: 0,
  }));
  datasets.push({
    label: lineIsLru ? 'lru' : data.request.preload ? 'lru, not preloaded' : 'lru, every size', policy: lruIndex, data: linePoints(),
    borderWidth: 1.5, borderDash: styles[lruIndex] ? styles[lruIndex].dash : [],
    pointRadius: 0, pointHitRadius: 4, tension: 0,
  });
  const logTick = (value) => {
    const digit = Math.round(value / 10 ** Math.floor(Math.log10(value)));
    return digit === 1 || digit === 2 || digit === 5;
  };
  const xAxis = () => {
    const log = by('scale-log').checked;
    return berth.axis('slots (and % of all units)', {
      type: log ? 'logarithmic' : 'linear', min: log ? data.lru_curve.first_slots : 0, max: units,
      ticks: {color: berth.css('--soft'), maxRotation: 0, autoSkipPadding: 12,
        callback: (value) => log && !logTick(value) ? '' : [berth.count(value), share(value)]},
    });
  };
  const curve = new Chart(by('curve-chart'), {
    type: 'line',
    data: {datasets},
    options: {
      maintainAspectRatio: false, animation: false, parsing: false, normalized: true,
      interaction: {mode: 'nearest', axis: 'xy', intersect: false},
      plugins: {
        legend: {display: false},
        tooltip: {callbacks: {
          title: (points) => points.length > 0 ? slotsText(points[0].parsed.x) : '',
          label: (point) => `${point.dataset.label}: ${missText(point.raw)}`,
        }},
      },
    },
  });
  const drawCurve = () => {
    curve.data.datasets.forEach((dataset) => {
      const style = styles[dataset.policy];
      const color = style ? style.color() : berth.css('--soft');
      Object.assign(dataset, {borderColor: color, backgroundColor: color});
    });
    curve.options.scales = {
      x: xAxis(),
      y: berth.axis('misses (% of look-ups)', {beginAtZero: true, suggestedMax: 10}),
    };
    curve.update();
  };
  berth.onTheme(drawCurve);
  for (const id of ['scale-linear', 'scale-log']) by(id).addEventListener('change', drawCurve);
  berth.chips(by('curve-legend'), items(isMain), (shown) => {
    curve.data.datasets.forEach((dataset, i) => {
      const always = dataset.policy < 0 || (i === data.policies.length && !lineIsLru);
      curve.setDatasetVisibility(i, always || shown.has(dataset.policy));
    });
    curve.update();
  });

  // ---- The residency map
  const blockOf = (layer) => data.trace.layer_ids.length > 0 ? data.trace.layer_ids[layer] : layer;
  const {layers, experts} = data.trace;
  const canvas = by('map');
  const state = {values: [], order: [], layer: 0, column: 0};
  const mix = (a, b, t) => a.map((from, i) => Math.round(from + (b[i] - from) * t));
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const ramp = () => {
    const [low, mid, high] = ['--map-low', '--map-mid', '--map-high'].map((n) => rgb(berth.css(n)));
    return Array.from({length: 256}, (_, i) =>
      i < 128 ? mix(low, mid, i / 128) : mix(mid, high, (i - 128) / 127));
  };
  const cell = {w: 1, h: 1, left: 46, top: 4};
  const loadMap = () => {
    const map = maps[Number(by('map-choice').value)];
    state.values = berth.bytes(map.shares);
    const sorted = by('map-sort').checked;
    state.order = Array.from({length: layers}, (_, layer) => {
      const row = Array.from({length: experts}, (_, expert) => expert);
      const value = (expert) => state.values[layer * experts + expert];
      return sorted ? row.sort((a, b) => value(b) - value(a) || a - b) : row;
    });
  };
  const drawMap = () => {
    cell.w = Math.max(1, Math.floor(980 / experts));
    cell.h = Math.min(14, Math.max(4, Math.floor(560 / layers)));
    canvas.width = cell.left + cell.w * experts;
    canvas.height = cell.top + cell.h * layers + 20;
    const context = canvas.getContext('2d');
    const colors = ramp();
    for (let layer = 0; layer < layers; ++layer) {
      for (let column = 0; column < experts; ++column) {
        const value = state.values[layer * experts + state.order[layer][column]];
        context.fillStyle = `rgb(${colors[value].join(',')})`;
        context.fillRect(cell.left + column * cell.w, cell.top + layer * cell.h, cell.w, cell.h);
      }
    }
    context.fillStyle = berth.css('--soft');
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'right';
    const every = Math.ceil(14 / cell.h);
    for (let layer = 0; layer < layers; layer += every) {
      context.fillText(blockOf(layer), cell.left - 5, cell.top + layer * cell.h + Math.min(cell.h, 10));
    }
    context.textAlign = 'left';
    const below = cell.top + cell.h * layers + 14;
    context.fillText('block', 2, below);
    context.fillText(by('map-sort').checked ? 'experts, the most resident first' :
      `expert 0 to ${experts - 1}`, cell.left, below);
  };
  const readOut = () => {
    const expert = state.order[state.layer][state.column];
    const value = state.values[state.layer * experts + expert] / 255;
    by('map-readout').textContent = `block ${blockOf(state.layer)}, expert ${expert}: resident ` +
      `when ${berth.percent(value, 0)} of the layer's steps began`;
  };
  const moveTo = (layer, column) => {
    state.layer = Math.min(layers - 1, Math.max(0, layer));
    state.column = Math.min(experts - 1, Math.max(0, column));
    readOut();
  };
  const newMap = () => { loadMap(); drawMap(); readOut(); };
  if (maps.length > 0) {
    maps.forEach((map, i) => by('map-choice').append(berth.element('option', {value: i},
      `${data.policies[map.policy].name} at ${slotsText(data.sizes[map.size].slots)}`)));
    canvas.addEventListener('mousemove', (event) => {
      const box = canvas.getBoundingClientRect();
      const x = (event.clientX - box.left) * canvas.width / box.width - cell.left;
      const y = (event.clientY - box.top) * canvas.height / box.height - cell.top;
      moveTo(Math.floor(y / cell.h), Math.floor(x / cell.w));
    });
    const arrows = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    canvas.addEventListener('keydown', (event) => {
      const arrow = arrows[event.key];
      if (!arrow) return;
      event.preventDefault();
      moveTo(state.layer + arrow[0], state.column + arrow[1]);
    });
    for (const id of ['map-choice', 'map-sort']) by(id).addEventListener('change', newMap);
    loadMap();
    berth.onTheme(drawMap);
    readOut();
  }

  // ---- Layers
  const layerChart = new Chart(by('layer-chart'), {
    type: 'bar',
    data: {
      labels: Array.from({length: layers}, (_, layer) => String(blockOf(layer))),
      datasets: data.policies.map((policy, i) => ({label: policy.name, policy: i, data: []})),
    },
    options: {
      maintainAspectRatio: false, animation: false,
      interaction: {mode: 'index', intersect: false},
      plugins: {
        legend: {display: false},
        tooltip: {callbacks: {
          title: (bars) => bars.length > 0 ? `block ${bars[0].label}` : '',
          label: (bar) => {
            const size = Number(by('layer-size').value);
            return `${bar.dataset.label}: ` + missText({
              misses: data.policies[bar.dataset.policy].points[size].layer_misses[bar.dataIndex],
              lookups: data.layer_lookups[bar.dataIndex]});
          },
        }},
      },
    },
  });
  const rate = (misses, layer) =>
    data.layer_lookups[layer] > 0 ? 100 * misses / data.layer_lookups[layer] : 0;
  const drawLayers = () => {
    const size = Number(by('layer-size').value);
    layerChart.data.datasets.forEach((dataset) => {
      const color = styles[dataset.policy].color();
      dataset.data = data.policies[dataset.policy].points[size].layer_misses.map(rate);
      Object.assign(dataset, {backgroundColor: color, borderColor: color});
    });
    layerChart.options.scales = {
      x: berth.axis('block'),
      y: berth.axis('misses (% of the layer\'s look-ups)', {beginAtZero: true}),
    };
    layerChart.update();
    fillLayerTable(size);
  };
  const fillLayerTable = (size) => {
    const cells = (tag, texts) => berth.element('tr', {}, ...texts.map((text, i) =>
      berth.element(i === 0 ? 'th' : tag, {}, text)));
    const rows = data.layer_lookups.map((lookups, layer) => cells('td', [
      String(blockOf(layer)), berth.count(lookups),
      ...data.policies.map((policy) => rate(policy.points[size].layer_misses[layer], layer)
        .toFixed(2))]));
    by('layer-table').replaceChildren(
      berth.element('thead', {}, cells('th', ['block', 'look-ups',
        ...data.policies.map((policy) => policy.name + ' (miss %)')])),
      berth.element('tbody', {}, ...rows));
  };
  data.sizes.forEach((size, i) => by('layer-size').append(
    berth.element('option', {value: i}, slotsText(size.slots))));
  by('layer-size').value = String(half);
  berth.onTheme(drawLayers);
  by('layer-size').addEventListener('change', drawLayers);
  berth.chips(by('layer-legend'),
    items((policy, i) => policy.name === 'lru' || policy.name === best[half] || i === firstBound),
    (shown) => {
      layerChart.data.datasets.forEach((dataset, i) =>
        layerChart.setDatasetVisibility(i, shown.has(dataset.policy)));
      layerChart.update();
    });

  by('chart-version').textContent = `Chart.js ${Chart.version}`;
})();
