// What is wrong with the tables and captions of this page: a list of sentences, empty where all is well.
(function () {
  "use strict";
  const MARGIN = 60;         // pixels of the screen beside a table that could have them
  const LEAST_GAP = 4;       // pixels between a title and the picture's letters
  const LEAST_OF_A_LINE = 10;  // letters a line, where words are broken into three lines or more
  const found = [];
  const say = (what, one) => found.push(what + ": '" + one.textContent.trim().slice(0, 60) + "'");
  const shown = (one) => one.getBoundingClientRect().width > 0 && getComputedStyle(one).visibility !== "hidden";
  const letters = (one) => { const range = document.createRange(); range.selectNodeContents(one); return range; };
  const lines = (one) => new Set([...letters(one).getClientRects()].map((box) => Math.round(box.bottom / 4))).size;

  for (const box of document.querySelectorAll(".scroll")) {
    if (!shown(box) || box.scrollWidth <= box.clientWidth + 1) continue;
    const place = box.getBoundingClientRect();
    if (!box.closest("figure") && document.documentElement.clientWidth - place.width > MARGIN) say("a table scrolls beside an empty margin", box);
    // A row is as high as what can be seen of it.
    for (const row of box.querySelectorAll("tr")) {
      const cells = [...row.querySelectorAll("td")];
      if (!cells.length || row.querySelector("th:not([scope=row])")) continue;
      const height = (one) => letters(one).getBoundingClientRect().height;
      const seen = Math.max(18, ...cells.filter((one) => letters(one).getBoundingClientRect().left < place.right).map(height));
      if (Math.max(...cells.map(height)) > seen + 8) say("a row is high for a cell out of sight", row);
    }
  }

  for (const cell of document.querySelectorAll("td, th")) {
    if (!shown(cell)) continue;
    const text = cell.textContent.trim();
    if (cell.matches("td") && lines(cell) > 2 && text.length / lines(cell) < LEAST_OF_A_LINE) say("a word a line", cell);
    if (/\bus\b/.test(text)) say("us in the place of µs", cell);
    if (cell.matches("td:not(.word)") && /^\d{4,}( \[|$)/.test(text)) say("a number without groups", cell);
  }

  // Numbers of a column: as many decimals, or as many digits.
  const digits = (text) => { const value = Number(text), after = (text.split(".")[1] || "").length; return value === 0 || after === (value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0); };
  for (const body of document.querySelectorAll("tbody")) {
    const rows = [...body.rows].map((row) => [...row.cells]);
    for (let column = 0; column < Math.max(0, ...rows.map((row) => row.length)); column++) {
      const cells = rows.map((row) => row[column]).filter((cell) => cell && !cell.matches(".text, .word") && !/B$/.test(cell.textContent.trim()));
      const numbers = cells.flatMap((cell) => cell.textContent.replace(/(\d) (?=\d{3})/g, "$1").match(/^-?\d+(\.\d+)?/)?.[0] ?? []);
      const decimals = new Set(numbers.map((one) => (one.split(".")[1] || "").length));
      if (decimals.size > 1 && !numbers.every(digits)) found.push("digits of a column: " + numbers.slice(0, 6).join(", "));
    }
  }

  for (const title of document.querySelectorAll("figcaption"))
    for (const text of title.closest("figure").querySelectorAll("svg text"))
      if (shown(text) && text.getBoundingClientRect().top < letters(title).getBoundingClientRect().bottom + LEAST_GAP) say("touches the title", text);

  // A band that is cut off says so, in the picture and below it. Percents may well end at 0 or 100.
  for (const figure of document.querySelectorAll("figure.chart")) {
    if (figure.querySelector(".cut") && !figure.textContent.includes("beyond the plot")) say("a band is cut off without notice", figure);
    for (const svg of figure.querySelectorAll("svg.wide")) {
      const levels = [...svg.querySelectorAll("line.grid")].filter((one) => one.getAttribute("y1") === one.getAttribute("y2")).map((one) => Number(one.getAttribute("y1")));
      const ends = [Math.min(...levels), Math.max(...levels)], percents = [...svg.querySelectorAll(".tick")].some((one) => one.textContent.includes("%"));
      for (const band of percents ? [] : svg.querySelectorAll(".band"))
        if (!band.parentElement.querySelector(".cut") && [...band.points].some((one) => ends.some((end) => Math.abs(one.y - end) < 0.06))) say("a band ends at the edge without an arrow", band.parentElement);
    }
  }
  return found;
})()
