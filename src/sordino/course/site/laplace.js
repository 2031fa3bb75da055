/* How wrong is a Laplace answer? Two densities on a logarithmic axis, and the loss between them. */
"use strict";
course.page("laplace", {
  numbers: function (k) {
    var b = 1 / (k.n * k.epsilon), replace = k.neighbour === "replace";
    var shift = replace ? 1 / k.n : 1 / (k.n + 1), other = replace ? b : 1 / ((k.n + 1) * k.epsilon);
    var law = course.laws.laplace(), p = course.placed(law, 0, b), q = course.placed(law, shift, other);
    return { b: b, half: b * Math.log(20), risk: 2 * b * b, sd: Math.SQRT2 * b, shift: shift, other: other,
      sup: replace ? k.epsilon : Infinity, delta: replace ? 0 : Math.max(course.stick(p, q, k.epsilon), course.stick(q, p, k.epsilon)) };
  },
  sample: function (k, n, uniform) { return n.b * course.laplaceOf(uniform()); },
  draw: function (k, n, stage) {
    var reach = 9 * n.b, zs = course.range(-reach, reach + n.shift, 241), printed = k.neighbour === "add", end = printed ? 3 * k.epsilon : 1.6 * k.epsilon;
    var log = function (centre, b) { return function (z) { return Math.exp(-Math.abs(z - centre) / b) / (2 * b); }; };
    var f = log(0, n.b), g = log(n.shift, n.other), other = printed ? "printed" : "neighbour";
    var loss = function (z) { return Math.log(f(z) / g(z)); };
    var x = { low: -reach, high: reach + n.shift, label: "released mean, from the true one" };
    return [
      { title: "Where the released mean falls (log axis)", x: x, y: { low: 1e-4 / n.b, high: 1 / n.b, log: true },
        lines: [{ points: zs.map(function (z) { return [z, f(z)]; }), as: "table" }, { points: zs.map(function (z) { return [z, g(z)]; }), as: other }],
        rules: [{ x: -n.half, as: "good", answer: true }, { x: n.half, as: "good", answer: true, label: "95% within ±" + course.show(n.half, 3) }],
        dots: (stage.chance || []).map(function (z, i) { return { x: z, y: 1.3e-4 / n.b * Math.pow(1.6, i % 12), r: 3, as: "release" }; }),
        legend: [["table", "this table"], [other, printed ? "one more row, noise as printed" : "one bit replaced"]] },
      { title: "The loss: how much the answer z speaks for the table", height: 190, x: x, y: { low: -end, high: end },
        lines: [{ points: zs.map(function (z) { return [z, loss(z)]; }), as: printed ? "printed" : "release" }],
        rules: [{ y: k.epsilon, as: "accent", label: "ε", drag: { knob: "epsilon" } }, { y: -k.epsilon, as: "accent", label: "−ε" }] }
    ];
  }
});
