"use strict";
{
  const cards = Array.from(document.querySelectorAll(".card"));
  const sections = Array.from(document.querySelectorAll("main > section"));
  const texts = JSON.parse(document.getElementById("_texts").textContent);
  const search = document.getElementById("_search");
  const found = document.getElementById("_found");
  const asked = new URLSearchParams(location.search);

  // What the address says is what another reader sees.
  const remember = () => {
    const address = new URL(location.href);
    search.value ? address.searchParams.set("search", search.value) : address.searchParams.delete("search");
    try {
      history.replaceState(null, "", address);
    } catch {
      // Some browsers keep the address of a file as it is.
    }
  };

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    cards.forEach((card, index) => {
      const fits = words.every((word) => texts[index].includes(word));
      card.hidden = !fits;
      shown += fits;
    });
    for (const section of sections) {
      section.hidden = words.length > 0 && !section.querySelector(".card:not([hidden])");
    }
    found.textContent = words.length > 0 ? `${shown} of ${cards.length}` : "";
  };

  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) {
      return;
    }
    if (target.closest("[hidden]")) {
      search.value = "";
      filter();
    }
    for (const details of target.matches(".card") ? target.querySelectorAll("details") : []) {
      details.open = true;
    }
    target.scrollIntoView();
  };

  const theme = (name) => {
    if (name === "dark" || name === "light") {
      document.documentElement.dataset.theme = name;
    }
  };

  document.querySelector(".bar").hidden = false;
  search.value = asked.get("search") ?? "";
  theme(asked.get("theme"));
  if (search.value) {
    filter();
  }
  open();
  search.addEventListener("input", () => {
    filter();
    remember();
  });
  addEventListener("hashchange", open);
  addEventListener("keydown", (event) => {
    const writes = event.target.matches?.("input, textarea, select");
    if (event.key === "Escape" && event.target === search) {
      search.value = "";
      filter();
      remember();
    } else if ((event.key === "/" || event.key === "s") && !writes && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
    }
  });
  document.getElementById("_theme").addEventListener("click", () => {
    const isDark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    theme(isDark ? "light" : "dark");
  });

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    closed.forEach((details) => (details.open = true));
  });
  addEventListener("afterprint", () => closed.forEach((details) => (details.open = false)));
}
