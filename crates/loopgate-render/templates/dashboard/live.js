// Shows what is new on an open page: when the server says that it may have changed, the page is fetched again and its main
// part put in place of the old one. What is unfolded, focused, typed and scrolled to stays.
"use strict";
(() => {
  // A page as it stood then does not change.
  if (!window.EventSource || new URLSearchParams(location.search).has("at")) return;
  const POLL = 30_000;
  let shown = null;
  let busy = false;
  let again = false;

  const keyOf = (it) => it.dataset.key ?? it.querySelector("summary")?.textContent ?? "";
  const nameOf = (it) => [it.tagName, it.id, it.name, it.getAttribute("href"), it.closest("form")?.action,
    { INPUT: "", SUMMARY: keyOf(it.parentElement ?? it) }[it.tagName] ?? it.textContent].join("\n");

  const replace = (old, next) => {
    const folded = new Map([...old.querySelectorAll("details")].map((it) => [keyOf(it), it.open]));
    for (const it of next.querySelectorAll("details")) {
      if (folded.has(keyOf(it))) it.open = folded.get(keyOf(it));
    }
    const fields = [...next.querySelectorAll("input:not([type=hidden])")];
    for (const it of old.querySelectorAll("input:not([type=hidden])")) {
      const same = it.value !== it.defaultValue && fields.find((field) => nameOf(field) === nameOf(it));
      if (same) same.value = it.value;
    }
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const caret = focused?.tagName === "INPUT" ? [focused.selectionStart, focused.selectionEnd] : null;
    const [x, y] = [window.scrollX, window.scrollY];
    old.replaceWith(next);
    if (focused) {
      const found = focused === old ? next
        : [...next.querySelectorAll(focused.tagName)].find((it) => nameOf(it) === nameOf(focused));
      found?.focus({ preventScroll: true });
      if (found && caret) found.setSelectionRange(...caret);
    }
    window.scrollTo(x, y);
  };

  const renew = async () => {
    again = busy;
    if (busy) return;
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-cache" });
      const text = answer.ok ? await answer.text() : shown;
      if (text !== shown) {
        const next = new DOMParser().parseFromString(text, "text/html");
        const [old, main] = [document.getElementById("main"), next.getElementById("main")];
        if (main && main.innerHTML !== old.innerHTML) replace(old, main);
        document.title = next.title;
        shown = text;
      }
    } catch {
      // Without the server the page stays as it is; the next event finds it again.
    } finally {
      busy = false;
      if (again) renew();
    }
  };

  const source = new EventSource(`/events?page=${encodeURIComponent(location.pathname)}`);
  source.onmessage = renew;
  // What changed before somebody listened.
  source.onopen = renew;
  source.onerror = () => {
    // It is not tried again by itself where the server refused: no room, or nobody signed in any more.
    if (source.readyState === EventSource.CLOSED) setInterval(renew, POLL);
  };
})();
