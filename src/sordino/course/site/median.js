/* How far can one person move a median? Dots to drag, the gaps that k changes can open, and their discounted maximum. */
"use strict";
course.page("median", {
  numbers: function (k) {
    var x = k.values.slice().sort(function (a, b) { return a - b; }), n = x.length, rungs = course.medianRungs(x, k.relation, n + 2);
    var smooth = 0, star = 0, printed = 0;
    rungs.forEach(function (a, i) {
      var less = Math.exp(-k.beta * i) * a;
      if (less > smooth * (1 + 1e-12)) { smooth = less; star = i; }
      if (i >= 1) printed = Math.max(printed, Math.pow(2, -i) * a);
    });
    return { median: x[Math.ceil(n / 2) - 1], global: 100, local: rungs[0], smooth: smooth, star: star, as_printed: printed, rungs: rungs, gain: 100 / smooth };
  },
  draw: function (k, n) {
    var sorted = k.values.slice().sort(function (a, b) { return a - b; }), size = sorted.length, show = Math.min(n.rungs.length, 14);
    var at = function (rank) { return rank < 1 ? 0 : rank > size ? 100 : sorted[rank - 1]; };
    var from = k.relation === "add_remove" ? at(Math.ceil((size - 1 - n.star) / 2)) : null, to = k.relation === "add_remove" ? at(Math.floor((size + n.star) / 2) + 1) : null;
    if (from === null) for (var t = 0, r = Math.ceil(size / 2); t <= n.star + 1; t++) if (at(r + t) - at(r + t - n.star - 1) === n.rungs[n.star]) { from = at(r + t - n.star - 1); to = at(r + t); break; }
    var less = n.rungs.map(function (a, i) { return [i, Math.exp(-k.beta * i) * a]; });
    var marks = [{ y: n.local, as: "neighbour", label: "local " + course.show(n.local, 3), row: 1 }, { y: 100, as: "release", label: "global 100" }, { y: n.smooth, as: "good", label: "smooth " + course.show(n.smooth, 4) + " at k = " + n.star, answer: true }];
    if (k.printed) marks.push({ y: n.as_printed, as: "printed", label: "as printed " + course.show(n.as_printed, 3), mid: true });
    return [
      { title: "The table: drag a dot, or focus one and use the arrow keys", height: 120, x: { low: 0, high: 100, label: "value" }, y: { low: 0, high: 2, hide: true },
        dots: k.values.map(function (v, i) { return { x: v, y: 0.55, r: 7, as: v === n.median ? "release" : "table", drag: { knob: "values", index: i, label: "person " + (i + 1) } }; }),
        braces: [{ from: from, to: to, y: 1.35, as: "good", label: "gap " + n.star + " people away: " + course.show(n.rungs[n.star], 3), answer: true }] },
      { title: "The gap k changes can open, and its discounted value", height: 280, x: { low: -0.3, high: show - 0.5, label: "k, people changed" }, y: { low: 0, high: 108 },
        bars: n.rungs.slice(0, show).map(function (a, i) { return { x: i, width: 0.6, y: a, as: "soft" }; }),
        lines: [{ points: less.slice(0, show), as: "good", answer: true }], dots: less.slice(0, show).map(function (p, i) { return { x: p[0], y: p[1], r: 4, as: i === n.star ? "release" : "good", answer: true }; }),
        rules: marks, legend: [["soft", "A(k), the gap"], ["good", "e^(−βk) A(k)"]].concat(k.printed ? [["printed", "2^(−k), k from 1, as printed"]] : []) }
    ];
  }
});
