/* What is delta? The density of the loss of Gaussian noise; beyond epsilon only the excess counts. */
"use strict";
course.page("delta", {
  numbers: function (k) {
    var mu = 1 / k.sigma;
    var tail = course.Phi(mu / 2 - k.epsilon / mu), delta = course.gaussianDelta(mu, k.epsilon);
    return { mu: mu, tail: tail, delta: delta, ratio: delta > 1e-200 ? tail / delta : Infinity };
  },
  draw: function (k, n) {
    var low = n.mu * n.mu / 2 - 4 * n.mu, high = Math.max(n.mu * n.mu / 2 + 4 * n.mu, k.epsilon + 2.5 * n.mu);
    var pdf = function (l) { var z = (l - n.mu * n.mu / 2) / n.mu; return Math.exp(-z * z / 2) / (n.mu * Math.sqrt(2 * Math.PI)); };
    var top = pdf(n.mu * n.mu / 2) * 1.1, far = Math.max(k.epsilon, low), beyond = course.range(far, Math.max(high, far + 4 * n.mu), 160);
    var end = beyond[beyond.length - 1], peak = Math.max.apply(null, beyond.map(pdf));
    var weight = function (l) { return pdf(l) * (1 - Math.exp(k.epsilon - l)); };
    var shade = [{ points: beyond.map(function (l) { return [l, pdf(l)]; }), as: "neighbour" }, { points: beyond.map(function (l) { return [l, weight(l)]; }), as: "neighbour dark", answer: true }];
    return [
      { title: "How often each loss comes", height: 230, x: { low: low, high: high, label: "loss" }, y: { low: 0, high: top }, areas: shade,
        lines: [{ points: course.range(low, high, 241).map(function (l) { return [l, pdf(l)]; }), as: "table" }], rules: [{ x: k.epsilon, as: "accent", label: "ε", drag: { knob: "epsilon" } }] },
      { title: "The same beyond ε, enlarged", height: 200, x: { low: far, high: end, label: "loss" }, y: { low: 0, high: peak * 1.1 || 1 }, areas: shade,
        lines: [{ points: beyond.map(function (l) { return [l, pdf(l)]; }), as: "neighbour" }, { points: beyond.map(function (l) { return [l, weight(l)]; }), as: "release", answer: true }],
        legend: [["neighbour", "P(loss > ε): all of it"], ["release", "δ: only the excess 1 − e^(ε−loss)"]] }
    ];
  }
});
