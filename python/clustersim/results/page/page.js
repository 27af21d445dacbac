// A click on a column's head sorts its table: first descending for numbers, ascending for words.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const table = head.closest("table");
    const column = [...head.parentNode.children].indexOf(head);
    const numeric = head.classList.contains("number");
    const before = head.getAttribute("aria-sort");
    const ascending = before === "none" ? !numeric : before === "descending";
    for (const other of head.parentNode.children) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const value = (row) => row.children[column].dataset.key;
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === "" || y === "") return (x === "") - (y === "");  // empty cells stay at the end
      const order = numeric ? Number(x) - Number(y) : x.localeCompare(y, "en", { numeric: true });
      return ascending ? order : -order;
    });
    body.append(...rows);
  });
}
