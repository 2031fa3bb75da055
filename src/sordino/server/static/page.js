// What htmx does not do, on pages that work without either: a slider on a logarithmic scale, and dots that can be dragged.
"use strict";

function later(work, pause) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(work, pause); };
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
  document.body.addEventListener("htmx:afterSwap", range);
  range();
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
document.querySelectorAll("[data-slide]").forEach(slide);
document.querySelectorAll("svg[data-points]").forEach(points);
