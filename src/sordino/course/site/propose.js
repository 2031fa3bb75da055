/* Dare you propose a bound? The distance to instability, the noisy test, and the chance to get through. */
"use strict";
(function () {
  var table = function (k) {
    var out = [], i, low = Math.floor(k.n / 2) + 2;
    for (i = 1; i <= k.n; i++) {
      if (k.shape === "camps") out.push(i <= low ? 25 : 75);
      else { var p = (i - 0.5) / k.n; out.push(Math.min(100, Math.max(0, Math.round(10 * (50 + 6 * Math.log(p / (1 - p)))) / 10))); }
    }
    return out;
  };
  var optimal = function (e1, e2, delta) {
    var out = [delta];
    while (out[out.length - 1] < 1 && out.length < 5000) {
      var pi = out[out.length - 1], square = pi * Math.exp(e1), root = (Math.sqrt(square) + Math.sqrt(square + 4 * delta)) / 2, up = root * root;
      if (up > Math.exp(e1 + 2 * e2) * pi) up = Math.exp(e1 + e2) * pi + delta;
      out.push(Math.max(pi, Math.min(up, 1 - Math.max(1 - pi - delta, 0) * Math.exp(-e1 - e2), 1)));
      if (1 - out[out.length - 1] < 1e-15) out[out.length - 1] = 1;
    }
    return out;
  };
  course.page("propose", {
    numbers: function (k) {
      var x = table(k), rungs = course.medianRungs(x, "add_remove", k.n + 2), d = rungs.findIndex(function (a) { return a > k.B; });
      if (d < 0) d = Infinity;
      var T = Math.log(1 / (2 * k.delta)) / k.e1, chance = function (at) { return at <= T ? Math.exp(-k.e1 * (T - at)) / 2 : 1 - Math.exp(-k.e1 * (at - T)) / 2; };
      var best = optimal(k.e1, k.e2, k.delta), ninety = 0;
      while (chance(ninety) < 0.99) ninety++;
      return { local: rungs[0], d: d, T: T, pass: chance(d), optimal: d === Infinity ? 1 : best[Math.min(d, best.length - 1)], need: ninety, need_optimal: best.findIndex(function (v) { return v >= 0.99; }),
        epsilon: k.e1 + k.e2, sd: Math.SQRT2 * k.B / k.e2, rungs: rungs.slice(0, 121), curve: course.range(0, 60, 61).map(chance), best: course.range(0, 60, 61).map(function (i) { return best[Math.min(i, best.length - 1)]; }) };
    },
    sample: function (k, n, uniform) { return Math.min(n.d, 1e6) + course.laplaceOf(uniform()) / k.e1; },
    draw: function (k, n, stage) {
      var end = Math.max(60, Math.min(120, isFinite(n.d) ? n.d * 1.2 : 60)), top = Math.max(2.2 * k.B, Math.min(105, Math.max.apply(null, n.rungs.slice(0, Math.floor(end)))) * 1.1, 1);
      var passed = (stage.chance || []).filter(function (z) { return z > n.T; }).length;
      return [
        { title: "The gap k changes can open, against the proposed B", height: 220, x: { low: 0, high: end, label: "k, people changed" }, y: { low: 0, high: top },
          lines: [{ points: n.rungs.map(function (a, i) { return [i, a]; }).filter(function (p) { return p[0] <= end; }), as: "table" }],
          rules: [{ y: k.B, as: "accent", label: "B", drag: { knob: "B" } }].concat(isFinite(n.d) ? [{ x: n.d, as: "good", label: "distance " + n.d, answer: true }] : []) },
        { title: stage.chance ? passed + " of " + stage.chance.length + " noisy distances pass" : "Chance to pass, by distance", height: 220, x: { low: 0, high: 60, label: "distance d" }, y: { low: 0, high: 1 },
          lines: [{ points: n.curve.map(function (v, i) { return [i, v]; }), as: "release" }, { points: n.best.map(function (v, i) { return [i, v]; }), as: "good" }],
          dots: (stage.chance || []).filter(function (z) { return z > 0 && z < 60; }).map(function (z, i) { return { x: z, y: 0.05 + 0.9 * (i % 20) / 20, r: 3, as: z > n.T ? "good" : "printed" }; }),
          rules: [{ x: n.T, as: "accent", label: "T = " + course.show(n.T, 4) }].concat(n.d <= 60 ? [{ x: n.d, as: "good", row: 1, label: "d", answer: true }] : []), legend: [["release", "Laplace test"], ["good", "optimal test"]] }
      ];
    }
  });
})();
