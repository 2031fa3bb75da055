/* When may you tell the plain truth? Counts, the lead, the distance, and the chance that the winner is named. */
"use strict";
(function () {
  var NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"];
  var table = function (eps, delta) {
    var out = [delta];
    while (out[out.length - 1] < 1 && out.length < 5000) {
      var pi = out[out.length - 1];
      out.push(Math.min(1, Math.exp(eps) * pi + delta, 1 - Math.exp(-eps) * Math.max(1 - pi - delta, 0)));
      if (1 - out[out.length - 1] < 1e-15) out[out.length - 1] = 1;
    }
    return out;
  };
  var chance = function (over) { return over < 0 ? Math.exp(over) / 2 : 1 - Math.exp(-over) / 2; };
  course.page("mode", {
    numbers: function (k) {
      var counts = k.counts.map(Math.round), best = 0;
      counts.forEach(function (v, i) { if (v > counts[best]) best = i; });
      var second = Math.max.apply(null, counts.filter(function (_, i) { return i !== best; }).concat([0])), need = counts[best];
      counts.forEach(function (v, i) { if (i !== best && v > 0) need = Math.min(need, counts[best] - v + (i > best ? 1 : 0)); });
      var d = Math.max(0, (k.relation === "replace" ? Math.ceil(need / 2) : need) - 1), pi = table(k.epsilon, k.delta), lead = counts[best] - second;
      var T = Math.log(1 / k.delta) / k.epsilon;
      return { winner: NAMES[best], lead: lead, need: need, d: d, optimal: pi[Math.min(d, pi.length - 1)], laplace: chance(k.epsilon * (d - Math.log(1 / (2 * k.delta)) / k.epsilon)),
        printed: chance(k.epsilon * (lead - T)), T: T, certain: pi.findIndex(function (v) { return v >= 0.99; }), pi: course.range(0, 60, 61).map(function (i) { return pi[Math.min(i, pi.length - 1)]; }) };
    },
    draw: function (k, n) {
      var most = Math.max.apply(null, k.counts) * 1.2 + 5, of = function (lead) { return Math.max(0, (k.relation === "replace" ? Math.ceil((lead + 1) / 2) : lead + 1) - 1); };
      var leads = course.range(0, 60, 61);
      return [
        { title: "How often each key occurs; a key nobody has seen waits at 0", height: 230, x: { low: -0.6, high: k.counts.length + 0.6, names: NAMES.slice(0, k.counts.length).concat(["unseen"]), label: "key" }, y: { low: 0, high: most },
          bars: k.counts.map(function (v, i) { return { x: i, width: 0.6, y: v, as: NAMES[i] === n.winner ? "release" : "table", text: String(v), drag: { knob: "counts", index: i, label: "count of " + NAMES[i] } }; }).concat([{ x: k.counts.length, width: 0.6, y: 0.3, as: "neighbour" }]) },
        { title: "Chance that the winner is named, by its lead", height: 230, x: { low: 0, high: 60, label: "lead of the winner" }, y: { low: 0, high: 1 },
          lines: [{ points: leads.map(function (v) { return [v, n.pi[Math.min(of(v), 60)]]; }), as: "good", answer: true }, { points: leads.map(function (v) { return [v, chance(k.epsilon * (of(v) - Math.log(1 / (2 * k.delta)) / k.epsilon))]; }), as: "release" }, { points: leads.map(function (v) { return [v, chance(k.epsilon * (v - n.T))]; }), as: "printed" }],
          rules: [{ x: Math.min(n.lead, 60), as: "soft", label: "lead " + n.lead }], legend: [["good", "optimal test"], ["release", "Laplace test"], ["printed", "lead as distance, as printed"]] }
      ];
    }
  });
})();
