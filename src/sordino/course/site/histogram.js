/* Who vanishes from the histogram? Counts above a public threshold; silence about absent keys is free. */
"use strict";
(function () {
  var COUNTS = []; for (var r = 1; r <= 20; r++) COUNTS.push(Math.round(200 / r));
  var above = function (a, b) { return a >= 1 ? Math.exp(-a / b) / (1 + Math.exp(-1 / b)) : 1 - Math.exp(-(1 - a) / b) / (1 + Math.exp(-1 / b)); };   // P(K >= a)
  course.page("histogram", {
    numbers: function (k) {
      var b = (k.relation === "replace" ? 2 : 1) / k.epsilon, t = 1 + Math.max(1, Math.ceil(b * Math.log(1 / (k.delta * (1 + Math.exp(-1 / b)))) - 1e-9));
      var within = function (m, w) {                                        // P(error of a count m is at most w)
        var from = Math.max(t - m, -w), shown = from <= w ? above(from, b) - above(w + 1, b) : 0;
        return shown + (m <= w ? 1 - above(t - m, b) : 0);
      };
      var worst = function () { for (var w = 0; w < 1e5; w++) { var all = 1; COUNTS.forEach(function (m) { all *= within(m, w); }); if (all >= 0.95) return w; } return Infinity; };
      var least = 1;
      while (above(t - least, b) < 0.99) least++;
      return { b: b, t: t, shows: COUNTS.map(function (m) { return above(t - m, b); }), least: least, at_least: above(t - least, b), stable: worst(), laplace: -b * Math.log(-Math.expm1(Math.log(0.95) / k.k)), hidden: COUNTS.filter(function (m) { return m < least; }).length };
    },
    draw: function (k, n) {
      var ks = course.range(1, 9, 41);
      return [
        { title: "Twenty keys: black bars show with the chance written", height: 240, x: { low: 0.3, high: 20.7, label: "key, by size" }, y: { low: 1, high: 300, log: true },
          bars: COUNTS.map(function (m, i) { return { x: i + 1, width: 0.75, y: m, as: n.shows[i] > 0.5 ? "release" : "soft", text: n.shows[i] < 0.995 ? course.show(n.shows[i], 2) : "" }; }),
          rules: [{ y: n.t, as: "accent", label: "threshold " + n.t, answer: true }] },
        { title: "Worst error with 95%, by size of the domain", height: 220, x: { low: 10, high: 1e9, log: true, label: "k, possible keys" }, y: { low: 0, high: Math.max(n.stable, 21.5 * n.b) * 1.25 },
          lines: [{ points: ks.map(function (p) { return [Math.pow(10, p), -n.b * Math.log(-Math.expm1(Math.log(0.95) / Math.pow(10, p)))]; }), as: "table" }, { points: [[10, n.stable], [1e9, n.stable]], as: "good", answer: true }],
          rules: [{ x: k.k, as: "soft", label: "k", drag: { knob: "k" } }], legend: [["table", "Laplace noise on every key"], ["good", "stable histogram"]] }
      ];
    }
  });
})();
