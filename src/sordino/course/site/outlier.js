/* What can one outlier do? Twenty well-behaved rows and one to drag: mean, Huber's estimate, median. */
"use strict";
(function () {
  var ROWS = []; for (var i = 1; i <= 20; i++) ROWS.push(course.quantile((i - 0.5) / 20));
  var SQUARE = ROWS.reduce(function (s, z) { return s + z * z / 100; }, 0);
  var huber = function (rows, c) { return course.bisect(function (t) { return -rows.reduce(function (s, v) { return s + Math.max(-c, Math.min(c, v - t)); }, 0); }, -60, 60); };
  course.page("outlier", {
    numbers: function (k) {
      var rows = ROWS.concat([k.row]), sorted = rows.slice().sort(function (a, b) { return a - b; }), c = k.c;
      var share = 2 * course.Phi(c) - 1, pdf = Math.exp(-c * c / 2) / Math.sqrt(2 * Math.PI), score = share - 2 * c * pdf + c * c * (1 - share);
      return { mean: rows.reduce(function (a, b) { return a + b; }, 0) / 21, huber: huber(rows, c), median: sorted[10], share: share, ges: c / share, V: score / (share * share), efficiency: share * share / score, slope: (SQUARE + k.row) / (SQUARE + 1) };
    },
    draw: function (k, n) {
      var xs = course.range(-6, 6, 121), psi = function (x) { return Math.max(-k.c, Math.min(k.c, x)) / n.share; };
      var far = Math.max(4, Math.abs(k.row) * 1.1, 4);
      return [
        { title: "Drag the orange row", height: 150, x: { low: -far, high: far, label: "value" }, y: { low: 0, high: 3, hide: true },
          dots: ROWS.map(function (v) { return { x: v, y: 0.6, r: 4, as: "table" }; }).concat([{ x: k.row, y: 0.6, r: 8, as: "neighbour", drag: { knob: "row", label: "the row that moves" } }]),
          rules: [{ x: n.mean, as: "printed", label: "mean " + course.show(n.mean, 3), row: 0 }, { x: n.huber, as: "good", label: "Huber " + course.show(n.huber, 3), row: 1, answer: true }, { x: n.median, as: "accent", label: "median " + course.show(n.median, 3), row: 2 }] },
        { title: "Influence of a row, at the normal law", height: 220, x: { low: -6, high: 6, label: "value of the row" }, y: { low: -4, high: 4 },
          lines: [{ points: xs.map(function (x) { return [x, x]; }), as: "printed" }, { points: xs.map(function (x) { return [x, psi(x)]; }), as: "good" }],
          rules: [{ x: k.c, as: "accent", label: "c", drag: { knob: "c" } }, { y: n.ges, as: "good", label: "gross error sensitivity " + course.show(n.ges, 4), row: 1 }], legend: [["printed", "mean"], ["good", "Huber"]] },
        { title: "Leverage: the same row as y at x = 1 turns a line through twenty points", height: 210, x: { low: -0.3, high: 1.1, label: "x" }, y: { low: -Math.max(2, Math.abs(k.row) * 1.1), high: Math.max(2, Math.abs(k.row) * 1.1) },
          lines: [{ points: [[-0.3, -0.3], [1.1, 1.1]], as: "table" }, { points: [[-0.3, -0.3 * n.slope], [1.1, 1.1 * n.slope]], as: "printed" }],
          dots: ROWS.map(function (z) { return { x: z / 10, y: z / 10, r: 3, as: "table" }; }).concat([{ x: 1, y: k.row, r: 7, as: "neighbour" }]), legend: [["table", "without the row"], ["printed", "least squares with it: slope " + course.show(n.slope, 3)]] }
      ];
    }
  });
})();
