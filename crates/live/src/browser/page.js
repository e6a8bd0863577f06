"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const make = (name, text, kind) => {
    const node = document.createElement(name);
    if (text != null) node.textContent = text;
    if (kind) node.className = kind;
    return node;
  };

  // Texts of the run and of the target are only ever text: no markup is made of them.
  function table(home, title, columns, rows) {
    if (!rows.length) return home.replaceChildren();
    const section = make("section", null, "table"), scroll = make("div", null, "scroll"), all = make("table");
    const head = make("tr"), body = make("tbody"), top = make("thead");
    columns.forEach(([name, figure]) => head.append(make("th", name, figure ? "n" : "")));
    rows.forEach((row) => {
      const line = make("tr");
      row.forEach((cell, i) => {
        const [text, kind] = Array.isArray(cell) ? cell : [cell, ""];
        line.append(make("td", text, columns[i][1] ? "n" : kind));
      });
      body.append(line);
    });
    top.append(head);
    all.append(top, body);
    scroll.append(all);
    section.append(make("h3", title), scroll);
    home.replaceChildren(section);
  }

  const parts = (home, title, list) => table(home, title,
    [[title === "Journeys" ? "journey" : "operation"], ["done", true], ["p50", true], ["p99", true], ["failed", true], ["by kind"]],
    list.map((one) => [one.name, one.done, one.p50, one.p99, one.failed, one.kinds]));

  const points = new Map();
  const trial = { what: "response time", t: [], p50: [], p99: [], planned: [], succeeded: [], failures: {}, marks: [], limits: [] };
  let step = 1;

  function gather() {
    const seconds = [...points.values()].sort((a, b) => a.t - b.t);
    const kinds = [...new Set(seconds.flatMap((one) => Object.keys(one.failures)))].sort();
    const of = (name) => seconds.map((one) => one[name]);
    Object.assign(trial, { t: of("t"), p50: of("p50"), p99: of("p99"), planned: of("planned"), succeeded: of("succeeded") });
    trial.failures = Object.fromEntries(kinds.map((kind) => [kind, seconds.map((one) => one.failures[kind] || 0)]));
    const open = seconds.filter((one) => one.open);
    trial.marks.splice(0, Infinity, ...open.map((one) => ({ code: "waiting", from: one.t, to: one.t + step })));
  }

  function show({ state, step: seconds, skipped }) {
    document.title = state.title + " · " + state.phase;
    put(at("title"), state.title);
    put(at("verdict"), state.verdict[1]);
    at("head").className = state.verdict[0];
    put(at("connection"), skipped ? `this browser was slow: it skipped ${skipped} frames` : "");
    put(at("phase"), [state.phase, state.place].filter(Boolean).join(" · "));
    at("over").style.width = 100 * (state.over || 0) + "%";
    put(at("generator"), state.generator[0]);
    at("generator").className = state.generator[1] ? "load late" : "load";
    at("last").replaceChildren(...state.last.map(([name, figure]) => {
      const one = make("div");
      one.append(make("dt", name), make("dd", figure));
      return one;
    }));
    table(at("criteria"), "Criteria so far", [["criterion"], ["seen"]],
      state.criteria.map(([criterion, seen, lost]) => [criterion, [seen, lost ? "lost" : ""]]));
    parts(at("operations"), "Operations", state.operations);
    parts(at("journeys"), "Journeys", state.journeys);
    const earlier = at("earlier");
    while (earlier.childElementCount > state.tables.length) earlier.lastChild.remove();
    state.tables.forEach((one, i) => {
      if (!earlier.children[i]) earlier.append(make("div"));
      table(earlier.children[i], one.title, one.columns, one.rows);
    });
    at("notes").hidden = !state.notes.length;
    at("notes").lastChild.replaceChildren(...state.notes.map((note) => make("li", note)));
    const about = seconds > 1 ? ` Each point is of ${seconds} seconds: mean rates, and the slowest second's times.` : "";
    charts.live(at("charts"), Object.assign(trial, { what: state.what, about, limits: state.limits }));
  }

  const events = new EventSource("events" + location.search);
  events.addEventListener("frame", (event) => {
    const frame = JSON.parse(event.data);
    if (frame.new) points.clear();
    step = frame.step;
    frame.points.forEach((point) => points.set(Math.floor(point.t / step), point));
    gather();
    show(frame);
  });
  events.addEventListener("report", (event) => {
    events.close();
    const page = JSON.parse(event.data);
    if (!page) return put(at("connection"), "the run is over; it has no report");
    document.open();
    document.write(page);
    document.close();
  });
  events.addEventListener("error", () => {
    at("head").className = "away";
    put(at("connection"), "the run cannot be reached: it is over, or the connection is lost");
  });
})();
