// What htmx does not do, on pages that work without either: a price that is out of date cannot be paid, rows of fields grow, a slider.
"use strict";
const price = document.getElementById("price"), told = () => document.getElementById("said");

// From the first keystroke until a new price is here, the card is dim and nothing on it pays; after a failed request it stays so.
function stale(words) {
  if (!price || !price.querySelector(".offer")) return;
  price.classList.add("stale");
  price.setAttribute("aria-busy", "true");
  for (const button of price.querySelectorAll("[data-pay]")) button.disabled = true;
  if (words) told().textContent = words;
}
function fresh() {
  price.classList.remove("stale");
  price.removeAttribute("aria-busy");
}
function failed() {
  stale("");
  told().textContent = "The price could not be fetched, so nothing can be paid here. Press “Show the price”.";
  told().classList.add("problem");
}
if (price) {
  for (const id of ["building", "asking"]) document.getElementById(id).addEventListener("input", () => stale("Working out the price"));
  document.body.addEventListener("htmx:beforeSwap", event => {
    if (event.detail.target !== price) return;
    if (event.detail.xhr.status >= 500 || event.detail.xhr.status === 429) { event.detail.shouldSwap = false; failed(); }
  });
  document.body.addEventListener("htmx:afterSettle", event => { if (event.detail.target === price) { fresh(); ready(); } });
  for (const name of ["htmx:sendError", "htmx:timeout", "htmx:swapError"]) document.body.addEventListener(name, failed);
  price.addEventListener("submit", event => {  // one click, one request; a second click finds the button asleep
    for (const button of event.target.querySelectorAll("button")) setTimeout(() => { button.disabled = true; button.textContent = "Asking…"; });
    price.setAttribute("aria-busy", "true");
  });
}

// A slider on a logarithmic scale between the least and the most accurate line of the price list.
function range() {
  const found = price && price.querySelector("[data-range]");
  return found ? [Number(found.dataset.low), Number(found.dataset.high), found.dataset.at] : [0, 0, ""];
}
function slide(slider) {
  const field = document.querySelector(slider.dataset.slide);
  slider.addEventListener("input", () => {
    const [low, high] = range();
    if (high > low) field.value = Number((high * Math.pow(low / high, slider.value / 100)).toPrecision(3));
    slider.setAttribute("aria-valuetext", `within ${field.value}`);
    other(field);
  });
  field.addEventListener("input", () => placed(slider));
}
function placed(slider) {
  const [low, high, middle] = range(), field = document.querySelector(slider.dataset.slide), at = Number(field.value || middle);
  slider.disabled = !(high > low);
  field.placeholder = middle && Number(middle).toPrecision(3);
  if (at > 0 && high > low && document.activeElement !== slider) slider.value = Math.round(100 * (1 - Math.log(at / low) / Math.log(high / low)));
}

// An accuracy and a price are two ways to say one thing: choosing one empties the other.
function other(field) {
  const rival = field.dataset.or && document.querySelector(field.dataset.or);
  if (rival && field.value) rival.value = "";
}

// One more empty row of fields whenever the last one is used; values are suggested by the column.
function rows(box) {
  const lines = box.querySelectorAll(".line"), last = lines[lines.length - 1];
  if (!last || !last.querySelector("[data-first]").value || lines.length >= Number(box.dataset.rows)) return;
  const made = last.cloneNode(true), n = lines.length + 1;
  for (const field of made.querySelectorAll("select, input")) {
    const id = field.name + n;
    const label = made.querySelector(`label[for="${field.id}"]`);
    label.htmlFor = field.id = id;
    label.textContent = label.textContent.replace(/ \d+$/, "") + " " + n;
    field.value = "";
    field.removeAttribute("list");
  }
  const first = made.querySelector("[data-first]");
  if (!first.querySelector('option[value=""]')) first.prepend(new Option("(none)", ""));
  first.value = "";
  if (made.querySelector("[name=is]")) made.querySelector("[name=is]").value = "=";
  box.append(made);
  dress(made);
}
function dress(line) {
  const share = line.querySelector("[data-share]"), column = line.querySelector("[data-values]");
  if (share) share.hidden = line.querySelector("[name=statistic]").value !== "quantile";
  if (!column) return;
  const value = line.querySelector("[name=value]");
  const list = [...document.querySelectorAll("datalist[data-column]")].find(one => one.dataset.column === column.value);
  value.placeholder = list ? list.dataset.hint : "";
  if (list && list.children.length) value.setAttribute("list", list.id); else value.removeAttribute("list");
}

function ready() {
  for (const part of document.querySelectorAll("[data-scripted]")) part.hidden = false;
  for (const slider of document.querySelectorAll("[data-slide]")) placed(slider);
  document.querySelectorAll(".line").forEach(dress);
  ranked();
}
function ranked() {
  const ends = document.getElementById("interval"), rank = document.getElementById("rank");
  if (rank) rank.hidden = !ends || ends.value !== "false";
}
document.addEventListener("input", event => {
  other(event.target);
  ranked();
  const line = event.target.closest(".line");
  if (line) { dress(line); rows(line.parentElement); }
});
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}
document.querySelectorAll("[data-slide]").forEach(slide);
ready();

// A picture as PNG: drawn here, from the page's own SVG; nothing is sent anywhere.
for (const button of document.querySelectorAll("[data-png]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const svg = document.querySelector(`${button.dataset.png} svg`).cloneNode(true), [, , wide, high] = svg.getAttribute("viewBox").split(" ").map(Number);
    svg.setAttribute("width", 2 * wide);
    svg.setAttribute("height", 2 * high);
    svg.setAttribute("color", "#1b1f24");
    const image = new Image();
    image.onload = () => {
      const sheet = Object.assign(document.createElement("canvas"), {width: 2 * wide, height: 2 * high}), pen = sheet.getContext("2d");
      pen.fillStyle = "#ffffff";
      pen.fillRect(0, 0, sheet.width, sheet.height);
      pen.drawImage(image, 0, 0);
      Object.assign(document.createElement("a"), {href: sheet.toDataURL("image/png"), download: "answer.png"}).click();
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(svg));
  });
}

// How far a promised table is: the clock and its public deadline, nothing that the server would have to say.
for (const bar of document.querySelectorAll("progress[data-seconds]")) {
  const seconds = Number(bar.dataset.seconds), start = performance.now() - 1000 * seconds * bar.value;
  const turn = () => { bar.value = seconds ? Math.min(0.99, (performance.now() - start) / 1000 / seconds) : 0.99; if (bar.isConnected) setTimeout(turn, 500); };
  turn();
}
for (const link of document.querySelectorAll("a[data-follow]")) location.assign(link.href);  // answered when the table has left
