/* Can a class of liars tell the truth? Randomized response, simulated here or with a real class. */
"use strict";
(function () {
  var Z = 1.959963984540054;
  course.page("response", {
    numbers: function (k) {
      var keep = Math.exp(k.epsilon) / (1 + Math.exp(k.epsilon)), tilt = 2 * keep - 1;
      var sd = tilt === 0 ? Infinity : Math.sqrt(keep * (1 - keep) / (k.n * tilt * tilt));
      return { keep: keep, odds: Math.exp(k.epsilon), sd: sd, half: Z * sd, yes: k.f * keep + (1 - k.f) * (1 - keep) };
    },
    draw: function (k, n, stage) {
      var uniform = course.stream(5 + k.n), said = 0, path = [], wide = [], low = [], reports = [];
      for (var i = 1; i <= k.n; i++) {
        var real = Math.floor(i * k.f + 1e-9) - Math.floor((i - 1) * k.f + 1e-9), report = uniform() < n.keep ? real : 1 - real;
        said += report; reports.push(report);
        if (i >= 5 && (i % Math.ceil(k.n / 200) === 0 || i === k.n) && k.epsilon > 0) {
          var h = Z * Math.sqrt(n.keep * (1 - n.keep) / i) / (2 * n.keep - 1);
          path.push([i, (said / i - 1 + n.keep) / (2 * n.keep - 1)]); wide.push([i, k.f + h]); low.push([i, k.f - h]);
        }
      }
      var tiles = Math.min(k.n, 300), across = Math.floor((stage.width - 30) / 14), dots = [];
      for (var t = 0; t < tiles; t++) dots.push({ x: t % across, y: -Math.floor(t / across), r: 4.5, as: reports[t] ? "release" : "soft" });
      return [
        { title: "What leaves the first " + tiles + " phones: black yes, grey no", height: 44 + 14 * Math.ceil(tiles / across), x: { low: -0.5, high: across - 0.5, hide: true }, y: { low: -Math.ceil(tiles / across) + 0.5, high: 0.5, hide: true }, dots: dots },
        { title: "The estimate as reports come in, and where 95% of classes lie", height: 240, x: { low: 0, high: k.n, label: "reports" }, y: { low: -0.2, high: 1.2 },
          lines: [{ points: path, as: "release" }, { points: wide, as: "accent", answer: true }, { points: low, as: "accent", answer: true }],
          rules: [{ y: k.f, as: "table", label: "true share", drag: { knob: "f" } }], legend: [["release", "estimate"], ["table", "truth"], ["accent", "95% band"]] }
      ];
    },
    live: function (lesson, place, state) {
      var box = document.getElementById("class");
      if (!box || location.protocol === "file:") return;
      var at = function (id) { return document.getElementById(id); }, code = new URLSearchParams(location.search).get("class") || "";
      var epsilon = 1.0986122886681098, keep = 0.75;                                                     // two coins, as in the note
      box.hidden = false;
      var chance = function () { var w = new Uint32Array(2); crypto.getRandomValues(w); return (w[0] * 2097152 + (w[1] >>> 11)) / 9007199254740992; };
      var interval = function (n, yes) {
        var s = yes / n, h = Z * Math.sqrt(keep * (1 - keep) / n) / (2 * keep - 1);
        return [(s - 1 + keep) / (2 * keep - 1), h];
      };
      if (code) {                                                                                         // a pupil
        at("pupil").hidden = false; at("teacher").hidden = true;
        var key = "class " + code, before = null;
        try { before = localStorage.getItem(key); } catch (refused) { before = null; }
        var done = function (text) { at("pupil-form").hidden = true; at("pupil-said").textContent = text; };
        if (before !== null) done("You have answered: “" + (before === "1" ? "yes" : "no") + "” left this device. A second draw would cost another ε " + epsilon.toFixed(2) + ", so there is none.");
        at("pupil-form").addEventListener("submit", function (event) {
          event.preventDefault();
          var picked = at("pupil-form").querySelector("input:checked");
          if (!picked) return;
          var truth = Number(picked.value), report = chance() < keep ? truth : 1 - truth;
          at("pupil-form").reset();                                                                       // the true answer is gone before anything is sent
          done("Chance has spoken. This leaves your device, and nothing else: " + (report ? "yes" : "no") + ".");
          try { localStorage.setItem(key, String(report)); } catch (refused) { /* private windows keep nothing */ }
          fetch("class/" + encodeURIComponent(code), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ report: report }), credentials: "omit" })
            .then(function (answer) { at("pupil-said").textContent += answer.ok ? " Sent. Look at the wall." : " The room is closed."; }, function () { at("pupil-said").textContent += " It could not be sent."; });
        });
        return;
      }
      at("open-room").addEventListener("click", function () {
        fetch("class", { method: "POST", credentials: "omit" }).then(function (answer) { return answer.ok ? answer.json() : Promise.reject(new Error("no room")); }).then(function (room) {
          at("open-room").hidden = true; at("wall").hidden = false;
          at("room-code").textContent = room.code;
          at("room-link").textContent = location.origin + location.pathname + "?class=" + room.code;
          var tag = "", path = [];
          var look = function () {
            fetch("class/" + room.code, { headers: tag ? { "If-None-Match": tag } : {}, credentials: "omit" }).then(function (answer) {
              if (answer.status === 304) return null;
              tag = answer.headers.get("ETag") || "";
              return answer.ok ? answer.json() : Promise.reject(new Error("closed"));
            }).then(function (seen) {
              if (seen && seen.n) {
                var e = interval(seen.n, seen.yes);
                path.push([seen.n, e[0]]);
                at("room-count").textContent = String(seen.n); at("room-yes").textContent = String(seen.yes);
                at("room-estimate").textContent = course.show(Math.round(100 * e[0]) / 100) + " ± " + course.show(Math.round(100 * e[1]) / 100);
                at("room-bar").value = Math.max(0, Math.min(1, e[0]));
              }
              setTimeout(look, 1500);
            }, function () { at("room-estimate").textContent += " (the room is closed)"; });
          };
          look();
        }, function () { at("room-error").textContent = "This server opens no rooms now."; });
      });
    }
  });
})();
