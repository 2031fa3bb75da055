/* Why must noise slide and stretch? One law against its slid and its stretched image, at half of epsilon. */
"use strict";
(function () {
  var made = function (k) { return k.law === "power" ? course.laws.power(k.epsilon, 0.3 * k.epsilon) : course.laws[k.law](); };
  var dilated = function (law, by, half) {
    if (by === 0) return 0;
    var narrow = course.placed(law, 0, 1), wide = course.placed(law, 0, Math.exp(by));
    return Math.max(course.stick(wide, narrow, half), course.stick(narrow, wide, half));
  };
  course.page("admissible", {
    numbers: function (k) {
      var law = made(k), half = k.epsilon / 2, still = course.placed(law, 0, 1), moved = course.placed(law, k.slide, 1), step = k.epsilon / 5;
      var one = Math.acosh(Math.cosh(step) + step * step * Math.exp(-step) / 2);
      var beta = course.bisect(function (by) { return dilated(law, by, half) - k.delta / 2; }, 0, 3);
      return {
        slid: k.slide === 0 ? 0 : Math.max(course.stick(still, moved, half), course.stick(moved, still, half)), dilated: dilated(law, k.lambda, half), allowed: k.delta / 2,
        beta: beta, note: k.epsilon / (2 * Math.log(2 / k.delta)), product: (k.d - 1) * step + one
      };
    },
    draw: function (k, n) {
      var law = made(k), h = course.placed(law, 0, 1), s = course.placed(law, k.slide, 1), w = course.placed(law, 0, Math.exp(k.lambda)), half = k.epsilon / 2;
      var zs = course.range(-12, 12, 301), curve = function (p) { return zs.map(function (z) { return [z, Math.exp(p.log(z))]; }); }, far = course.range(-40, 40, 321);
      var ratio = function (p) { return far.map(function (z) { return [z, p.log(z) - h.log(z)]; }); };
      return [
        { title: "The noise, slid and stretched", height: 210, x: { low: -12, high: 12, label: "z" }, y: { low: 1e-5, high: 1, log: true },
          lines: [{ points: curve(h), as: "table" }, { points: curve(s), as: "neighbour" }, { points: curve(w), as: "good" }], rules: [{ x: k.slide, as: "neighbour", drag: { knob: "slide" } }],
          legend: [["table", "h"], ["neighbour", "slid"], ["good", "stretched by e^λ"]] },
        { title: "Log-ratio to h: inside ±ε/2 costs nothing", height: 220, x: { low: -40, high: 40, label: "z" }, y: { low: -2.5 * half, high: 2.5 * half },
          lines: [{ points: ratio(s), as: "neighbour" }, { points: ratio(w), as: "good" }], rules: [{ y: half, as: "accent", label: "ε/2" }, { y: -half, as: "accent", label: "−ε/2" }] },
        { title: "Largest stretch that keeps δ/2", height: 110, x: { low: 0, high: Math.max(0.12, Math.min(0.6, 1.3 * Math.max(n.beta, k.lambda))), label: "λ" }, y: { low: 0, high: 1, hide: true },
          rules: [{ x: k.lambda, as: "good", label: "λ", drag: { knob: "lambda" } }, { x: n.beta, as: "release", label: "largest " + course.show(n.beta, 3), row: 1, answer: true }, { x: n.note, as: "printed", label: "Lemma 13.3", row: 2 }] }
      ];
    }
  });
})();
