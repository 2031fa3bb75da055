/* Laplace or Gaussian for d numbers? Root mean square error over d, for a person in every number or in one bin. */
"use strict";
course.page("dimension", {
  numbers: function (k) {
    var sigma = course.gaussianSigma(k.epsilon, k.delta), bits = k.shape === "bits";
    var laplace = function (d) { return Math.SQRT2 * (bits ? d : 1) / k.epsilon; }, gauss = function (d) { return (bits ? Math.sqrt(d) : 1) * sigma; };
    var first = Math.floor(Math.pow(sigma * k.epsilon, 2) / 2) + 1, printed = Math.sqrt(2 * Math.log(2 / k.delta)) / k.epsilon;
    while (first > 1 && Math.sqrt(first - 1) * sigma < Math.SQRT2 * (first - 1) / k.epsilon) first--;
    return { sigma: sigma, laplace: laplace(k.d), gauss: gauss(k.d), first: bits ? first : Infinity, printed: printed, l1: bits ? k.d : 1, l2: bits ? Math.sqrt(k.d) : 1,
      laplaces: course.range(1, 50, 50).map(laplace), gausses: course.range(1, 50, 50).map(gauss) };
  },
  draw: function (k, n) {
    var over = function (list) { return list.map(function (v, i) { return [i + 1, v]; }); }, top = Math.max(n.laplaces[49], n.gausses[49], n.printed * n.l2) * 1.1;
    var bits = k.shape === "bits";
    return [{ title: "Typical error of each number", height: 300, x: { low: 1, high: 50, label: "d, how many numbers" }, y: { low: 0, high: top },
      lines: [{ points: over(n.laplaces), as: "table" }, { points: over(n.gausses), as: "neighbour" }, { points: course.range(1, 50, 50).map(function (d) { return [d, n.printed * (bits ? Math.sqrt(d) : 1)]; }), as: "printed" }],
      dots: [{ x: k.d, y: n.laplace, as: "table" }, { x: k.d, y: n.gauss, as: "neighbour" }],
      rules: [{ x: k.d, as: "soft", label: "d = " + k.d, drag: { knob: "d" } }].concat(isFinite(n.first) && n.first <= 50 ? [{ x: n.first, as: "good", label: "Gaussian wins from " + n.first, answer: true, row: 1 }] : []),
      legend: [["table", "Laplace, scale L1/ε"], ["neighbour", "Gaussian, exact σ"], ["printed", "Gaussian, σ of note 004"]] },
    { title: "How far one person reaches", height: 150, x: { low: 0, high: Math.max(2, n.l1 * 1.05), label: "length of a person" }, y: { low: 0, high: 3, hide: true },
      bars: [], braces: [{ from: 0, to: n.l1, y: 2.1, as: "table", label: "L1: " + course.show(n.l1, 3) }, { from: 0, to: n.l2, y: 0.9, as: "neighbour", label: "L2: " + course.show(n.l2, 3) }] }];
  }
});
