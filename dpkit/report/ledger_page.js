for (const table of document.querySelectorAll("table.runs")) {
  const body = table.tBodies[0];
  const search = table.parentElement.parentElement.querySelector("input");
  const none = table.parentElement.parentElement.querySelector(".none");
  search.hidden = false;
  search.addEventListener("input", () => {
    const asked = search.value.toLowerCase();
    let left = 0;
    for (const row of body.rows) {
      row.hidden = !row.textContent.toLowerCase().includes(asked);
      left += row.hidden ? 0 : 1;
    }
    none.hidden = left > 0;
  });
  table.querySelectorAll("th button").forEach((button, place) => {
    button.disabled = false;
    button.addEventListener("click", () => {
      const head = button.parentElement;
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = row => row.cells[place].dataset.sort ?? row.cells[place].textContent;
      const order = (a, b) => {
        const x = Number(key(a)), y = Number(key(b));
        return Number.isNaN(x) || Number.isNaN(y) ? key(a).localeCompare(key(b)) : x - y;
      };
      [...body.rows].sort((a, b) => (up ? 1 : -1) * order(a, b)).forEach(row => body.append(row));
    });
  });
}
