"use strict";
// The page's data is in the element "data"; nothing is loaded.  Text from traces goes in as text,
// never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const style = getComputedStyle(document.documentElement);
const color = (name) => style.getPropertyValue(name).trim();

function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "rect", "line", "title"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((c) => c !== null && c !== undefined));
  return element;
}

function time(ns) {
  if (ns === undefined || ns === null) return "–";
  const size = Math.abs(ns);
  if (size >= 1e9) return (ns / 1e9).toFixed(2) + " s";
  if (size >= 1e6) return (ns / 1e6).toFixed(size >= 1e8 ? 0 : size >= 1e7 ? 1 : 2) + " ms";
  if (size >= 1e3) return (ns / 1e3).toFixed(size >= 1e5 ? 0 : 1) + " µs";
  return Math.round(ns) + " ns";
}
const count = (n) => n.toLocaleString("en");
// layer.2 before layer.10.
const byName = (a, b) => a.localeCompare(b, "en", { numeric: true });
const total = (engine, column) => engine.phases[column]?.total_ns ?? 0;

// Phases in the table's order; the whole call and device time are not parts of the bar.
const phaseColor = new Map(data.phases.map((phase, i) => [phase.column, `--p${i}`]));
const parts = data.phases.filter((phase) => phase.host_time && phase.column !== "total");

// --- a table whose headings sort --------------------------------------------------------------

// columns: {title, text?, value(row), cell(row)?}; rows are objects.  `key`: the column that they
// are sorted by at first, downwards; none: as they come.
function sortable(table, columns, rows, { afterRow, key = null } = {}) {
  let down = true;
  function draw() {
    const ordered = [...rows()];
    if (key !== null) {
      const value = columns[key].value;
      ordered.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        const order = typeof x === "string" ? byName(x, y) : x - y;
        return down ? -order : order;
      });
    }
    const head = make("tr", {}, ...columns.map((column, i) => {
      const sorted = i === key ? (down ? "descending" : "ascending") : null;
      const cell = make("th", { scope: "col", "data-key": i, "aria-sort": sorted, class: column.text ? "text" : column.bar ? "bar" : null, tabindex: 0 }, column.title);
      const sort = () => { [key, down] = [i, key === i ? !down : !column.text]; draw(); };
      cell.addEventListener("click", sort);
      cell.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
      return cell;
    }));
    const body = ordered.map((row) => {
      const line = make("tr", {}, ...columns.map((column) => {
        const content = column.cell ? column.cell(row) : column.value(row);
        return make("td", { class: column.text ? "text" : column.bar ? "bar" : null }, content ?? "–");
      }));
      afterRow?.(line, row, columns.length);
      return line;
    });
    table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
  }
  draw();
  return draw;
}

// --- summary, findings, engines ---------------------------------------------------------------

function drawSummary() {
  const calls = data.engines.reduce((n, e) => n + (e.phases.total?.count ?? 0), 0);
  const host = data.engines.reduce((n, e) => n + total(e, "total"), 0);
  const gpu = data.engines.reduce((n, e) => n + total(e, "gpu"), 0);
  const dropped = data.engines.reduce((n, e) => n + e.dropped, 0);
  const cards = [[count(data.engines.length), "engines"], [count(calls), "calls"], [time(host), "host time in calls"]];
  if (gpu > 0) cards.push([time(gpu), "device time measured"]);
  cards.push([count(dropped), "spans dropped"]);
  byId("summary").append(...cards.map(([value, label]) => make("div", {}, make("b", {}, value), make("span", {}, label))));
  const processes = data.processes.map((p) => {
    const started = p.started_ns === null ? "" : ", from " + new Date(p.started_ns / 1e6).toISOString().replace("T", " ").slice(0, 19) + " UTC";
    return `${p.name || "process"} ${p.pid} on ${p.host}${started}`;
  });
  byId("subtitle").textContent = `${data.source}: ${processes.join("; ")}`;
  byId("footer").textContent = `Made by trtscope ${data.version} on ${data.made} from ${data.files.length} trace files.`;
}

function drawFindings() {
  const list = byId("findings");
  if (data.findings.length === 0) {
    list.append(make("li", { class: "fine" }, "Nothing stands out by the rules that this report knows."));
    return;
  }
  // Engines that have the same to say, in different numbers, are one entry with the worst first.
  const groups = new Map();
  for (const finding of data.findings) {
    groups.set(finding.rule, [...(groups.get(finding.rule) ?? []), finding]);
  }
  for (const group of groups.values()) {
    const others = group.slice(1).map((f) => f.of);
    const names = others.length ? `${group[0].of}; likewise ${others.slice(0, 6).join(", ")}${others.length > 6 ? ` and ${others.length - 6} more` : ""}` : group[0].of;
    list.append(make("li", {}, group[0].text, make("span", {}, names)));
  }
}

function drawEngines() {
  const most = Math.max(1, ...data.engines.map((e) => total(e, "total")));
  const used = parts.filter((p) => data.engines.some((e) => total(e, p.column) > 0));
  const square = (name) => make("i", { style: `background:var(${name})` });
  byId("legend").append(
    ...used.map((p) => make("span", {}, square(phaseColor.get(p.column)), p.column)),
    make("span", {}, square("--line"), "rest of the call"));
  const bar = (engine) => {
    const width = (ns) => `width:${(100 * ns / most).toFixed(2)}%`;
    const stack = make("div", { class: "stack", style: width(total(engine, "total")) });
    for (const part of used) {
      const share = 100 * total(engine, part.column) / Math.max(1, total(engine, "total"));
      if (share > 0) {
        stack.append(make("i", { style: `background:var(${phaseColor.get(part.column)});width:${share.toFixed(2)}%`, title: `${part.column}: ${time(total(engine, part.column))}` }));
      }
    }
    return stack;
  };
  const of = (column, field) => (e) => e.phases[column]?.[field] ?? 0;
  const columns = [
    { title: "engine", text: true, value: (e) => e.id },
    { title: "calls", value: of("total", "count"), cell: (e) => count(of("total", "count")(e)) },
    { title: "by phase", bar: true, value: of("total", "total_ns"), cell: bar },
  ];
  for (const [title, field] of [["total", "total_ns"], ["p50", "p50_ns"], ["p99", "p99_ns"]]) {
    columns.push({ title, value: of("total", field), cell: (e) => time(e.phases.total?.[field]) });
  }
  if (data.engines.some((e) => e.phases.gpu)) {
    columns.push({ title: "device p50", value: of("gpu", "p50_ns"), cell: (e) => time(e.phases.gpu?.p50_ns) });
  }
  columns.push({ title: "runs on", value: (e) => e.implementation });
  sortable(byId("engines"), columns, () => data.engines, { key: columns.findIndex((c) => c.title === "total") });
}

// Engines whose distributions are drawn, at most.
const DISTRIBUTIONS = 24;

function drawDistributions() {
  const width = 300, base = 68;
  const slowest = [...data.engines].sort((a, b) => total(b, "total") - total(a, "total")).slice(0, DISTRIBUTIONS);
  if (slowest.length < data.engines.length) {
    byId("distributions-note").textContent = ` The ${count(slowest.length)} engines with the most host time, of ${count(data.engines.length)}.`;
  }
  for (const engine of slowest) {
    for (const [column, bins] of Object.entries(engine.histograms)) {
      if (bins.counts.length === 0) continue;
      const svg = make("svg", { viewBox: `0 0 ${width} ${base}`, role: "img", preserveAspectRatio: "none" });
      const top = Math.max(...bins.counts), step = width / bins.counts.length;
      bins.counts.forEach((n, i) => {
        if (n === 0) return;
        const tall = Math.max(1, (base - 4) * n / top);
        const rect = make("rect", { x: (i * step).toFixed(2), y: (base - tall).toFixed(2), width: (step * 0.9).toFixed(2), height: tall.toFixed(2), fill: `var(${phaseColor.get(column)})` });
        rect.append(make("title", {}, `${time(bins.edges_ns[i])} to ${time(bins.edges_ns[i + 1])}: ${count(n)}`));
        svg.append(rect);
      });
      const low = Math.log(bins.edges_ns[0]), high = Math.log(bins.edges_ns.at(-1));
      const summary = engine.phases[column];
      for (const ns of [summary.p50_ns, summary.p99_ns]) {
        const x = width * (Math.log(ns) - low) / (high - low);
        svg.append(make("line", { x1: x, x2: x, y1: 0, y2: base, stroke: "var(--ink)", "stroke-width": 1, "stroke-dasharray": "3 2" }));
      }
      // Not in the drawing, which is stretched to the room that it has.
      const axis = make("div", { class: "axis" }, make("span", {}, time(bins.edges_ns[0])), make("span", {}, time(bins.edges_ns.at(-1))));
      const label = column === "gpu" ? "device time" : "host time";
      byId("distributions").append(make("figure", {}, svg, axis,
        make("figcaption", {}, make("b", {}, engine.id), `${label}, p50 ${time(summary.p50_ns)}, p99 ${time(summary.p99_ns)}`)));
    }
  }
}

// --- timeline ---------------------------------------------------------------------------------

const RULER = 18, TITLE = 17, ROW = 15, GAP = 6, FIELDS = 6;
// Pixels: rows are drawn no lower than this, and no canvas taller, which browsers leave blank.
const LEAST_ROW = 2, MOST_HEIGHT = 16000;
// Of a canvas on paper, to its width: a page's, less the headings above.  What is taller than a page
// covers what comes after it when Chromium prints it.
const PAPER_RATIO = 1.15;

function drawTimeline() {
  const { timeline } = data;
  const canvas = byId("timeline"), tip = byId("tip"), context = canvas.getContext("2d");
  byId("timeline-note").append(
    (timeline.every === 1
      ? `All ${count(timeline.all)} spans. `
      : `${count(timeline.shown)} of ${count(timeline.all)} spans: of one call in ${count(timeline.every)}, and of each engine's slowest. The figures elsewhere on this page are of all. `),
    make("span", { id: "timeline-rows" }),
    make("span", { class: "screen" }, "Wheel or + and - zoom, dragging and arrow keys move, a double click shows all."));
  const names = timeline.names, phases = new Map(data.phases.map((p) => [p.event, p.column]));
  const all = timeline.lanes;
  for (const lane of all) {
    // Ends by depth are in order too, since slices of one depth do not overlap: the longest slice
    // bounds how far back one that reaches into view can start.
    lane.longest = 0;
    for (let i = 0; i < lane.slices.length; i += FIELDS) lane.longest = Math.max(lane.longest, lane.slices[i + 3]);
  }
  // The lanes that have room, and how tall their rows and all of them are.
  let lanes = all, row = ROW, height = 0;
  function arrange(most) {
    const rows = all.reduce((n, lane) => n + lane.depth, 0);
    row = Math.min(ROW, Math.max(LEAST_ROW, (most - RULER - all.length * (TITLE + GAP)) / rows));
    lanes = [];
    height = RULER;
    for (const lane of all) {
      const bottom = height + TITLE + lane.depth * row + GAP;
      if (bottom > most + 1 && lanes.length > 0) break;
      lane.top = height;
      height = bottom;
      lanes.push(lane);
    }
    byId("timeline-rows").textContent = lanes.length === all.length ? "" : `The first ${count(lanes.length)} of ${count(all.length)} rows have room here. `;
  }
  let end = 1;
  for (const lane of all) {
    for (let i = 0; i < lane.slices.length; i += FIELDS) end = Math.max(end, lane.slices[i + 2] + lane.slices[i + 3]);
  }
  let from = 0, to = end, width = 0, queued = false, printing = false;

  const firstAt = (lane, start) => {
    let low = 0, high = lane.slices.length / FIELDS;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lane.slices[middle * FIELDS + 2] < start) low = middle + 1; else high = middle;
    }
    return low * FIELDS;
  };
  function visit(lane, see) {
    for (let i = firstAt(lane, from - lane.longest); i < lane.slices.length; i += FIELDS) {
      const start = lane.slices[i + 2];
      if (start > to) break;
      if (start + lane.slices[i + 3] >= from) see(i, start);
    }
  }
  function draw() {
    queued = false;
    const scale = width / (to - from);
    context.clearRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    // Asked for each time: paper has other colours than a dark screen.
    const faint = color("--faint"), line = color("--line"), panel = color("--panel");
    const colors = names.map((name) => color(phases.has(name) ? phaseColor.get(phases.get(name)) : "--layer"));
    // Marks at 1, 2 or 5 times a power of ten, some ten of them.
    const raw = (to - from) / 10, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
    context.fillStyle = faint;
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const x = (at - from) * scale;
      context.fillRect(x, 14, 1, 4);
      const label = time(at), room = width - context.measureText(label).width;
      context.fillText(label, Math.min(x + 3, room), 12);
    }
    for (const lane of lanes) {
      context.fillStyle = line;
      context.fillRect(0, lane.top, width, 1);
      context.fillStyle = faint;
      context.fillText(lane.title, 2, lane.top + 13);
      const painted = new Float64Array(lane.depth).fill(-1);
      visit(lane, (i, start) => {
        const depth = lane.slices[i + 5];
        const x = Math.max(0, (start - from) * scale);
        const right = Math.min(width, (start + lane.slices[i + 3] - from) * scale);
        if (right <= painted[depth] && right - x < 1) return;  // a pixel that is painted already
        const wide = Math.max(0.7, right - x);
        painted[depth] = x + wide;
        const y = lane.top + TITLE + depth * row;
        context.fillStyle = colors[lane.slices[i]];
        context.fillRect(x, y, wide, row > 4 ? row - 2 : row);
        if (wide > 42 && row > 10) {
          context.save();
          context.beginPath();
          context.rect(x, y, wide - 3, row);
          context.clip();
          context.fillStyle = panel;
          context.fillText(names[lane.slices[i]].replace("torchtrt.", ""), x + 3, y + 10);
          context.restore();
        }
      });
    }
  }
  const redraw = () => { if (!queued) { queued = true; requestAnimationFrame(draw); } };
  function resize() {
    const ratio = devicePixelRatio || 1;
    width = canvas.clientWidth;
    arrange(printing ? PAPER_RATIO * width : MOST_HEIGHT / ratio);
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw();
  }
  function view(a, b) {
    const span = Math.min(Math.max(b - a, 50), end);
    from = Math.min(Math.max(0, a), end - span);
    to = from + span;
    byId("range").textContent = `${time(from)} to ${time(to)}`;
    redraw();
  }
  const zoom = (factor, at = (from + to) / 2) => view(at - (at - from) * factor, at + (to - at) * factor);
  function hit(event) {
    const box = canvas.getBoundingClientRect();
    const at = from + (event.clientX - box.left) * (to - from) / width, y = event.clientY - box.top;
    const slack = 2 * (to - from) / width;
    for (const lane of lanes) {
      const depth = Math.floor((y - lane.top - TITLE) / row);
      if (depth < 0 || depth >= lane.depth || y < lane.top) continue;
      let found = -1;
      visit(lane, (i, start) => {
        if (lane.slices[i + 5] === depth && start - slack <= at && start + lane.slices[i + 3] + slack >= at) found = i;
      });
      if (found >= 0) return [lane, found];
    }
    return null;
  }
  let grabbed = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(event.deltaY * 0.0015), from + (event.clientX - box.left) * (to - from) / width);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    grabbed = { x: event.clientX, from, to };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => { grabbed = null; });
  canvas.addEventListener("pointercancel", () => { grabbed = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (grabbed) {
      const by = (grabbed.x - event.clientX) * (grabbed.to - grabbed.from) / width;
      view(grabbed.from + by, grabbed.to + by);
      return;
    }
    const found = hit(event);
    tip.hidden = found === null;
    if (!found) return;
    const [lane, i] = found, box = canvas.getBoundingClientRect();
    tip.textContent = `${names[lane.slices[i]]}, ${time(lane.slices[i + 3])}, at ${time(lane.slices[i + 2])}: ${timeline.engines[lane.slices[i + 1]]}, call ${lane.slices[i + 4]}`;
    tip.style.left = `${Math.min(event.clientX - box.left + 12, Math.max(0, width - 300))}px`;
    tip.style.top = `${event.clientY - box.top + 16}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", () => view(0, end));
  canvas.addEventListener("keydown", (event) => {
    const span = to - from;
    const act = {
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
      ArrowLeft: () => view(from - span / 5, to - span / 5), ArrowRight: () => view(from + span / 5, to + span / 5),
      Home: () => view(0, end),
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  for (const button of document.querySelectorAll("[data-zoom]")) {
    const factor = Number(button.dataset.zoom);
    button.addEventListener("click", () => (factor ? zoom(factor) : view(0, end)));
  }
  view(0, end);
  new ResizeObserver(resize).observe(canvas.parentElement);
  // The size before the pages are laid out, the colours when those of paper apply.
  addEventListener("beforeprint", () => { printing = true; resize(); });
  addEventListener("afterprint", () => { printing = false; resize(); });
  for (const media of ["print", "(prefers-color-scheme: dark)"]) matchMedia(media).addEventListener("change", draw);
  resize();
}

// --- layers, programs, glossary ---------------------------------------------------------------

const LAYER_ROWS = 30;

function drawLayers() {
  const all = data.engines.flatMap((engine) => {
    const sum = engine.layers.reduce((n, layer) => n + (layer.total_ns ?? 0), 0) || 1;
    return engine.layers.map((layer) => ({ ...layer, engine: engine.id, share: (layer.total_ns ?? 0) / sum }));
  });
  if (all.length === 0) {
    byId("layers").replaceChildren();
    byId("layer-count").textContent = "No layers were recorded: profile at level layers.";
    byId("layer-search").hidden = byId("layer-engine").hidden = byId("layer-more").hidden = true;
    return;
  }
  all.sort((a, b) => (b.total_ns ?? 0) - (a.total_ns ?? 0));
  const search = byId("layer-search"), chosen = byId("layer-engine");
  chosen.append(make("option", { value: "" }, "all engines"),
    ...data.engines.filter((e) => e.layers.length).map((e) => e.id).sort(byName).map((id) => make("option", { value: id }, id)));
  let most = LAYER_ROWS;
  const more = byId("layer-more");
  const rows = () => {
    const text = search.value.toLowerCase();
    const found = all.filter((l) => (!chosen.value || l.engine === chosen.value) && l.name.toLowerCase().includes(text));
    const shown = Math.min(found.length, most);
    more.hidden = shown === found.length;
    byId("layer-count").textContent = found.length > shown
      ? `${count(shown)} slowest of ${count(found.length)} layers` : `${count(found.length)} of ${count(all.length)} layers`;
    byId("layer-filter").textContent = (chosen.value && ` of ${chosen.value}`) + (text && ` with “${search.value}” in the name`);
    return found.slice(0, shown);
  };
  const share = (layer) => make("span", {},
    make("span", { class: "share" }, make("i", { style: `width:${(100 * layer.share).toFixed(1)}%` })),
    make("span", { class: "percent" }, `${(100 * layer.share).toFixed(1)} %`));
  const columns = [
    { title: "engine", text: true, value: (l) => l.engine },
    { title: "#", value: (l) => l.position },
    { title: "layer", text: true, value: (l) => l.name },
    { title: "calls", value: (l) => l.count, cell: (l) => count(l.count) },
    { title: "share of engine", value: (l) => l.share, cell: share },
    { title: "total", value: (l) => l.total_ns ?? 0, cell: (l) => time(l.total_ns) },
    { title: "p50", value: (l) => l.p50_ns ?? 0, cell: (l) => time(l.p50_ns) },
    { title: "p99", value: (l) => l.p99_ns ?? 0, cell: (l) => time(l.p99_ns) },
  ];
  const withDetails = (line, layer, width) => {
    if (!layer.details) return;
    line.classList.add("open-able");
    line.title = "the inspector's details";
    line.addEventListener("click", () => {
      const next = line.nextElementSibling;
      if (next?.classList.contains("details")) { next.remove(); return; }
      line.after(make("tr", { class: "details" }, make("td", { colspan: width }, JSON.stringify(layer.details, null, 2))));
    });
  };
  const redraw = sortable(byId("layers"), columns, rows, { afterRow: withDetails });
  more.addEventListener("click", () => { most = Infinity; redraw(); });
  search.addEventListener("input", redraw);
  chosen.addEventListener("change", redraw);
}

function drawPrograms() {
  const box = byId("programs");
  if (data.programs.length === 0) { box.remove(); return; }
  for (const program of data.programs) {
    box.append(make("h2", {}, `Steps of ${program.file}`));
    if (program.error) { box.append(make("p", { class: "hint" }, program.error)); continue; }
    box.append(make("p", { class: "hint" },
      `${count(program.method.calls)} calls of the method, ${(program.method.total_ms).toFixed(3)} ms; between its steps ${(program.between_steps_ms).toFixed(3)} ms.` +
      (program.failed_calls ? ` ${count(program.failed_calls)} calls failed, and are in no figure.` : "")));
    const table = make("table");
    const sum = (times) => Object.values(times).reduce((n, ms) => n + ms, 0);
    const several = new Set(program.steps.map((s) => s.method)).size > 1;
    sortable(table, [
      ...(several ? [{ title: "method", text: true, value: (s) => s.method || "–" }] : []),
      { title: "#", value: (s) => s.instruction },
      { title: "step", text: true, value: (s) => s.step },
      { title: "engine", text: true, value: (s) => s.engine || "–" },
      { title: "calls", value: (s) => s.calls },
      { title: "host", value: (s) => s.host_ms, cell: (s) => time(s.host_ms * 1e6) },
      { title: "in phases", value: (s) => sum(s.phases_ms), cell: (s) => time(sum(s.phases_ms) * 1e6) },
      { title: "gap before", value: (s) => s.gap_before_ms, cell: (s) => time(s.gap_before_ms * 1e6) },
      { title: "graph nodes", text: true, value: (s) => s.nodes.join(", ") },
      { title: "source", text: true, value: (s) => s.source },
    ], () => program.steps);
    box.append(make("div", { class: "scroll" }, table));
  }
}

drawSummary();
drawFindings();
drawEngines();
drawDistributions();
drawTimeline();
drawLayers();
drawPrograms();
byId("glossary").append(...data.phases.flatMap((p) => [make("dt", {}, p.column), make("dd", {}, p.description)]));
document.documentElement.dataset.drawnMs = Math.round(performance.now());
