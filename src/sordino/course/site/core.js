/* The arithmetic of the course: every number a page shows comes from here or from the page's own `numbers`. No framework, no modules. */
"use strict";
var course = { pages: {} };

(function (c) {
  /* erfc to full precision: a series near zero, a continued fraction (Lentz) beyond. */
  c.erfc = function (x) {
    if (x < 0) return 2 - c.erfc(-x);
    if (x < 1.5) {
      var term = x, sum = x;
      for (var i = 1; i < 200; i++) { term *= -x * x / i; var add = term / (2 * i + 1); sum += add; if (Math.abs(add) < 1e-17 * Math.abs(sum)) break; }
      return 1 - 2 / Math.sqrt(Math.PI) * sum;
    }
    if (x > 27.2) return 0;
    var tiny = 1e-300, f = x, C = x, D = 0;
    for (var k = 1; k < 400; k++) {
      var a = k / 2;
      D = x + a * D; if (D === 0) D = tiny; D = 1 / D;
      C = x + a / C; if (C === 0) C = tiny;
      var step = C * D; f *= step;
      if (Math.abs(step - 1) < 1e-16) break;
    }
    return Math.exp(-x * x) / (f * Math.sqrt(Math.PI));
  };
  c.Phi = function (x) { return c.erfc(-x / Math.SQRT2) / 2; };
  c.bisect = function (increasing, low, high) {          // where an increasing function crosses zero
    for (var i = 0; i < 200; i++) {
      var mid = (low + high) / 2;
      if (mid <= low || mid >= high) break;
      if (increasing(mid) > 0) high = mid; else low = mid;
    }
    return (low + high) / 2;
  };
  c.quantile = function (p) { return c.bisect(function (z) { return c.Phi(z) - p; }, -40, 40); };
  c.gaussianDelta = function (mu, eps) { return mu <= 0 ? 0 : Math.max(0, c.Phi(mu / 2 - eps / mu) - Math.exp(eps) * c.Phi(-mu / 2 - eps / mu)); };
  c.gaussianSigma = function (eps, delta) { return 1 / c.bisect(function (mu) { return c.gaussianDelta(mu, eps) - delta; }, 1e-9, 60); };

  /* Laws at scale 1, symmetric about 0: log-density and the mass above z. */
  c.laws = {
    laplace: function () { return { log: function (z) { return -Math.abs(z) - Math.LN2; }, above: function (z) { return z < 0 ? 1 - Math.exp(z) / 2 : Math.exp(-z) / 2; }, kinks: [0] }; },
    gaussian: function () { return { log: function (z) { return -z * z / 2 - Math.log(2 * Math.PI) / 2; }, above: function (z) { return c.Phi(-z); }, kinks: [] }; },
    cauchy: function () { return { log: function (z) { return -Math.log1p(z * z) - Math.log(Math.PI); }, above: function (z) { return z > 0 ? Math.atan(1 / z) / Math.PI : z < 0 ? 1 + Math.atan(1 / z) / Math.PI : 0.5; }, kinks: [] }; },
    power: function (eps, beta) {
      var a = eps / beta, peak = Math.exp(a * Math.log1p(-1 / a)), turn = 1 / eps;
      var logC = (a - 1) * Math.log1p(-1 / a) + (a + 1) * Math.log1p(1 / a);
      var beyond = peak / (1 - 1 / a) * (1 + 1 / a), mass = (1 - peak + beyond) / (beta * a);      // of one half
      var norm = Math.log(2 * mass);
      var right = function (z) {                                                                    // above z >= 0
        if (z >= turn) return Math.exp(logC - a * Math.log1p(beta * z)) / (beta * a) / (2 * mass);
        return (beyond + Math.exp(a * Math.log1p(-beta * z)) - peak) / (beta * a) / (2 * mass);
      };
      var log = function (z) {
        z = Math.abs(z);
        return (z <= turn ? (a - 1) * Math.log1p(-beta * z) : logC - (a + 1) * Math.log1p(beta * z)) - norm;
      };
      var part = function (z) { return -z * Math.exp(a * Math.log1p(-beta * z)) / (beta * a) - Math.exp((a + 1) * Math.log1p(-beta * z)) / (beta * beta * a * (a + 1)); };
      var far = turn * Math.exp(-a * Math.log1p(beta * turn)) / (beta * a) + Math.exp((1 - a) * Math.log1p(beta * turn)) / (beta * beta * a * (a - 1));
      return { log: log, above: function (z) { return z >= 0 ? right(z) : 1 - right(-z); }, kinks: [-turn, 0, turn], meanAbs: (part(turn) - part(0) + Math.exp(logC) * far) / mass };
    }
  };
  c.placed = function (law, centre, scale) {
    return {
      log: function (z) { return law.log((z - centre) / scale) - Math.log(scale); },
      above: function (z) { return law.above((z - centre) / scale); },
      kinks: law.kinks.map(function (k) { return centre + k * scale; }), centre: centre, scale: scale
    };
  };
  /* The hockey stick of p against q: where the log-ratio exceeds eps, found on a net and refined, then masses. */
  c.stick = function (p, q, eps) {
    var excess = function (z) { return p.log(z) - q.log(z) - eps; };
    var narrow = Math.min(p.scale, q.scale), middle = (p.centre + q.centre) / 2, net = [];
    for (var i = -600; i <= 600; i++) net.push(middle + narrow * Math.sinh(i / 45));
    net = net.concat(p.kinks, q.kinks).sort(function (a, b) { return a - b; });
    var between = function (law, low, high) {
      if (low >= law.centre) return law.above(low) - (high === Infinity ? 0 : law.above(high));
      var flip = function (z) { return law.above(2 * law.centre - z); };                            // the mass below z, by symmetry
      if (high <= law.centre) return flip(high) - (low === -Infinity ? 0 : flip(low));
      return 1 - (high === Infinity ? 0 : law.above(high)) - (low === -Infinity ? 0 : flip(low));
    };
    var total = 0, start = excess(net[0]) > 0 ? -Infinity : null;
    for (var j = 1; j < net.length; j++) {
      var was = excess(net[j - 1]) > 0, now = excess(net[j]) > 0;
      if (was === now) continue;
      var low = net[j - 1], high = net[j];
      for (var k = 0; k < 100; k++) { var mid = (low + high) / 2; if (mid <= low || mid >= high) break; if ((excess(mid) > 0) === was) low = mid; else high = mid; }
      if (now) start = low; else { total += between(p, start, low) - Math.exp(eps) * between(q, start, low); start = null; }
    }
    if (start !== null) total += between(p, start, Infinity) - Math.exp(eps) * between(q, start, Infinity);
    return total > 1e-15 ? total : 0;                                                              // below lies rounding only
  };

  /* Sensitivity of a lower median of sorted values in [0, 100]: A(k), the largest local sensitivity within k changes. */
  c.medianRungs = function (values, relation, count) {
    var x = values.slice().sort(function (a, b) { return a - b; }), n = x.length, out = [];
    var at = function (rank) { return rank < 1 ? 0 : rank > n ? 100 : x[rank - 1]; };
    for (var k = 0; k < count; k++) {
      var found = 0;
      if (relation === "add_remove") found = at(Math.floor((n + k) / 2) + 1) - at(Math.ceil((n - 1 - k) / 2));
      else { var r = Math.ceil(n / 2); for (var t = 0; t <= k + 1; t++) found = Math.max(found, at(r + t) - at(r + t - k - 1)); }
      out.push(found);
    }
    return out;
  };

  /* A seeded stream for pictures (mulberry32), and the machine's own chance for reports that leave it. */
  c.stream = function (seed) {
    var state = seed >>> 0;
    return function () {
      state = (state + 0x6D2B79F5) >>> 0;
      var t = state;
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
    };
  };
  c.laplaceOf = function (u) { return u < 0.5 ? Math.log(2 * u) : -Math.log(2 * (1 - u)); };
  c.range = function (low, high, count) { var out = []; for (var i = 0; i < count; i++) out.push(low + (high - low) * i / (count - 1)); return out; };
  c.page = function (slug, page) { c.pages[slug] = page; };

  /* Numbers people type: 1/2, 0,5, 2e-5, 30 000. */
  c.read = function (text) {
    var plain = String(text).trim().replace(/\s+/g, "").replace("−", "-");
    if (/^-?[1-9]\d{0,2}(,\d{3})+$/.test(plain)) plain = plain.replace(/,/g, "");      // 30,000 is thirty thousand, 0,5 is a half
    else if (/^-?\d+,\d+$/.test(plain)) plain = plain.replace(",", ".");
    var ratio = plain.split("/");
    if (ratio.length === 2 && ratio[0] !== "" && ratio[1] !== "") return Number(ratio[0]) / Number(ratio[1]);
    if (/%$/.test(plain)) return Number(plain.slice(0, -1)) / 100;
    return plain === "" ? NaN : Number(plain);
  };
  c.show = function (value, digits) {
    if (typeof value === "string") return value;
    if (value === Infinity) return "∞";
    if (typeof value !== "number" || isNaN(value)) return "–";
    digits = digits || 4;
    var size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e").replace("-", "−");
    if (Number.isInteger(value)) return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",").replace("-", "−");
    var text = size >= 1000 ? value.toFixed(0).replace(/\B(?=(\d{3})+(?!\d))/g, ",") : String(Number(value.toPrecision(digits)));
    return text.replace("-", "−");
  };
})(course);
