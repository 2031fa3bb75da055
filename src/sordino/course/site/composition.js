/* How fast does privacy run out? k answers at one price: the sum, zCDP, and the exact worst case. */
"use strict";
(function () {
  var logs = [0];
  var logFactorial = function (n) { while (logs.length <= n) logs.push(logs[logs.length - 1] + Math.log(logs.length)); return logs[n]; };
  var exact = function (e0, k, delta) {                        // k randomized responses, the worst of all pure mechanisms
    var lp = -Math.log1p(Math.exp(-e0)), lq = -Math.log1p(Math.exp(e0));
    var stick = function (eps) {
      var sum = 0;
      for (var j = 0; j <= k; j++) {
        var loss = (2 * j - k) * e0;
        if (loss <= eps) continue;
        sum += Math.exp(logFactorial(k) - logFactorial(j) - logFactorial(k - j) + j * lp + (k - j) * lq) * -Math.expm1(eps - loss);
      }
      return sum;
    };
    if (stick(0) <= delta) return 0;
    return course.bisect(function (eps) { return delta - stick(eps); }, 0, k * e0);
  };
  var zcdp = function (rho, delta) {
    var x = Math.exp(course.bisect(function (t) { var y = Math.exp(t); return rho * y * y + Math.log1p(y) + Math.log(delta); }, -60, 60));
    return Math.max(0, (1 + x) * rho - Math.log(delta) / x - Math.log1p(x) / x - Math.log1p(1 / x));
  };
  course.page("composition", {
    numbers: function (k) {
      var rho = k.k * k.e0 * Math.tanh(k.e0 / 2), sum = k.k * k.e0, unit = 1000, fit = Math.floor(Math.round(k.cap * unit) / Math.round(k.e0 * unit));
      return { sum: sum, rho: rho, zcdp: Math.min(sum, zcdp(rho, k.delta)), exact: exact(k.e0, k.k, k.delta), fit: fit, left: (Math.round(k.cap * unit) - fit * Math.round(k.e0 * unit)) / unit };
    },
    draw: function (k, n) {
      var ks = course.range(1, 300, 61).map(Math.round), top = Math.max(1.25 * n.sum, 2 * n.zcdp, 0.5);
      var over = function (f) { return ks.map(function (j) { return [j, f(j)]; }); }, shown = Math.min(n.fit, 400), blocks = [];
      for (var i = 0; i < shown; i++) blocks.push({ x: (i + 0.5) * k.e0, width: k.e0, y: 1, as: "table" });
      blocks.push({ x: (n.fit + 0.5) * k.e0, width: k.e0, y: 1, as: "printed", answer: true });
      return [
        { title: "What k answers cost together", height: 270, x: { low: 1, high: 300, label: "k, answers at ε₀ each" }, y: { low: 0, high: top },
          lines: [{ points: over(function (j) { return j * k.e0; }), as: "table" }, { points: over(function (j) { return Math.min(j * k.e0, zcdp(j * k.e0 * Math.tanh(k.e0 / 2), k.delta)); }), as: "neighbour" }, { points: over(function (j) { return exact(k.e0, j, k.delta); }), as: "good", answer: true }],
          rules: [{ x: k.k, as: "soft", label: "k = " + k.k, drag: { knob: "k" } }], legend: [["table", "the sum kε₀"], ["neighbour", "zCDP at δ"], ["good", "exact at δ"]] },
        { title: "A filter that adds: " + n.fit + " answers pass, the next is refused", height: 110, x: { low: 0, high: Math.max(k.cap * 1.3, (n.fit + 1) * k.e0), label: "ε spent" }, y: { low: 0, high: 1.2, hide: true }, bars: blocks, rules: [{ x: k.cap, as: "accent", label: "cap", drag: { knob: "cap" } }] }
      ];
    }
  });
})();
