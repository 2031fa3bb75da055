/* The stage of a lesson: knobs, the picture, the guess, chance, the exercise. Pages say what to draw, this says how. */
"use strict";
(function (c) {
  var SVG = "http://www.w3.org/2000/svg";
  var el = function (name, facts, parent, text) {
    var made = document.createElementNS(SVG, name);
    for (var key in facts) if (facts[key] !== undefined && facts[key] !== null) made.setAttribute(key, facts[key]);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  };
  var byId = function (id) { return document.getElementById(id); };
  var short = function (v) { return typeof v === "number" && Math.abs(v) >= 1e6 && Math.abs(v) < 1e9 ? c.show(v / 1e6, 3) + "M" : c.show(v, 3); };

  /* ---- axes ---- */
  var ticks = function (low, high, log, room) {
    var out = [], i;
    if (log) {
      var from = Math.ceil(Math.log10(low) - 1e-9), to = Math.floor(Math.log10(high) + 1e-9), jump = Math.max(1, Math.ceil((to - from) / room));
      for (i = from; i <= to; i += jump) out.push(Math.pow(10, i));
      return out;
    }
    var raw = (high - low) / Math.max(1, room), size = Math.pow(10, Math.floor(Math.log10(raw)));
    var step = [1, 2, 5, 10].map(function (m) { return m * size; }).find(function (s) { return s >= raw; });
    for (i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) out.push(Number((i * step).toPrecision(12)));
    return out;
  };
  var scale = function (axis, from, to) {
    var f = axis.log ? Math.log10 : function (v) { return v; };
    var low = f(axis.low), high = f(axis.high);
    var map = function (v) { return from + (f(axis.log ? Math.max(v, axis.low * 1e-3) : v) - low) / (high - low || 1) * (to - from); };
    map.back = function (px) { var v = low + (px - from) / (to - from) * (high - low); return axis.log ? Math.pow(10, v) : v; };
    return map;
  };

  /* ---- one chart: lines, areas, bars, dots, rules; each in a colour that says whose it is ---- */
  var drawChart = function (chart, width, box, place) {
    var height = chart.height || 230, left = chart.y && !chart.y.hide ? 52 : 14, right = 14, top = 12, bottom = chart.x.hide ? 10 : 40;
    var title = document.createElement("p");
    title.className = "chart-title"; title.textContent = chart.title; box.appendChild(title);
    height -= 14;
    var svg = el("svg", { viewBox: "0 0 " + width + " " + height, width: width, height: height, role: "group", "aria-label": chart.title }, box);
    var x = scale(chart.x, left, width - right), y = scale(chart.y || { low: 0, high: 1 }, height - bottom, top);
    var inside = function (v) { return Math.max(top - 2, Math.min(height - bottom + 2, v)); };
    if (chart.y && !chart.y.hide) ticks(chart.y.low, chart.y.high, chart.y.log, 4).forEach(function (v) {
      el("line", { x1: left, x2: width - right, y1: y(v), y2: y(v), class: "grid" }, svg);
      el("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, svg, short(v));
    });
    if (!chart.x.hide) {
      el("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: "axis" }, svg);
      if (chart.x.names) chart.x.names.forEach(function (name, i) { el("text", { x: x(i), y: height - bottom + 15, "text-anchor": "middle" }, svg, name); });
      else ticks(chart.x.low, chart.x.high, chart.x.log, width < 420 ? 4 : 8).forEach(function (v) {
        el("line", { x1: x(v), x2: x(v), y1: height - bottom, y2: height - bottom + 4, class: "axis" }, svg);
        el("text", { x: x(v), y: height - bottom + 16, "text-anchor": "middle" }, svg, short(v));
      });
      el("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle", class: "name" }, svg, chart.x.label);
    }
    var path = function (points) { return points.map(function (p, i) { return (i ? "L" : "M") + x(p[0]).toFixed(2) + " " + inside(y(p[1])).toFixed(2); }).join(""); };
    (chart.areas || []).forEach(function (a) {
      if (!a.points.length) return;
      var base = inside(y(a.base === undefined ? (chart.y && chart.y.log ? chart.y.low : 0) : a.base)).toFixed(2), ends = [a.points[0][0], a.points[a.points.length - 1][0]];
      el("path", { d: path(a.points) + "L" + x(ends[1]).toFixed(2) + " " + base + "L" + x(ends[0]).toFixed(2) + " " + base + "Z", class: "area " + a.as + (a.answer ? " answer" : "") }, svg);
    });
    (chart.bars || []).forEach(function (b) {
      var zero = inside(y(b.base || (chart.y.log ? chart.y.low : 0))), end = inside(y(b.y)), half = b.width / 2;
      var w = Math.max(1.5, x(b.x + half) - x(b.x - half) - 1);
      var bar = el("rect", { x: x(b.x - half), y: Math.min(zero, end), width: w, height: Math.max(0.5, Math.abs(zero - end)), class: "bar " + b.as + (b.answer ? " answer" : "") }, svg);
      if (b.drag) grip(bar, b.drag, "y", y, svg, place);
      if (b.text) el("text", { x: x(b.x), y: Math.min(zero, end) - 4, "text-anchor": "middle", class: b.answer ? "answer" : null }, svg, b.text);
    });
    (chart.lines || []).forEach(function (l) { if (l.points.length) el("path", { d: path(l.points), class: "line " + l.as + (l.answer ? " answer" : "") }, svg); });
    (chart.rules || []).forEach(function (r) {
      if (r.x !== undefined && r.x >= chart.x.low && r.x <= chart.x.high) {
        el("line", { x1: x(r.x), x2: x(r.x), y1: top, y2: height - bottom, class: "rule " + r.as + (r.answer ? " answer" : "") }, svg);
        var near = x(r.x) > width * 0.6;
        if (r.label) el("text", { x: x(r.x) + (near ? -5 : 5), y: top + 12 + 15 * (r.row || 0), "text-anchor": near ? "end" : "start", class: "tag " + r.as + (r.answer ? " answer" : "") }, svg, r.label);
        if (r.drag) grip(el("rect", { x: x(r.x) - 12, y: top, width: 24, height: height - bottom - top, class: "grip" }, svg), r.drag, "x", x, svg, place);
      }
      if (r.y !== undefined && r.y >= chart.y.low && r.y <= chart.y.high) {
        el("line", { x1: left, x2: width - right, y1: y(r.y), y2: y(r.y), class: "rule " + r.as + (r.answer ? " answer" : "") }, svg);
        if (r.label) el("text", { x: r.mid ? (left + width) / 2 : r.row ? left + 4 : width - right, y: y(r.y) - 4, "text-anchor": r.mid ? "middle" : r.row ? "start" : "end", class: "tag " + r.as + (r.answer ? " answer" : "") }, svg, r.label);
        if (r.drag) grip(el("rect", { x: left, y: y(r.y) - 12, width: width - left - right, height: 24, class: "grip" }, svg), r.drag, "y", y, svg, place);
      }
    });
    (chart.dots || []).forEach(function (d) {
      var dot = el("circle", { cx: x(d.x), cy: inside(y(d.y)), r: d.r || 5, class: "dot " + d.as + (d.answer ? " answer" : "") }, svg);
      if (d.text) el("text", { x: x(d.x), y: inside(y(d.y)) - 9, "text-anchor": "middle", class: d.answer ? "answer" : null }, svg, d.text);
      if (d.drag) grip(dot, d.drag, "x", x, svg, place);
    });
    (chart.braces || []).forEach(function (b) {
      var at = y(b.y);
      el("path", { d: "M" + x(b.from) + " " + (at - 5) + "v10M" + x(b.from) + " " + at + "H" + x(b.to) + "M" + x(b.to) + " " + (at - 5) + "v10", class: "line " + b.as + (b.answer ? " answer" : "") }, svg);
      var mid = Math.max(left + 60, Math.min(width - right - 60, (x(b.from) + x(b.to)) / 2));
      if (b.label) el("text", { x: mid, y: at - 6, "text-anchor": "middle", class: "tag " + b.as + (b.answer ? " answer" : "") }, svg, b.label);
    });
    if (chart.legend) {
      var names = document.createElement("ul");
      names.className = "legend";
      chart.legend.forEach(function (item) {
        var li = document.createElement("li"), mark = document.createElement("span");
        mark.className = "mark " + item[0];
        li.appendChild(mark); li.appendChild(document.createTextNode(item[1])); names.appendChild(li);
      });
      box.appendChild(names);
    }
    return svg;
  };

  /* ---- what can be dragged: by pointer, and by arrow keys like any slider ---- */
  var grip = function (shape, drag, axis, map, svg, place) {
    var knob = place.knob(drag.knob), value = place.value(drag.knob, drag.index), key = drag.knob + ":" + (drag.index === undefined ? "" : drag.index);
    var facts = { tabindex: 0, role: "slider", "aria-label": drag.label || knob.label, "aria-valuenow": value, "aria-valuemin": knob.low, "aria-valuemax": knob.high, "data-drag": key };
    for (var name in facts) shape.setAttribute(name, facts[name]);
    shape.classList.add("drags");
    var back = drag.back || function (v) { return v; };
    var follow = function (event) {
      var current = document.querySelector('[data-drag="' + key + '"]'), box = (current ? current.ownerSVGElement : svg).getBoundingClientRect();
      place.set(drag.knob, back(map.back(axis === "x" ? event.clientX - box.left : event.clientY - box.top)), drag.index);
    };
    shape.addEventListener("pointerdown", function (event) {
      event.preventDefault(); shape.focus(); follow(event);
      var stop = function () { window.removeEventListener("pointermove", follow); window.removeEventListener("pointerup", stop); window.removeEventListener("pointercancel", stop); };
      window.addEventListener("pointermove", follow); window.addEventListener("pointerup", stop); window.addEventListener("pointercancel", stop);
    });
    shape.addEventListener("keydown", function (event) {
      var step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
      if (!step) return;
      event.preventDefault();
      place.set(drag.knob, knob.kind === "log" ? value * Math.pow(1.1, step) : value + step * (knob.step || (knob.high - knob.low) / 100), drag.index);
    });
  };

  /* ---- a lesson ---- */
  c.start = function () {
    var main = byId("main"), lesson = main && main.dataset.lesson ? JSON.parse(main.dataset.lesson) : null;
    Array.prototype.forEach.call(document.querySelectorAll("[data-scripted]"), function (part) { part.hidden = false; });
    exercises();
    copies();
    if (!lesson || !c.pages[lesson.slug]) return;
    var page = c.pages[lesson.slug], state = {}, shown = false, guess = null, seed = 1, draws = 0, spoken = 0;
    var find = function (name) { return lesson.knobs.find(function (k) { return k.name === name; }); };
    var fit = function (knob, v) {
      if (knob.kind === "whole") v = Math.round(v);
      else if (knob.step && knob.kind !== "log") v = Number((Math.round(v / knob.step) * knob.step).toPrecision(12));
      else if (knob.kind === "log") v = Number(v.toPrecision(3));
      return Math.max(knob.low, Math.min(knob.high, v));
    };
    var place = {
      knob: find,
      value: function (name, index) { return index === undefined ? state[name] : state[name][index]; },
      set: function (name, value, index) {
        var knob = find(name);
        if (index !== undefined) { var list = state[name].slice(); list[index] = fit(knob, value); state[name] = list; }
        else if (knob.kind === "choice" || knob.kind === "switch") state[name] = value;
        else if (knob.kind === "list") state[name] = value;
        else { if (isNaN(value)) return; state[name] = fit(knob, value); }
        update();
      }
    };
    lesson.knobs.forEach(function (k) { state[k.name] = k.kind === "list" ? k.default.slice() : k.default; });
    new URLSearchParams(location.hash.slice(1)).forEach(function (text, name) {                    // a link is a lesson
      var knob = find(name);
      if (name === "seed") seed = Math.abs(parseInt(text, 10)) || 1;
      else if (name === "shown") shown = text === "1";
      else if (!knob) return;
      else if (knob.kind === "choice") { if (knob.options.some(function (o) { return o[0] === text; })) state[name] = text; }
      else if (knob.kind === "switch") state[name] = text === "1";
      else if (knob.kind === "list") { var read = listOf(knob, text); if (read) state[name] = read; }
      else if (isFinite(c.read(text))) state[name] = fit(knob, c.read(text));
    });
    function listOf(knob, text) {
      var parts = String(text).split(/[\s,;]+/).filter(Boolean).map(Number);
      if (parts.length < knob.least || parts.length > knob.most || parts.some(isNaN)) return null;
      return parts.map(function (v) { return fit(knob, v); });
    }

    lesson.knobs.forEach(function (knob) {
      var field = byId("k-" + knob.name), slide = byId("r-" + knob.name);
      if (knob.kind === "choice") Array.prototype.forEach.call(document.querySelectorAll('input[name="' + knob.name + '"]'), function (radio) {
        radio.addEventListener("change", function () { if (radio.checked) place.set(knob.name, radio.value); });
      });
      else if (knob.kind === "switch") field.addEventListener("change", function () { place.set(knob.name, field.checked); });
      else if (knob.kind === "list") field.addEventListener("change", function () { var read = listOf(knob, field.value); if (read) place.set(knob.name, read); else update(); });
      else {
        field.addEventListener("change", function () { place.set(knob.name, c.read(field.value)); });
        slide.addEventListener("input", function () { place.set(knob.name, knob.kind === "log" ? Math.pow(10, Number(slide.value)) : Number(slide.value)); });
      }
    });
    var reflect = function () {
      lesson.knobs.forEach(function (knob) {
        var field = byId("k-" + knob.name), value = state[knob.name];
        if (knob.kind === "choice") Array.prototype.forEach.call(document.querySelectorAll('input[name="' + knob.name + '"]'), function (r) { r.checked = r.value === value; });
        else if (knob.kind === "switch") field.checked = value;
        else if (knob.kind === "list") field.value = value.join(", ");
        else { field.value = String(value); byId("r-" + knob.name).value = knob.kind === "log" ? Math.log10(value) : value; }
      });
    };
    var address = function () {
      var parts = lesson.knobs.filter(function (k) { return String(state[k.name]) !== String(k.default); }).map(function (k) {
        return k.name + "=" + (k.kind === "switch" ? Number(state[k.name]) : k.kind === "list" ? state[k.name].join(",") : state[k.name]);
      });
      if (seed !== 1) parts.push("seed=" + seed);
      if (shown) parts.push("shown=1");
      try { history.replaceState(null, "", parts.length ? "#" + parts.join("&") : location.pathname + location.search); } catch (refused) { /* a file that is not allowed to */ }
    };
    var say = function (numbers) {
      return lesson.words.replace(/\{(\w+)\}/g, function (_, name) {
        var knob = find(name), value = name in numbers ? numbers[name] : state[name];
        if (knob && knob.kind === "choice") return knob.options.find(function (o) { return o[0] === value; })[1];
        return c.show(value);
      });
    };
    function update() {
      reflect();
      var numbers = page.numbers(state), box = byId("picture"), held = document.activeElement && document.activeElement.getAttribute("data-drag");
      var drawn = document.createElement("div");
      drawn.className = shown ? "drawn" : "drawn covered";
      var width = Math.max(270, Math.min(760, box.clientWidth || 640));
      var charts = page.draw(state, numbers, { width: width, shown: shown, chance: draws ? chance(numbers) : null });
      charts.forEach(function (chart, i) {
        if (guess !== null && lesson.guess.ghost && i === lesson.guess.ghost[0]) {
          chart.rules = (chart.rules || []).concat([lesson.guess.ghost[1] === "x" ? { x: guess, as: "ghost", label: "your guess", row: 2 } : { y: guess, as: "ghost", label: "your guess", row: 1 }]);
        }
        drawChart(chart, width, drawn, place);
      });
      box.replaceChildren(drawn);
      if (held) { var again = box.querySelector('[data-drag="' + held + '"]'); if (again) again.focus(); }
      var rows = byId("numbers").tBodies[0];
      rows.replaceChildren.apply(rows, lesson.shown.map(function (item) {
        var tr = document.createElement("tr"), head = document.createElement("th"), cell = document.createElement("td"), value = numbers[item[0]];
        head.scope = "row"; head.textContent = item[1]; cell.dataset.number = item[0];
        cell.textContent = !shown && item[0] === lesson.guess.number ? "your guess first" : Array.isArray(value) ? value.slice(0, 12).map(short).join("  ") + (value.length > 12 ? " …" : "") : c.show(value);
        tr.appendChild(head); tr.appendChild(cell);
        return tr;
      }));
      var words = byId("words"), sentence = shown ? say(numbers) : "Guess first, or press “Show me”.";
      words.textContent = sentence;
      clearTimeout(spoken);
      spoken = setTimeout(function () { byId("spoken").textContent = sentence; address(); }, 600);  // one sentence and one address per settled change
      main.dataset.ready = "1";
    }
    var chance = function (numbers) {
      var uniform = c.stream(seed), out = [];
      for (var i = 0; i < draws; i++) out.push(page.sample(state, numbers, uniform));
      return out;
    };
    if (page.sample) {
      byId("chance").hidden = false;
      [["one", 1], ["many", 200], ["law", 0]].forEach(function (pair) {
        byId("draw-" + pair[0]).addEventListener("click", function () { if (pair[1]) seed += 1; draws = pair[1]; shown = true; cover(); update(); });
      });
    }
    var cover = function () { byId("guess").hidden = shown && guess === null; byId("guess").classList.toggle("done", shown); byId("reply").textContent = shown && guess !== null ? answered() : ""; };
    var answered = function () {
      var truth = page.numbers(state)[lesson.guess.number], off = Math.abs(guess - truth), close = off <= 0.1 * Math.max(Math.abs(truth), 1e-12);
      return "You guessed " + c.show(guess) + ", it is " + c.show(truth) + ". " + (close ? "Close!" : "Move the knobs and watch it change.");
    };
    var field = byId("guess-field");
    byId("guess-form").addEventListener("submit", function (event) {
      event.preventDefault();
      var read = c.read(field.value);
      if (!isFinite(read)) { byId("reply").textContent = "Type a number, for example 0.5 or 1/2."; return; }
      guess = read; shown = true; update(); cover();
    });
    byId("show-me").addEventListener("click", function () { shown = true; guess = null; update(); cover(); });
    var wide = 0;
    window.addEventListener("resize", function () { if (byId("picture").clientWidth !== wide) { wide = byId("picture").clientWidth; update(); } });
    c.state = function () { return { knobs: state, numbers: page.numbers(state), shown: shown }; };
    update(); cover();
    if (page.live) page.live(lesson, place, function () { return state; });
  };

  var exercises = function () {
    Array.prototype.forEach.call(document.querySelectorAll("form.exercise"), function (form) {
      var facts = JSON.parse(form.dataset.exercise), reply = form.querySelector("output");
      form.addEventListener("submit", function (event) {
        event.preventDefault();
        var said = c.read(form.querySelector("input").value);
        var near = function (value, room) { return Math.abs(said - value) <= room * (1 + 1e-9) + 1e-12; };
        var trap = facts.traps.find(function (t) { return near(t[0], facts.tolerance || 0); });
        form.classList.remove("right", "wrong");
        if (!isFinite(said)) { reply.textContent = "Type a number: 0.5, 0,5, 1/2 and 2e-5 are all read."; return; }
        if (near(facts.answer, facts.tolerance)) { form.classList.add("right"); reply.textContent = "Right. " + facts.why; }
        else { form.classList.add("wrong"); reply.textContent = trap ? trap[1] : "Not yet. " + facts.hint; }
      });
    });
  };
  var copies = function () {
    Array.prototype.forEach.call(document.querySelectorAll("button.copy"), function (button) {
      button.addEventListener("click", function () {
        var text = byId(button.dataset.of).textContent, done = function () { button.textContent = "Copied"; };
        if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(text).then(done, function () {});
        else { var range = document.createRange(); range.selectNodeContents(byId(button.dataset.of)); getSelection().removeAllRanges(); getSelection().addRange(range); try { document.execCommand("copy"); done(); } catch (refused) { button.textContent = "Selected: press Ctrl-C"; } }
      });
    });
  };
  document.addEventListener("DOMContentLoaded", c.start);
})(course);
