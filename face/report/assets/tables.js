// Long tables: a field that filters their rows, and headings that sort them.

const FILTERED_ROWS = 12; // shorter tables have no filter
const SORTED_ROWS = 3;

// The number that a cell begins with, without the spaces between its digits and without the
// small print behind it; null for words.
function numberIn(cell) {
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  const first = cell.firstChild;
  const text = (first?.nodeType === Node.TEXT_NODE ? first : cell).textContent.trim().replace(/(\d)\u202f(?=\d)/g, "$1").replace("\u2212", "-");
  return /^[-+]?\d/.test(text) ? parseFloat(text) : null;
}

// Rows that are not sums of the others. Tables with cells that span rows have none.
function sortableRows(table) {
  const rows = [...(table.tBodies[0]?.rows ?? [])].filter((row) => !row.classList.contains("total"));
  const width = table.tHead?.rows.length ? rows[0]?.cells.length : 0;
  return width && rows.every((row) => row.cells.length === width && ![...row.cells].some((cell) => cell.rowSpan > 1 || cell.colSpan > 1)) ? rows : [];
}

// Headings over one column each, by the number of their column.
function headsOf(table) {
  const taken = [], heads = new Map();
  [...table.tHead.rows].forEach((row, line) => {
    let column = 0;
    for (const cell of row.cells) {
      while (taken[line]?.[column]) column += 1;
      for (let r = 0; r < cell.rowSpan; r++) for (let c = 0; c < cell.colSpan; c++) (taken[line + r] ??= [])[column + c] = true;
      if (cell.colSpan === 1) heads.set(column, cell);
      column += cell.colSpan;
    }
  });
  return heads;
}

function sortBy(table, rows, column, direction) {
  const key = (row) => numberIn(row.cells[column]);
  const words = (row) => row.cells[column].textContent.trim();
  const order = (a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null && y === null) return direction * words(a).localeCompare(words(b), undefined, { numeric: true });
    // Cells without a number stay at the end in both orders.
    if (x === null || y === null) return (x === null) - (y === null);
    return direction * (x - y);
  };
  const totals = [...table.tBodies[0].rows].filter((row) => row.classList.contains("total"));
  table.tBodies[0].append(...[...rows].sort(order), ...totals);
}

// The first click sorts the largest numbers first, or words from A; each further one reverses it.
function addSorting(table, rows) {
  const heads = headsOf(table);
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const button = element("button", undefined, "sort");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const isNumber = rows.some((row) => numberIn(row.cells[column]) !== null);
      const first = isNumber ? "descending" : "ascending", then = isNumber ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? then : first;
      for (const other of heads.values()) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      sortBy(table, rows, column, order === "ascending" ? 1 : -1);
    });
  });
}

// Every word must be in the row.
function addFilter(table, rows) {
  const label = element("label", "Filter ", "filter"), field = element("input"), count = element("span", "", "note");
  field.type = "search";
  label.append(field);
  count.setAttribute("aria-live", "polite");
  const tools = element("div", undefined, "tools");
  tools.append(label, count);
  (table.closest(".scroll") ?? table).before(tools);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    let left = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      left += !row.hidden;
    }
    count.textContent = field.value.trim() ? `${left} of ${rows.length} rows` : "";
  });
}

function arrangeTables() {
  for (const table of document.querySelectorAll("table.numbers, table.words")) {
    const rows = sortableRows(table);
    if (rows.length >= SORTED_ROWS) addSorting(table, rows);
    if (rows.length >= FILTERED_ROWS) addFilter(table, rows);
  }
}
