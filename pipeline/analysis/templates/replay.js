"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const frames = data.frames, last = frames.length - 1;
  const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const RANKS = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"];
  const SUITS = ["\u2663", "\u2666", "\u2665", "\u2660"];
  const find = (id) => document.getElementById(id);
  const table = find("table"), columns = find("columns"), slider = find("slider"), list = find("moves");
  const DOWN = 0.32, UP = 0.52, TALLEST = 7.5;
  let at = 0, timer = null;

  // The list is text; with a script each move becomes a button that goes there.
  for (const [i, item] of [...list.children].entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = item.textContent.trim();
    button.addEventListener("click", () => { pause(); show(i + 1); });
    item.replaceChildren(button);
  }
  columns.style.setProperty("--n", data.columns);
  for (let i = 0; i < data.columns; i++) {
    columns.append(Object.assign(document.createElement("div"), { className: "column" }));
  }

  // What a column is: its cards, how many lie face down, and its height in card widths before it is squeezed.
  function columnOf(text) {
    const down = parseInt(text, 10), letters = text.replace(/^\d+/, "");
    return { down, letters, want: down * DOWN + Math.max(0, letters.length - down - 1) * UP };
  }

  // Room for the tallest column of all, so that nothing jumps on the way.
  const heights = frames.flatMap((frame) => frame.board.split("|").map((text) => columnOf(text).want));
  columns.style.setProperty("--most", Math.min(TALLEST, Math.max(...heights)).toFixed(3));

  function cardElement(letter, down, moved, top) {
    const place = LETTERS.indexOf(letter), suit = Math.floor(place / 13);
    const card = document.createElement("div");
    card.className = "card" + (down ? " down" : suit === 1 || suit === 2 ? " red" : "") + (moved ? " moved" : "");
    card.style.setProperty("--at", top.toFixed(3));
    const face = document.createElement("span");
    face.textContent = RANKS[place % 13] + SUITS[suit] + "\uFE0E";
    card.append(face);
    return card;
  }

  function show(step) {
    at = Math.max(0, Math.min(last, step));
    const frame = frames[at];
    frame.board.split("|").forEach((text, i) => {
      const { down, letters, want } = columnOf(text);
      const squeeze = want > TALLEST ? TALLEST / want : 1;
      let moved = 0;
      if (frame.moved) {
        moved = frame.moved[0] === -1 ? 1 : frame.moved[0] === i ? frame.moved[1] : 0;
      }
      let top = 0;
      const cards = [...letters].map((letter, k) => {
        const hidden = k < down;
        const card = cardElement(letter, hidden, !hidden && k >= letters.length - moved, top);
        top += (hidden ? DOWN : UP) * squeeze;
        return card;
      });
      const column = columns.children[i];
      column.style.setProperty("--tall", Math.min(want, TALLEST).toFixed(3));
      column.replaceChildren(...cards);
    });
    find("sets").textContent = `${frame.sets} of ${data.sets}`;
    find("stock").textContent = frame.stock;
    find("score").textContent = frame.score;
    find("step").textContent = `${at} of ${last}`;
    slider.value = at;
    for (const id of ["first", "back"]) find(id).disabled = at === 0;
    for (const id of ["forward", "end"]) find(id).disabled = at === last;
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const current = at ? list.children[at - 1].firstElementChild : null;
    find("said").textContent = current ? current.textContent : "The board before the first move.";
    if (current) {
      current.setAttribute("aria-current", "step");
      const above = current.offsetTop - list.clientHeight / 2;
      list.scrollTop = above;
    } else {
      list.scrollTop = 0;
    }
    if (at === last) pause();
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    find("play").textContent = "\u25B6\uFE0E Play";
  }

  function play() {
    if (at === last) show(0);
    clearInterval(timer);
    timer = setInterval(() => show(at + 1), Number(find("speed").value));
    find("play").textContent = "\u275A\u275A Pause";
  }

  const toggle = () => (timer === null ? play() : pause());
  const go = (step) => () => { pause(); show(step()); };
  const actions = {
    first: go(() => 0), back: go(() => at - 1), play: toggle, forward: go(() => at + 1), end: go(() => last),
  };
  for (const [id, action] of Object.entries(actions)) find(id).addEventListener("click", action);
  find("speed").addEventListener("change", () => { if (timer !== null) play(); });
  slider.max = last;
  slider.addEventListener("input", () => { pause(); show(Number(slider.value)); });

  const keys = {
    ArrowRight: actions.forward, ArrowLeft: actions.back, Home: actions.first, End: actions.end, " ": toggle,
  };
  document.addEventListener("keydown", (event) => {
    const own = event.target.closest("select, input");
    const pressed = event.key === " " && event.target.closest("button");
    if (own || pressed || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  // A swipe to the left goes forward, as in a book; a tap goes forward too.
  let start = null;
  table.addEventListener("pointerdown", (event) => { start = event.isPrimary ? event : null; });
  table.addEventListener("pointercancel", () => { start = null; });
  table.addEventListener("pointerup", (event) => {
    if (start === null) return;
    const right = event.clientX - start.clientX, down = Math.abs(event.clientY - start.clientY);
    start = null;
    if (down > 30) return;
    (right > 30 ? actions.back : actions.forward)();
  });

  document.body.classList.add("scripted");
  show(0);
})();
