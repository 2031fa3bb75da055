/* How much does one answer give away? Two laws on four answers, the loss of each answer, and the delta left at epsilon. */
"use strict";
course.page("loss", {
  numbers: function (k) {
    var share = function (law) { var sum = law.reduce(function (a, b) { return a + b; }, 0); return law.map(function (v) { return v / sum; }); };
    var P = share(k.p), Q = share(k.q);
    var stick = function (p, q, e) { return p.reduce(function (sum, v, i) { return sum + Math.max(0, v - Math.exp(e) * q[i]); }, 0); };
    var sup = function (p, q) { return Math.max.apply(null, p.map(function (v, i) { return Math.log(v / q[i]); })); };
    var tail = P.reduce(function (sum, v, i) { return sum + (v > Math.exp(k.epsilon) * Q[i] ? v : 0); }, 0);
    return {
      losses: P.map(function (v, i) { return Math.log(v / Q[i]); }), sup: sup(P, Q), sup_back: sup(Q, P), pure: Math.max(sup(P, Q), sup(Q, P)),
      delta: stick(P, Q, k.epsilon), delta_back: stick(Q, P, k.epsilon), tail: tail,
      curve: course.range(0, 3, 61).map(function (e) { return stick(P, Q, e); }), P: P, Q: Q
    };
  },
  draw: function (k, n) {
    var names = ["a", "b", "c", "d"], sum = function (law) { return law.reduce(function (a, b) { return a + b; }, 0); };
    var pair = [];
    n.P.forEach(function (v, i) {
      pair.push({ x: i - 0.18, width: 0.36, y: v, as: "table", drag: { knob: "p", index: i, label: "weight of answer " + names[i] + " on the table", back: function (y) { return y * sum(k.p); } } });
      pair.push({ x: i + 0.18, width: 0.36, y: n.Q[i], as: "neighbour", drag: { knob: "q", index: i, label: "weight of answer " + names[i] + " on the neighbour", back: function (y) { return y * sum(k.q); } } });
    });
    var most = Math.max(1.2, Math.min(4, 1.15 * Math.max(n.pure, k.epsilon)));
    return [
      { title: "How often each answer comes", height: 190, x: { low: -0.6, high: 3.6, names: names, label: "answer" }, y: { low: 0, high: 1 }, bars: pair, legend: [["table", "the table"], ["neighbour", "its neighbour"]] },
      { title: "Loss of each answer, ln P/Q", height: 180, x: { low: -0.6, high: 3.6, names: names, label: "answer" }, y: { low: -most, high: most },
        bars: n.losses.map(function (v, i) { return { x: i, width: 0.5, y: v, as: v > k.epsilon ? "printed" : "release" }; }),
        rules: [{ y: k.epsilon, as: "accent", label: "ε", drag: { knob: "epsilon" } }, { y: -k.epsilon, as: "accent", label: "−ε" }] },
      { title: "δ that is left at each ε", height: 180, x: { low: 0, high: 3, label: "ε" }, y: { low: 0, high: Math.max(0.3, n.curve[0] * 1.15) },
        lines: [{ points: n.curve.map(function (v, i) { return [i * 0.05, v]; }), as: "table" }], dots: [{ x: k.epsilon, y: n.delta, as: "accent", answer: true }], rules: [{ x: k.epsilon, as: "accent" }, { x: k.epsilon, as: "accent", label: "δ " + course.show(n.delta, 3), answer: true }] }
    ];
  }
});
