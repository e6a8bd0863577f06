"use strict";
(() => {
  // The page of a run that goes on has no data at first, and draws by itself.
  const stored = document.getElementById("data");
  const data = stored ? JSON.parse(stored.textContent) : { trials: [], arms: [], against: [], shifts: [] };
  const all = data.trials;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const COLOURS = 8;
  const ink = (i) => colour("--c" + (1 + i % COLOURS));
  const plots = [];

  const digits = (value) => Number(value.toPrecision(3)).toString();
  const time = (ms) => ms == null ? "–"
    : ms < 0.001 ? digits(ms * 1e6) + " ns"
    : ms < 1 ? digits(ms * 1e3) + " µs"
    : ms < 1000 ? digits(ms) + " ms" : digits(ms / 1000) + " s";
  const rate = (value) => value == null ? "–" : digits(value) + "/s";
  const percentile = (x) => "p" + Number((100 * (1 - 1 / x)).toFixed(Math.max(0, Math.ceil(Math.log10(x)))));

  const axis = (values, more) => Object.assign({
    stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 },
    font: "12px system-ui, sans-serif", size: 62, values: (_, splits) => splits.map((v) => v == null ? "" : values(v)),
  }, more);
  const logAxis = (format, more) => axis(format, Object.assign({
    values: logLabels(format), grid: { stroke: colour("--line"), width: 1, filter: decades },
    ticks: { stroke: colour("--line"), width: 1, filter: decades },
  }, more));
  const timeAxis = (scale) => scale.distr ? logAxis(time) : axis(time);
  const seconds = () => axis((v) => v + " s", { size: 34 });
  const line = (label, i, value, more) => Object.assign({
    label, stroke: ink(i), width: 1.75, points: { show: (u) => u.data[0].length === 1 }, value: (_, v) => v == null ? "–" : value(v),
  }, more);

  const extent = (series) => series.flat().filter((v) => v > 0)
    .reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, 0]);
  const isWide = (series) => { const [low, high] = extent(series); return high > 30 * low; };
  // A log axis where values spread widely, from 0 otherwise. `now` gives the values of data that grow.
  const timeScale = (series, now = () => series) => isWide(series)
    ? { distr: 3, range: (u) => { const [low, high] = extent(now(u)); return [Math.pow(10, Math.floor(Math.log10(low))), high * 1.15]; } }
    : { range: (u) => [0, (extent(now(u))[1] || 1) * 1.1] };
  const fromZero = { range: (_, low, high) => [0, (high || 1) * 1.12] };
  const decades = (_, splits) => splits.map((v) => v != null && Math.abs(Math.log10(v) % 1) < 1e-9 ? v : null);
  const logLabels = (format) => (_, splits) =>
    splits.map((v) => v != null && Math.abs(Math.log10(v) % 1) < 1e-9 ? format(v) : "");

  function card(home, title, text) {
    const node = document.createElement("section");
    node.className = "chart";
    const h = document.createElement("h3"), p = document.createElement("p");
    h.textContent = title;
    p.textContent = text;
    node.append(h, p);
    home.append(node);
    return node;
  }

  // Without a pointer that hovers a legend has no values to show, only names.
  const legend = { live: matchMedia("(hover: hover)").matches };

  function draw(node, options, data) {
    const width = () => Math.max(240, node.clientWidth - 36);
    const height = options.height || 250;
    const plot = new uPlot(Object.assign({ width: width(), height, legend, cursor: { drag: { x: true, y: false } } }, options), data, node);
    const observer = new ResizeObserver(() => plot.setSize({ width: width(), height }));
    observer.observe(node);
    plots.push({ plot, observer });
  }

  const clear = () => plots.splice(0).forEach(({ plot, observer }) => { observer.disconnect(); plot.destroy(); });

  // Operations have points of their own: between them the nearest one speaks.
  const atNearest = (format) => (u, value, series, at) => {
    const values = u.data[series];
    let found = value;
    for (let off = 1; at != null && found == null && off < values.length; off++)
      found = values[at - off] ?? values[at + off];
    return found == null ? "–" : format(found);
  };

  // By the share of operations beyond: p50, and then each tenth of it.
  const percentileAxis = (end) => {
    const ticks = [2];
    for (let beyond = 10; beyond <= end; beyond *= 10) ticks.push(beyond);
    return axis(percentile, { size: 34, splits: () => ticks, filter: (_, splits) => splits });
  };

  function spectrum(home, trial) {
    if (!trial.spectra.length) return;
    const node = card(home, "Percentile spectrum",
      "What share of operations took how long. Shaded: seen in this sample, too rare to be claimed.");
    const data = uPlot.join(trial.spectra.map((s) => {
      const last = new Map();
      s.x.forEach((x, i) => last.set(x, s.ms[i]));
      return [[...last.keys()], [...last.values()]];
    }));
    const end = Math.max(...data[0]);
    const shade = (u) => {
      const left = Math.max(u.valToPos(Math.min(trial.supported, end), "x", true), u.bbox.left);
      u.ctx.save();
      u.ctx.fillStyle = colour("--shade");
      u.ctx.fillRect(left, u.bbox.top, u.bbox.left + u.bbox.width - left, u.bbox.height);
      u.ctx.restore();
    };
    const scale = timeScale(data.slice(1));
    draw(node, {
      scales: { x: { time: false, distr: 3, range: () => [1, end] }, y: scale },
      axes: [percentileAxis(end), timeAxis(scale)],
      series: [{ label: "percentile", value: (_, x) => x == null ? "–" : percentile(x) }]
        .concat(trial.spectra.map((s, i) => line(s.operation, i, time, { spanGaps: true, value: atNearest(time) }))),
      hooks: { drawAxes: [shade] },
    }, data);
  }

  // More lines than this are chosen from the legend.
  const LINES = 12;

  function arms(home, chart) {
    const node = card(home, chart.title, chart.about
      + " Dashed: seen in these trials, and not to be claimed; a line ends with the operations that have a time."
      + (chart.arms.length > LINES ? ` The first ${LINES} of ${chart.arms.length} are drawn; click names to choose others.` : ""));
    const end = chart.x.at(-1);
    // The last place of each line that may be claimed.
    const claimed = chart.arms.map((arm) => chart.x.findLastIndex((x) => x <= arm.supported));
    const linear = uPlot.paths.linear();
    const solid = (last) => (u, i, from, to) => linear(u, i, from, Math.max(from, Math.min(to, last)));
    const dashed = (u, i) => {
      const [from, to] = u.series[0].idxs, { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.globalAlpha = u.series[i].alpha;
      ctx.strokeStyle = ink(i - 1);
      ctx.lineWidth = u.series[i].width * devicePixelRatio;
      ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
      const path = linear(u, i, Math.max(from, claimed[i - 1]), to);
      if (path) ctx.stroke(path.stroke);
      ctx.restore();
    };
    const scale = timeScale(chart.arms.map((arm) => arm.ms));
    const named = (arm, i) => line(arm.arm, i, time,
      { paths: solid(claimed[i]), show: i < LINES, width: i < COLOURS ? 1.75 : 1 });
    draw(node, {
      height: 340,
      cursor: { drag: { x: true, y: false }, focus: { prox: 24 } },
      focus: { alpha: 0.25 },
      scales: { x: { time: false, distr: 3, range: () => [1, end] }, y: scale },
      axes: [percentileAxis(end), timeAxis(scale)],
      series: [{ label: "percentile", value: (_, x) => x == null ? "–" : percentile(x) }].concat(chart.arms.map(named)),
      hooks: { drawSeries: [dashed] },
    }, [chart.x].concat(chart.arms.map((arm) => arm.ms)));
  }

  function drawArms() {
    const home = document.getElementById("arms");
    if (!home) return;
    home.replaceChildren();
    data.arms.forEach((chart) => arms(home, chart));
  }

  // Stretches that findings speak of, shaded, each code named once.
  const marked = (marks) => (u) => {
    const named = new Set();
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    u.ctx.textAlign = "left";
    marks.forEach((mark) => {
      const at = (t) => Math.min(Math.max(u.valToPos(t, "x", true), left), left + width);
      const x = at(mark.from), w = Math.max(at(mark.to) - x, 2 * devicePixelRatio);
      u.ctx.fillStyle = colour("--mark");
      u.ctx.fillRect(x, top, w, height);
      if (named.has(mark.code)) return;
      named.add(mark.code);
      u.ctx.fillStyle = colour("--quiet");
      const text = u.ctx.measureText(mark.code).width;
      u.ctx.fillText(mark.code, Math.min(x + 4, left + width - text), top + (named.size * 14) * devicePixelRatio);
    });
    u.ctx.restore();
  };

  // Bounds of criteria, where they are among the values.
  const limits = (lines) => (u) => {
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    u.ctx.strokeStyle = u.ctx.fillStyle = colour("--fail");
    u.ctx.textAlign = "left";
    u.ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
    lines.forEach(([name, ms]) => {
      const y = u.valToPos(ms, "y", true);
      if (!(y > top && y < top + height)) return;
      u.ctx.beginPath();
      u.ctx.moveTo(left, y);
      u.ctx.lineTo(left + width, y);
      u.ctx.stroke();
      u.ctx.fillText(name, left + 4, y - 4 * devicePixelRatio);
    });
    u.ctx.restore();
  };

  const timesData = (trial) => [trial.t, trial.p50, trial.p99];
  function times(home, trial) {
    const title = trial.what[0].toUpperCase() + trial.what.slice(1) + " over time";
    const about = (trial.what === "response time"
      ? "By the window in which operations were due." : "By the window in which operations finished.") + (trial.about || "");
    timesOf(home, title, about, trial, timesData(trial));
  }

  function streams(home, trial) {
    (trial.streams || []).forEach((one) => {
      const unmarked = { marks: [], limits: [] };
      timesOf(home, one.title, one.about, unmarked, [trial.t, one.p50, one.p99]);
    });
  }

  function timesOf(home, title, about, trial, data) {
    const node = card(home, title, about);
    const scale = timeScale(data.slice(1), (u) => u.data.slice(1));
    draw(node, {
      scales: { x: { time: false }, y: scale },
      axes: [seconds(), timeAxis(scale)],
      series: [{ label: "at", value: (_, v) => v == null ? "–" : v + " s" }, line("p50", 0, time), line("p99", 1, time)],
      hooks: { drawAxes: [marked(trial.marks), limits(trial.limits || [])] },
    }, data);
  }

  const ratesData = (trial) => [trial.t, trial.planned, trial.succeeded];
  function rates(home, trial) {
    const node = card(home, "Rates over time", "Planned, and of those succeeded.");
    draw(node, {
      scales: { x: { time: false }, y: fromZero },
      axes: [seconds(), axis(rate)],
      series: [{ label: "at", value: (_, v) => v == null ? "–" : v + " s" },
        line("planned", 3, rate, { dash: [5, 4] }), line("succeeded", 2, rate)],
    }, ratesData(trial));
  }

  const kindsOf = (trial) => Object.keys(trial.failures).filter((kind) => trial.failures[kind].some((v) => v));
  const failuresData = (trial) => [trial.t].concat(kindsOf(trial).map((kind) => trial.failures[kind].map((v) => v || null)));
  function failures(home, trial) {
    const kinds = kindsOf(trial);
    if (!kinds.length) return;
    const node = card(home, "Failures over time", "By kind.");
    const bars = uPlot.paths.bars({ size: [0.8, 40], align: 1 });
    draw(node, {
      scales: { x: { time: false }, y: fromZero },
      axes: [seconds(), axis(rate)],
      series: [{ label: "at", value: (_, v) => v == null ? "–" : v + " s" }]
        .concat(kinds.map((kind, i) => line(kind, i + 1, rate, { paths: bars, fill: ink(i + 1) }))),
    }, failuresData(trial));
  }

  function shift(home, chart) {
    const node = card(home, chart.title, "Candidate over baseline at each percentile, with its band: where in the distribution they differ.");
    const x = chart.labels.map((_, i) => i);
    const ends = [...chart.ratio, ...chart.low, ...chart.high].filter((v) => v != null);
    const ratio = (v) => "×" + v.toFixed(2);
    draw(node, {
      scales: { x: { time: false, range: [-0.4, x.length - 0.6] }, y: { range: () => [Math.min(0.95, ...ends) - 0.02, Math.max(1.05, ...ends) + 0.02] } },
      axes: [axis((v) => chart.labels[v] || "", { size: 34, splits: () => x }), axis(ratio)],
      bands: [{ series: [3, 2], fill: colour("--shade") }],
      series: [{ label: "percentile", value: (_, v) => v == null ? "–" : chart.labels[v] },
        line("ratio", 0, ratio, { points: { show: true, size: 6 } }),
        line("low", 0, ratio, { width: 0.75 }), line("high", 0, ratio, { width: 0.75 }),
        line("no difference", 3, ratio, { dash: [5, 4], width: 1 })],
    }, [x, chart.ratio, chart.low, chart.high, x.map(() => 1)]);
  }

  function drawShifts() {
    const home = document.getElementById("shifts");
    if (!home) return;
    home.replaceChildren();
    data.shifts.forEach((chart) => shift(home, chart));
  }

  // A range is drawn in its middle, and read by its ends: from a power of two to below the next.
  const isRange = (v) => !Number.isInteger(v);
  const beginning = (v) => isRange(v) ? 2 ** Math.floor(Math.log2(v)) : v;
  const number = (v) => v < 1 ? "0" : v < 1e5 ? String(v) : v < 1e6 ? digits(v / 1e3) + " k" : digits(v / 1e6) + " M";
  // Names that would stand in each other are left out, the last one stays.
  const apart = (u, splits) => {
    let next = Infinity;
    return splits.toReversed().map((v) => {
      const at = u.valToPos(v, "x");
      if (next - at < 44) return null;
      next = at;
      return v;
    }).toReversed();
  };
  const againstAxes = (chart, scale) => {
    const ticks = [...new Set(chart.x.map(beginning))];
    return {
      scales: { x: { time: false, distr: 3, range: () => [chart.x[0] / 1.5, chart.x.at(-1) * 1.5] }, y: scale },
      axes: [axis(number, { size: 34, splits: () => ticks, filter: apart }), timeAxis(scale)],
    };
  };
  const range = (v) => number(beginning(v)) + (isRange(v) && v > 1 ? " to below " + number(2 * beginning(v)) : "");
  const about = { label: "number", value: (_, v) => v == null ? "–" : range(v) };

  function against(home, chart) {
    const node = card(home, "Response time against " + chart.item,
      "By powers of two of the number that answers carried; facts about this sample.");
    const dots = (label, i) => line(label, i, time, { points: { show: true, size: 7, fill: ink(i) } });
    draw(node, {
      ...againstAxes(chart, timeScale([chart.p50, chart.p95])),
      series: [about, dots("p50", 0), dots("p95", 1),
        { label: "operations", scale: "none", paths: () => null, points: { show: false }, value: (_, v) => v == null ? "–" : String(v) }],
    }, [chart.x, chart.p50, chart.p95, chart.count]);
  }

  function againstOverArms(home, chart) {
    const node = card(home, "Response time against " + chart.item,
      "Over all arms, each point a trial, or a power of two of the number in it. Hollow: the trial is invalid.");
    const dots = (label, i, fill) => line(label, i, time,
      { paths: () => null, points: { show: true, size: 8, fill: fill ? ink(i) : undefined } });
    const of = (values, valid) => values.map((v, i) => chart.valid[i] === valid ? v : null);
    const shown = [true, false].filter((valid) => chart.valid.includes(valid));
    const both = [["p50", 0], ["p95", 1]];
    draw(node, {
      ...againstAxes(chart, timeScale([chart.p50, chart.p95])),
      series: [about, ...shown.flatMap((valid) => both.map(([name, i]) => dots(valid ? name : name + ", invalid", i, valid)))],
    }, [chart.x, ...shown.flatMap((valid) => both.map(([name]) => of(chart[name], valid)))]);
  }

  function drawAgainst() {
    const home = document.getElementById("against");
    if (!home) return;
    home.replaceChildren();
    data.against.forEach((chart) => againstOverArms(home, chart));
  }

  function drawCurve() {
    const home = document.getElementById("curve");
    const c = data.curve;
    if (!home || !c || !c.rate.length) return;
    home.replaceChildren();
    const node = card(home, "Response time against rate",
      "Each point a trial of the search. Shaded: where the capacity lies.");
    const scale = timeScale([c.p50, c.passed, c.other]);
    const dots = (label, i, fill) => line(label, i, time,
      { paths: () => null, points: { show: true, size: 8, fill: fill ? ink(i) : undefined } });
    const between = (u) => {
      const end = u.scales.x.max;
      const from = u.valToPos(c.low ?? u.scales.x.min, "x", true), to = u.valToPos(c.high ?? end, "x", true);
      u.ctx.save();
      u.ctx.fillStyle = colour("--mark");
      u.ctx.fillRect(from, u.bbox.top, Math.max(to - from, 2), u.bbox.height);
      u.ctx.restore();
    };
    const most = Math.max(...c.rate, c.high || 0);
    draw(node, {
      scales: { x: { time: false, range: [0, most * 1.05] }, y: scale },
      axes: [axis(rate, { size: 34 }), timeAxis(scale)],
      series: [{ label: "rate", value: (_, v) => v == null ? "–" : rate(v) },
        dots("p50", 0, true), dots("p99, criteria met", 2, true), dots("p99, not met or undecided", 1, false)],
      hooks: { drawAxes: [between] },
    }, [c.rate, c.p50, c.passed, c.other]);
  }

  const homeOf = (trial) => document.querySelector(`.charts[data-trial="${trial.trial}"]`);

  function drawTrial(trial) {
    const home = homeOf(trial);
    home.replaceChildren();
    spectrum(home, trial);
    if (trial.t.length) [times, streams, rates, failures].forEach((chart) => chart(home, trial));
    trial.against.forEach((chart) => against(home, chart));
  }

  // Charts of many trials, and folded ones, are drawn when they come into sight.
  const FEW = 6;
  const waits = (trial) => all.length > FEW || homeOf(trial).closest("details:not([open])");
  const seen = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((e) => {
    seen.unobserve(e.target);
    drawTrial(all.find((trial) => homeOf(trial) === e.target));
  }), { rootMargin: "600px" });

  function drawAll() {
    clear();
    drawArms();
    drawShifts();
    drawCurve();
    drawAgainst();
    all.forEach((trial) => {
      if (!waits(trial)) return drawTrial(trial);
      homeOf(trial).replaceChildren();
      seen.observe(homeOf(trial));
    });
  }

  // The charts of a trial that goes on get its newest data; they are made anew where their form changes.
  let form = null, again = () => {};
  function live(home, trial) {
    again = () => { form = null; live(home, trial); };
    const now = JSON.stringify([trial.what, trial.about, trial.limits, kindsOf(trial), isWide(timesData(trial).slice(1)), trial.t.length > 0]);
    if (now === form) {
      const all = [timesData, ratesData, failuresData];
      plots.forEach(({ plot }, i) => plot.setData(all[i](trial)));
      return;
    }
    form = now;
    clear();
    home.replaceChildren();
    if (trial.t.length) [times, rates, failures].forEach((chart) => chart(home, trial));
  }
  globalThis.charts = { live };

  drawAll();
  dark.addEventListener("change", () => { drawAll(); again(); });
  // Nothing is folded on paper.
  let folded = [];
  addEventListener("beforeprint", () => {
    const waiting = all.filter(waits);
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((one) => { one.open = true; });
    waiting.forEach(drawTrial);
  });
  addEventListener("afterprint", () => folded.splice(0).forEach((one) => { one.open = false; }));
})();
