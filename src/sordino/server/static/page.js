// Small improvements to pages that work without them: live prices, a slider, parts loaded when opened, dots that can be dragged.
"use strict";

async function fill(place, address) {
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { credentials: "same-origin", redirect: "follow" });
    const text = await answer.text();
    if (answer.redirected || !answer.headers.get("content-type").startsWith("text/html")) { location.reload(); return; }
    place.innerHTML = text;
  } finally {
    place.removeAttribute("aria-busy");
  }
  place.dispatchEvent(new Event("filled"));
  loadable(place);
}

function later(work, pause) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(work, pause); };
}

// A form whose answer is shown beside it: every change asks for the part of the page that depends on it.
function live(form) {
  const place = document.querySelector(form.getAttribute("data-live"));  // a field named dataset hides form.dataset
  let turn = 0;
  const ask = later(async () => {
    const fields = new URLSearchParams(new FormData(form));
    if (form.elements.sql && !fields.get("sql").trim()) return;
    fields.set("part", "1");
    const mine = ++turn, aside = document.createElement("div");
    await fill(aside, `${form.action}?${fields}`);
    if (mine !== turn) return;
    place.replaceChildren(...aside.childNodes);
    place.dispatchEvent(new Event("filled"));
    loadable(place);
  }, 300);
  form.addEventListener("input", ask);
}

// A slider on a logarithmic scale between the least and the most accurate line of the price list.
function slide(slider) {
  const field = document.querySelector(slider.dataset.slide), price = document.getElementById("price");
  let low = 0, high = 0;
  const range = () => {
    const found = price.querySelector("[data-range]");
    slider.disabled = !found;
    if (!found) return;
    [low, high] = [Number(found.dataset.low), Number(found.dataset.high)];
    if (!field.value) field.value = Number(found.dataset.at).toPrecision(3);
    place();
  };
  const place = () => {
    const at = Number(field.value);
    if (at > 0 && high > low) slider.value = Math.round(100 * (1 - Math.log(at / low) / Math.log(high / low)));
  };
  slider.addEventListener("input", () => {
    if (high > low) field.value = Number((high * Math.pow(low / high, slider.value / 100)).toPrecision(3));
    slider.setAttribute("aria-valuetext", `within ${field.value}`);
  });
  field.addEventListener("input", place);
  price.addEventListener("filled", range);
  range();
}

function loadable(root) {
  for (const part of root.querySelectorAll("details[data-load]")) {
    part.addEventListener("toggle", () => {
      if (!part.open || part.dataset.loaded) return;
      part.dataset.loaded = "1";
      const place = document.createElement("div");
      place.textContent = "Comparing the mechanisms...";
      part.querySelector("p").replaceWith(place);
      fill(place, part.dataset.load);
    });
  }
}

// Dots on a line from 0 to 100 that are the numbers of a field; a mouse, a finger or the arrow keys move them.
function points(svg) {
  const field = document.querySelector(svg.dataset.points), wide = 600, left = 20;
  const tell = later(() => field.form.dispatchEvent(new Event("input")), 50);
  const read = () => field.value.split(",").map(Number).filter((v) => Number.isFinite(v)).slice(0, 41);
  const write = (dots) => {
    field.value = dots.map((dot) => Number(dot.getAttribute("aria-valuenow"))).sort((a, b) => a - b).join(", ");
    tell();
  };
  const draw = () => {
    svg.querySelectorAll("circle").forEach((dot) => dot.remove());
    const dots = read().map((value) => {
      const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      const put = (v) => {
        const kept = Math.round(Math.min(100, Math.max(0, v)) * 2) / 2;
        dot.setAttribute("cx", left + wide * kept / 100);
        dot.setAttribute("aria-valuenow", kept);
      };
      const facts = { cy: 60, r: 9, role: "slider", tabindex: 0, "aria-label": "number", "aria-valuemin": 0, "aria-valuemax": 100 };
      for (const [name, fact] of Object.entries(facts)) dot.setAttribute(name, fact);
      put(value);
      dot.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
        if (!step) return;
        event.preventDefault();
        put(Number(dot.getAttribute("aria-valuenow")) + step);
        write(dots);
      });
      dot.addEventListener("pointerdown", (event) => { dot.setPointerCapture(event.pointerId); event.preventDefault(); dot.focus(); });
      dot.addEventListener("pointermove", (event) => {
        if (!dot.hasPointerCapture(event.pointerId)) return;
        const box = svg.getBoundingClientRect();
        put(((event.clientX - box.left) * 640 / box.width - left) * 100 / wide);
        write(dots);
      });
      svg.append(dot);
      return dot;
    });
  };
  field.addEventListener("change", draw);
  draw();
}

for (const part of document.querySelectorAll("[data-scripted]")) part.hidden = false;
document.querySelectorAll("form[data-live]").forEach(live);
document.querySelectorAll("[data-slide]").forEach(slide);
document.querySelectorAll("svg[data-points]").forEach(points);
loadable(document);
