/** Any table of a run, with filters; only the rows in sight are elements. */

import type { Rows, Run, TableInfo } from "./data";
import { el, failure, section } from "./dom";

const ROW = 26;
/** Pixels for the bar that moves a table sideways, and its borders. */
const SIDEWAYS = 20;
const VIEW = 420;

export function tables(run: Run): HTMLElement {
  const choice = el(
    "select",
    { id: `tables-choice-${run.info.id}` },
    ...run.info.tables.map((t) => el("option", { value: t.name }, `${t.name} (${rowsOf(t.rows)})`)),
  );
  const place = el("div", {});
  const show = async (): Promise<void> => {
    const info = run.table(choice.value);
    if (info === undefined) return;
    place.replaceChildren(el("p", { class: "mute", role: "status" }, "Reading…"));
    try {
      place.replaceChildren(grid(await run.rows(info.name), info));
    } catch (error) {
      place.replaceChildren(failure(error));
    }
  };
  choice.addEventListener("change", () => void show());
  const details = el(
    "details",
    {
      ontoggle: () => {
        if (details.open && place.childElementCount === 0) void show();
      },
    },
    el("summary", {}, "Show a table"),
    el("p", {}, el("label", { for: choice.id }, "Table "), choice),
    place,
    run.info.left_out.length > 0
      ? el("p", { class: "mute" }, `Too long for this file: ${run.info.left_out.join(", ")}. \`lasthop view\` shows them.`)
      : null,
  );
  return section("Tables", "tables", details);
}

function grid(rows: Rows, info: TableInfo): HTMLElement {
  const filter = el("input", { type: "search", placeholder: "column = text, column > 5, or a word", "aria-label": "Filter rows", size: 40 });
  const count = el("span", { class: "mute", role: "status" });
  const widths = info.columns.map((c) => Math.min(Math.max(c.name.length, c.type === "number" ? 12 : 16), 28));
  const template = `grid-template-columns:${widths.map((w) => `${w}ch`).join(" ")};width:${widths.reduce((a, b) => a + b + 2, 0)}ch`;
  const head = el(
    "div",
    { class: "grid-row grid-head", role: "row", style: template },
    ...info.columns.map((c) => el("span", { role: "columnheader", class: c.type === "number" ? "num" : null, title: `${c.description}${c.unit ? ` [${c.unit}]` : ""}` }, c.name)),
  );
  const space = el("div", { class: "grid-space" });
  const body = el("div", { class: "grid-body", tabindex: "0", role: "table", "aria-label": `Table ${info.name}`, "aria-rowcount": rows.length, style: `height:${Math.min(VIEW, (rows.length + 1) * ROW + SIDEWAYS)}px` }, head, space);
  let matching: Int32Array | null = null;

  const draw = (): void => {
    const total = matching?.length ?? rows.length;
    space.style.height = `${total * ROW}px`;
    const first = Math.max(Math.floor(body.scrollTop / ROW) - 5, 0);
    const last = Math.min(first + Math.ceil(VIEW / ROW) + 10, total);
    space.replaceChildren(
      ...Array.from({ length: Math.max(last - first, 0) }, (_, k) => {
        const row = matching === null ? first + k : matching[first + k]!;
        return el(
          "div",
          { class: "grid-row", role: "row", "aria-rowindex": first + k + 2, style: `${template};top:${(first + k) * ROW}px` },
          ...info.columns.map((c) => el("span", { role: "cell", class: c.type === "number" ? "num" : "" }, rows.text(c.name, row))),
        );
      }),
    );
  };
  const apply = (): void => {
    const wrong = problem(filter.value, info);
    const accepts = wrong === null ? predicate(filter.value, rows, info) : null;
    if (accepts === null) matching = null;
    else {
      const found: number[] = [];
      for (let i = 0; i < rows.length; i++) if (accepts(i)) found.push(i);
      matching = Int32Array.from(found);
    }
    const total = matching?.length ?? rows.length;
    const kept = info.kept !== undefined && info.kept < info.rows ? `, thinned from ${info.rows.toLocaleString("en")}` : "";
    count.textContent = wrong ?? `${total.toLocaleString("en")} of ${rowsOf(rows.length)}${kept}`;
    count.className = wrong === null ? "mute" : "error";
    body.scrollTop = 0;
    draw();
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  filter.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(apply, 150);
  });
  body.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  apply();
  return el("div", {}, el("p", { class: "mute" }, info.description), el("p", {}, filter, " ", count), body);
}

function rowsOf(n: number): string {
  return n === 1 ? "1 row" : `${n.toLocaleString("en")} rows`;
}

/** A comparison of a filter: column, operator, value; null: it is a word to look for. */
function comparison(part: string): [string, string, string] | null {
  const match = /^\s*(\w+)\s*(=|!=|<=|>=|<|>)\s*(.*?)\s*$/.exec(part);
  return match === null ? null : [match[1]!, match[2]!, match[3]!];
}

function partsOf(text: string): string[] {
  return text.trim().split(/\s+and\s+/i);
}

/** What is wrong with a filter; null: nothing. */
export function problem(text: string, info: TableInfo): string | null {
  for (const part of partsOf(text)) {
    const [name, operator, wanted] = comparison(part) ?? [null, "", ""];
    if (name === null) continue;
    const column = info.columns.find((c) => c.name === name);
    const isOrder = operator !== "=" && operator !== "!=";
    if (column === undefined) return `The table has no column '${name}'.`;
    if (column.type !== "number" && isOrder) return `'${name}' has texts: compare with = or !=.`;
    if (column.type === "number" && (wanted === "" ? isOrder : Number.isNaN(Number(wanted)))) return wanted === "" ? `A number is missing after ${operator}.` : `'${wanted}' is not a number.`;
  }
  return null;
}

/** What a filter accepts: `column = text`, comparisons of numbers joined by `and`, or a word in any text; null: all. */
export function predicate(text: string, rows: Rows, info: TableInfo): ((row: number) => boolean) | null {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  const parts = partsOf(trimmed).map((part) => single(part, rows, info));
  return (row) => parts.every((accepts) => accepts(row));
}

function single(part: string, rows: Rows, info: TableInfo): (row: number) => boolean {
  const [name, operator, wanted] = comparison(part) ?? [null, "", ""];
  const column = info.columns.find((c) => c.name === name);
  if (column !== undefined) {
    if (column.type !== "number") {
      const texts = rows.texts(column.name);
      return (row) => (texts.at(row) === wanted) === (operator !== "!=");
    }
    const values = rows.numbers(column.name);
    // Without a value: the rows that have none.
    if (wanted === "") return (row) => Number.isNaN(values[row]!) === (operator === "=");
    const number = Number(wanted);
    const compare: Record<string, (x: number) => boolean> = {
      "=": (x) => x === number,
      "!=": (x) => x !== number,
      "<": (x) => x < number,
      ">": (x) => x > number,
      "<=": (x) => x <= number,
      ">=": (x) => x >= number,
    };
    return (row) => compare[operator]!(values[row]!);
  }
  const word = part.trim().toLowerCase();
  const texts = info.columns.filter((c) => c.type !== "number").map((c) => rows.texts(c.name));
  const hits = texts.map((t) => new Set(t.names.flatMap((n, code) => (n.toLowerCase().includes(word) ? [code] : []))));
  return (row) => texts.some((t, k) => hits[k]!.has(t.codes[row]!));
}
