/* When should a private descent stop? Sixty noisy paths, and the error by the number of steps fixed beforehand. */
"use strict";
(function () {
  var kept = {};
  var rows = function (n) { if (!kept[n]) { kept[n] = []; for (var i = 1; i <= n; i++) kept[n].push(course.quantile((i - 0.5) / n)); } return kept[n]; };
  var pull = function (data, mu, c) { var s = 0; for (var i = 0; i < data.length; i++) s += Math.max(-c, Math.min(c, data[i] - mu)); return s; };
  var calm = function (data, k, steps) { var mu = 2, out = [mu]; for (var t = 0; t < steps; t++) { mu += k.eta / k.n * pull(data, mu, k.B); out.push(mu); } return out; };
  course.page("descent", {
    numbers: function (k) {
      var data = rows(k.n), path = calm(data, k, 100), inside = data.filter(function (v) { return Math.abs(v) <= k.B; }).length / k.n, r = 1 - k.eta * inside, s = (k.relation === "replace" ? 2 : 1) * k.B;
      var curve = course.range(1, 100, 100).map(function (T) {
        var noise = 2 * Math.pow(k.eta * s * T / (k.n * k.epsilon), 2), many = Math.abs(1 - r * r) < 1e-12 ? T : (1 - Math.pow(r, 2 * T)) / (1 - r * r);
        return Math.sqrt(path[T] * path[T] + noise * many);
      });
      var best = curve.indexOf(Math.min.apply(null, curve)) + 1;
      return { scale: s * k.T / k.epsilon, calm: path[k.T], rmse: curve[k.T - 1], best: best, best_rmse: curve[best - 1], share: inside, curve: curve };
    },
    draw: function (k, n) {
      var data = rows(k.n), uniform = course.stream(7), paths = [], ends = [];
      for (var p = 0; p < 60; p++) {
        var mu = 2, path = [[0, mu]];
        for (var t = 1; t <= k.T; t++) { mu += k.eta / k.n * (pull(data, mu, k.B) + n.scale * course.laplaceOf(uniform())); path.push([t, mu]); }
        paths.push({ points: path, as: "release thin" }); ends.push(mu);
      }
      paths.push({ points: calm(data, k, k.T).map(function (v, i) { return [i, v]; }), as: "table" });
      return [
        { title: "Sixty private descents from 2 towards 0", height: 230, x: { low: 0, high: k.T, label: "step" }, y: { low: -1, high: 2.5 }, lines: paths, rules: [{ y: 0, as: "good", label: "the estimate" }], legend: [["table", "without noise"], ["release", "private"]] },
        { title: "Typical error at the end, by T", height: 220, x: { low: 1, high: 100, log: true, label: "T, steps fixed beforehand" }, y: { low: 0.01, high: 3, log: true },
          lines: [{ points: n.curve.map(function (v, i) { return [i + 1, v]; }), as: "release" }], rules: [{ x: k.T, as: "soft", label: "T", drag: { knob: "T" } }, { x: n.best, as: "good", label: "best " + n.best, row: 1, answer: true }] }
      ];
    }
  });
})();
