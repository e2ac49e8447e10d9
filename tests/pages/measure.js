// What a reader could not read on this page: a list of sentences, empty where all is well.
(function () {
  "use strict";
  const LEAST_LETTER = 9.5;  // pixels of a letter as it is shown
  const found = [];
  const shown = (one) => {
    const style = getComputedStyle(one), box = one.getBoundingClientRect();
    return style.visibility !== "hidden" && style.display !== "none" && box.width > 0 && box.height > 0;
  };
  const say = (what, one) => found.push(what + ": '" + one.textContent.trim().slice(0, 60) + "'");
  const colour = (text) => {
    const numbers = (text.match(/[\d.]+/g) || []).map(Number);
    if (text.startsWith("color(srgb")) return [numbers[0] * 255, numbers[1] * 255, numbers[2] * 255, numbers.length > 3 ? numbers[3] : 1];
    return numbers.length < 3 ? null : [numbers[0], numbers[1], numbers[2], numbers.length > 3 ? numbers[3] : 1];
  };
  const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const contrast = (a, b) => { const [dark, bright] = [light(a), light(b)].sort((x, y) => x - y); return (bright + 0.05) / (dark + 0.05); };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
  const ground = (one) => {  // the nearest filled background behind an element of HTML
    for (let at = one; at; at = at.parentElement) {
      const c = colour(getComputedStyle(at).backgroundColor);
      if (c && c[3] > 0) return c[3] < 1 && at.parentElement ? over(c, ground(at.parentElement)) : c;
    }
    return colour(getComputedStyle(document.body).backgroundColor);
  };
  const inside = (x, y, box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  const behind = (text, box) => {  // the last rectangle that was drawn before a text of an SVG, below its middle
    const svg = text.ownerSVGElement, x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
    let c = ground(svg.parentElement);
    for (const rect of svg.querySelectorAll("rect")) {
      if (!(rect.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
      const fill = colour(getComputedStyle(rect).fill);
      if (fill && fill[3] > 0 && inside(x, y, rect.getBoundingClientRect())) c = over(fill, c);
    }
    return c;
  };
  const enough = (one, front, back, size, weight) => {
    const large = size >= 24 || (size >= 18.66 && weight >= 700), ratio = contrast(over(front, back), back);
    if (ratio < (large ? 3 : 4.5)) say("contrast " + ratio.toFixed(2), one);
  };

  if (document.documentElement.scrollWidth > document.documentElement.clientWidth)
    found.push("the page is wider than the screen: " + document.documentElement.scrollWidth);

  // Texts of HTML: contrast, size, and none that leaves its box unless that scrolls.
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const one = node.parentElement;
    if (!node.textContent.trim() || one.closest("svg, script, style, noscript, .md-search, [hidden], select, dialog") || !shown(one)) continue;
    const style = getComputedStyle(one), size = parseFloat(style.fontSize), range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.width === 0) continue;
    if (size < LEAST_LETTER) say("letters of " + size + " px", one);
    enough(one, colour(style.color), ground(one), size, Number(style.fontWeight));
    const scrolls = one.closest(".scroll, pre, [data-scrolls]");
    if (!scrolls && (box.right > document.documentElement.clientWidth + 1 || box.left < -1)) say("text leaves the screen", one);
    const cell = one.closest("td, th, .tiles > div, button");
    if (cell && box.right > cell.getBoundingClientRect().right + 1) say("text leaves its box", one);
  }

  // Texts of pictures: not clipped, not over each other, large enough, with contrast.
  for (const svg of document.querySelectorAll("svg")) {
    if (!shown(svg)) continue;
    const frame = svg.getBoundingClientRect(), texts = [];
    for (const text of svg.querySelectorAll("text")) {
      if (!shown(text)) continue;
      const box = text.getBoundingClientRect(), style = getComputedStyle(text), matrix = text.getScreenCTM();
      const size = parseFloat(style.fontSize) * Math.hypot(matrix.a, matrix.b);
      if (size < LEAST_LETTER) say("letters of " + size.toFixed(1) + " px in a picture", text);
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2) say("clipped by the picture", text);
      enough(text, colour(style.fill), behind(text, box), size, Number(style.fontWeight));
      // Lines of text are a little higher than their letters: only what overlaps by more is unreadable.
      for (const [other, place] of texts)
        if (Math.min(box.right, place.right) - Math.max(box.left, place.left) > 1 && Math.min(box.bottom, place.bottom) - Math.max(box.top, place.top) > 3)
          say("over '" + other.textContent + "'", text);
      texts.push([text, box]);
    }
    // Names stand beside the plot: no line of the chart runs through them.
    const plot = svg.querySelectorAll(".line");
    for (const name of svg.querySelectorAll(".name"))
      for (const line of plot)
        if (line.getBoundingClientRect().right > name.getBoundingClientRect().left) say("a line runs into", name);
    // Lines and bars are seen against the card (WCAG 1.4.11).
    for (const line of svg.querySelectorAll(".line, .point, rect.fill")) {
      const style = getComputedStyle(line), front = colour(line.matches(".line") ? style.stroke : style.fill);
      if (front && contrast(front, ground(svg.parentElement)) < 3) found.push("a line or mark with little contrast: " + line.getAttribute("class"));
    }
  }

  for (const bar of document.querySelectorAll(".bar"))
    if (contrast(colour(getComputedStyle(bar).backgroundColor), ground(bar.parentElement)) < 3 || colour(getComputedStyle(bar).backgroundColor)[3] === 0)
      found.push("a bar with little contrast");

  // What Lighthouse looks at first.
  if (!document.documentElement.lang) found.push("the page has no language");
  if (!document.title) found.push("the page has no title");
  if (!document.querySelector("meta[name=viewport]")) found.push("the page has no viewport");
  if (document.querySelectorAll("h1").length !== 1) found.push("the page has " + document.querySelectorAll("h1").length + " headings of the first level");
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1 && level) say("a heading skips a level", heading);
    level = own;
  }
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  for (const id of new Set(ids.filter((one, at) => ids.indexOf(one) !== at))) found.push("two elements are called " + id);
  for (const image of document.querySelectorAll("svg[role=img], img"))
    if (!(image.getAttribute("aria-label") || image.getAttribute("alt"))) found.push("a picture without words");
  for (const box of document.querySelectorAll(".scroll"))
    if (box.scrollWidth > box.clientWidth + 1 && box.tabIndex < 0) found.push("a box that scrolls but not by the keyboard");
  for (const cell of document.querySelectorAll("th")) if (!cell.textContent.trim()) found.push("a heading of a column without words");
  return found;
})()
