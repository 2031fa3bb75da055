/* Break it, then mend it: linkage, tracing, reconstruction, before and after. */
"use strict";
(function () {
/* Can f plus a Laplace draw in doubles be exactly x? Invert the draw, and repeat the sampler's own arithmetic for the few uniforms around. */
var reachable = function (x, f) {
  var half = Math.round(Math.exp(-Math.abs(x - f)) * 4503599627370496);
  for (var k = Math.max(half - 8, 1); k <= Math.min(half + 8, 4503599627370496); k++) {
    var u = k / 9007199254740992, rest = 1 - u;
    if (f + Math.log(u + u) === x || f - Math.log(2 - rest - rest) === x) return true;
  }
  return false;
};
var kept = null;
var lowBits = function () {                                   // 400 naive releases of 0 and of 1; told if only one of them can be behind it
  if (kept) return kept;
  var uniform = course.stream(11), told = 0, wrong = 0;
  for (var i = 0; i < 800; i++) {
    var f = i % 2, u = (Math.floor(uniform() * 94906265) * 94906265 + Math.floor(uniform() * 94906265)) % 9007199254740992 / 9007199254740992;
    if (u === 0) continue;
    var x = u < 0.5 ? f + Math.log(u + u) : f - Math.log(2 - u - u), here = reachable(x, f), there = reachable(x, 1 - f);
    if (here && !there) told++;
    if (there && !here) wrong++;
  }
  kept = { told: told / 800, wrong: wrong / 800 };
  return kept;
};
course.page("attacks", {
  numbers: function (k) {
    var alive = function (a) { return Math.exp(-Math.exp(-8.5) * Math.expm1(a / 10)); }, sum = 0;
    for (var a = 0.5; a <= 120.5; a++) sum += alive(a);
    var q = 0.495 * alive(k.age) / (365.25 * sum), sigma = course.gaussianSigma(k.epsilon, 1e-6);
    var auc = function (s) { return course.Phi(Math.sqrt(k.d / (2 * k.n * (1 + 4 * k.n * s * s)))); };
    var right = function (s) { return course.Phi(Math.sqrt(Math.max(0, k.Q - 64)) / (4 * s)); };
    return { alone: Math.exp((k.N - 1) * Math.log1p(-q)), others: (k.N - 1) * q, auc: auc(0), auc_private: auc(sigma * Math.sqrt(k.d) / k.n), right: right(k.sigma), right_private: right(sigma * Math.sqrt(k.Q)),
      sticky: course.Phi(1 / (2 * k.sigma)), sticky_many: course.Phi(Math.sqrt(k.m) / (2 * k.sigma)), told: lowBits().told, wrong: lowBits().wrong };
  },
  draw: function (k, n) {
    var bench = function (title, label, before, after) {
      return { title: title, height: 120, x: { low: 0.4, high: 1.04, label: label }, y: { low: 0, high: 2, hide: true }, rules: [{ x: 0.5, as: "soft", label: "a coin" }].concat(after === null ? [] : [{ x: after, as: "good", label: (title.indexOf("Sticky") === 0 ? "asked once " : "private ") + course.show(after, 3), row: 1 }]).concat([{ x: before, as: "printed", label: "plain " + course.show(before, 3), row: 2, answer: title.indexOf("Recon") === 0 }]) };
    };
    return [
      { title: "Linkage: alone with a birth date and a sex, by size of the town", height: 190, x: { low: 1000, high: 1e6, log: true, label: "people in the town" }, y: { low: 0, high: 1 },
        lines: [{ points: course.range(3, 6, 61).map(function (p) { var N = Math.pow(10, p); return [N, Math.exp((N - 1) * Math.log1p(-n.others / Math.max(1, k.N - 1)))]; }), as: "printed" }], rules: [{ x: k.N, as: "soft", label: course.show(n.alone, 3) + " alone", drag: { knob: "N" } }] },
      bench("Tracing: who was in the study, from its averages", "area under the curve", n.auc, n.auc_private),
      bench("Reconstruction: 64 secret bits from sums over subsets", "bits told right", n.right, n.right_private),
      bench("Sticky noise: one answer, or " + k.m + " wordings of one question", "guess right", n.sticky_many, n.sticky),
      bench("Low bits: 0 or 1, from one answer of a naive sampler", "told, and never wrong", n.told, null)
    ];
  }
});
})();
