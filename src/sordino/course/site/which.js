/* Which table is it? The same median, noise of three loudnesses, and twenty rounds against the limit. */
"use strict";
(function () {
  var HIGH = 1e6;
  var setting = function (k) {
    var beta = 0.3 * k.epsilon;
    if (k.noise === "local") return { law: course.laws.laplace(), x: 0, y: HIGH / k.epsilon };
    if (k.noise === "global") return { law: course.laws.laplace(), x: HIGH / k.epsilon, y: HIGH / k.epsilon };
    return { law: course.laws.power(k.epsilon, beta), x: Math.exp(-beta) * HIGH, y: HIGH };
  };
  course.page("which", {
    numbers: function (k) {
      var s = setting(k), best = 1;
      if (s.x > 0) best = s.x === s.y ? 0.5 : 0.5 + 0.5 * course.stick(course.placed(s.law, 0, s.y), course.placed(s.law, 0, s.x), 0);
      return { scale: s.x, scale_other: s.y, best: best, limit: Math.exp(k.epsilon) / (1 + Math.exp(k.epsilon)), rounds20: 20 * best };
    },
    sample: function (k, n, uniform) {
      var s = setting(k), first = uniform() < 0.5, scale = first ? s.x : s.y, u = uniform(), sign = uniform() < 0.5 ? -1 : 1;
      if (scale === 0) return { z: 0, first: first };
      var z = course.bisect(function (t) { return u / 2 - s.law.above(t); }, 0, 1e9);
      return { z: sign * z * scale, first: first };
    },
    draw: function (k, n, stage) {
      var s = setting(k), reach = 6 * HIGH / k.epsilon, zs = course.range(-reach, reach, 301), p = s.x ? course.placed(s.law, 0, s.x) : null, q = course.placed(s.law, 0, s.y);
      var top = Math.exp(p ? p.log(0) : q.log(0)) * 1.1, cut = p && s.x < s.y ? course.bisect(function (z) { return q.log(z) - p.log(z); }, 0, reach * 4) : 0;
      var right = 0, dots = (stage.chance || []).map(function (d, i) {
        var says = s.x === s.y ? i % 2 === 0 : p ? Math.abs(d.z) < cut : d.z === 0;
        if (says === d.first) right++;
        return { x: Math.max(-reach, Math.min(reach, d.z)), y: top * (0.05 + 0.85 * (i % 20) / 20), r: 4, as: d.first ? "table" : "neighbour" };
      });
      var rules = [{ x: 0, as: "soft", label: p ? null : "x always answers 0" }];
      if (cut) rules = rules.concat([{ x: cut, as: "good", label: "beyond: say x′" }, { x: -cut, as: "good" }]);
      return [
        { title: dots.length ? "Best rule: " + right + " of " + dots.length + " right" : "Where the released median falls", height: 260, x: { low: -reach, high: reach, label: "released median (true one 0 in both)" }, y: { low: 0, high: top, hide: true },
          lines: (p ? [{ points: zs.map(function (z) { return [z, Math.exp(p.log(z))]; }), as: "table" }] : []).concat([{ points: zs.map(function (z) { return [z, Math.exp(q.log(z))]; }), as: "neighbour" }]),
          rules: rules, dots: dots, legend: [["table", "x: 51 zeros"], ["neighbour", "x′: 50 zeros"]] },
        { title: "Right guesses, of all", height: 110, x: { low: 0.45, high: 1.02, label: "share right" }, y: { low: 0, high: 1, hide: true },
          rules: [{ x: 0.5, as: "soft", label: "a coin" }, { x: n.limit, as: "accent", label: "limit at ε" }, { x: n.best, as: n.best > n.limit + 1e-9 ? "printed" : "good", label: "best rule " + course.show(n.best, 3), row: 1, answer: true }] }
      ];
    }
  });
})();
