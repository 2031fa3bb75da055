/* Can a median be drawn from a hat? Every whole number gets a weight by its distance in ranks. */
"use strict";
(function () {
  course.page("hat", {
    numbers: function (k) {
      var x = k.values.map(Math.round), n = x.length, reach = k.relation === "replace" ? 1 : Math.max(k.q, 1 - k.q), scores = [], probs = [];
      var far = Math.ceil(Math.log(101e6) / (k.epsilon / (2 * reach)));      // beyond it all points together weigh less than a millionth
      for (var y = 0; y <= 100; y++) {
        var below = x.filter(function (v) { return v < y; }).length, upto = x.filter(function (v) { return v <= y; }).length;
        scores.push(0 - Math.min(far, Math.max(0, below - k.q * n, k.q * n - upto)));
      }
      var weights = scores.map(function (u) { return Math.exp(k.epsilon * u / (2 * reach)); }), sum = weights.reduce(function (a, b) { return a + b; }, 0);
      probs = weights.map(function (w) { return w / sum; });
      var sorted = x.slice().sort(function (a, b) { return a - b; }), centre = sorted[Math.max(1, Math.ceil(k.q * n - 1e-12)) - 1];
      var rungs = course.medianRungs(sorted, k.relation, n + 2), beta = 0.3 * k.epsilon, smooth = 0;
      rungs.forEach(function (a, i) { smooth = Math.max(smooth, Math.exp(-beta * i) * a); });
      return { centre: centre, probs: probs, scores: scores, between: probs.slice(38, 53).reduce(function (a, b) { return a + b; }, 0), error: probs.reduce(function (s, p, i) { return s + p * Math.abs(i - centre); }, 0),
        smooth_error: smooth * course.laws.power(k.epsilon, beta).meanAbs, global_error: 100 / k.epsilon, at: probs[centre] };
    },
    sample: function (k, n, uniform) { var u = uniform(), i = 0; while (u > n.probs[i] && i < 100) { u -= n.probs[i]; i++; } return i; },
    draw: function (k, n, stage) {
      var least = Math.min.apply(null, n.scores), seen = {};
      return [
        { title: "The table, and how many ranks each value is off", height: 190, x: { low: 0, high: 100, label: "value" }, y: { low: least, high: 1 },
          lines: [{ points: n.scores.reduce(function (all, u, i) { return all.concat([[i - 0.5, u], [i + 0.5, u]]); }, []), as: "table" }],
          dots: k.values.map(function (v, i) { return { x: v, y: 0.5, r: 6, as: "table", drag: { knob: "values", index: i, label: "person " + (i + 1) } }; }) },
        { title: "Chance of each value", height: 220, x: { low: 0, high: 100, label: "released value" }, y: { low: 0, high: Math.max.apply(null, n.probs) * 1.15 },
          bars: n.probs.map(function (p, i) { return { x: i, width: 1, y: p, as: i >= 38 && i <= 52 ? "good" : "soft", answer: true }; }),
          dots: (stage.chance || []).map(function (v) { seen[v] = (seen[v] || 0) + 1; return { x: v, y: Math.min(1, seen[v] / 24) * Math.max.apply(null, n.probs), r: 3, as: "release" }; }), rules: [{ x: n.centre, as: "release", label: "truth " + n.centre }] }
      ];
    }
  });
})();
