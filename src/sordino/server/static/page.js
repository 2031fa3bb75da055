// What htmx does not do, on pages that work without either: a slider on a logarithmic scale.
"use strict";

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

for (const part of document.querySelectorAll("[data-scripted]")) part.hidden = false;
document.querySelectorAll("[data-slide]").forEach(slide);
