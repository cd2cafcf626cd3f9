import "uplot/dist/uPlot.min.css";
import "./style.css";
import { campaign } from "./campaign";
import { bands } from "./bands";
import { swatchOf, timeChart, type Line, type Mark } from "./chart";
import { introduce } from "./causes";
import { colour, colours, isDark, numberOf } from "./colours";
import { comparison } from "./compare";
import { Embedded, Run, Server, type Index, type Source } from "./data";
import { el, failure, listed, messageOf, section } from "./dom";
import { quantity, seconds } from "./format";
import { map } from "./map";
import { overview } from "./overview";
import { packets } from "./packets";
import { marksOf, panelsOf, uncharted, type Panel, type PanelLine } from "./panels";
import { tables } from "./tables";
import { why, whyLater } from "./why";
import { TimeWindow } from "./window";

/** The part of what is shown within which a mark is at the cursor. */
const NEAR = 0.005;

/** Lines of one chart; of more, the first ones are drawn, and others can be asked for by their names. */
const MOST_LINES = 12;

async function start(): Promise<void> {
  const main = document.querySelector("main")!;
  main.replaceChildren(el("p", { role: "status", class: "mute" }, "Reading the results…"));
  try {
    const source: Source = Embedded.present(document) ? new Embedded(document) : new Server(new URL("./", location.href).href);
    const index = await source.index();
    document.title = index.title;
    document.querySelector("h1")!.textContent = index.title;
    const runs = index.runs.map((info) => new Run(info, source));
    if (index.campaign !== undefined) {
      // A report has sections of its own after the charts.
      const report = document.getElementById("report");
      const sections = report === null ? [] : [...report.querySelectorAll<HTMLElement>(":scope > section")];
      const found = campaign(index.campaign);
      main.replaceChildren(...[report?.querySelector(".subtitle") ?? null, found, ...sections].filter((n) => n !== null));
      report?.remove();
      navigation([found, ...sections].filter((n) => n !== null));
    } else {
      if (runs.length === 0) throw new Error("There is no run to show.");
      await show(main, runs, index.differences);
    }
  } catch (error) {
    main.replaceChildren(failure(error));
  }
  document.documentElement.dataset["ready"] = "true";
}

/** A section of the page; what goes wrong in it leaves the others alone. */
async function part(title: string, id: string, runs: Run[], make: () => Promise<HTMLElement | null>): Promise<HTMLElement | null> {
  try {
    return await make();
  } catch (error) {
    // What could not be read is listed above all sections.
    const isSaid = runs.some((run) => run.troubles.has(messageOf(error)));
    return section(title, id, isSaid ? unread() : failure(error));
  }
}

function unread(): HTMLElement {
  return el("p", { class: "mute" }, "Not shown: its data could not be read.");
}

/** What is wrong with the tables of runs, once for all sections; null: nothing. */
function alert(runs: Run[]): HTMLElement | null {
  const said = runs.flatMap((run) => {
    const unread = [...run.troubles].map(([text, tables]) => {
      const names = [...tables].filter((name) => !text.includes(name));
      return names.length > 0 ? `${text} Missing here: ${names.join(", ")}.` : text;
    });
    return [...run.info.damaged, ...unread].map((text) => (runs.length > 1 ? `${run.info.label}: ${text}` : text));
  });
  return said.length === 0 ? null : el("div", { class: "error", role: "alert" }, ...said.map((text) => el("p", {}, text)));
}

async function show(main: HTMLElement, runs: Run[], differences: Index["differences"]): Promise<void> {
  const several = runs.length > 1;
  const duration = Math.max(...runs.map((r) => r.info.duration_s));
  const time = new TimeWindow({ from: 0, to: duration > 0 ? duration : 1 });
  introduce((await Promise.all(runs.map((run) => (run.info.explain.quick ? run.explained().catch(() => []) : [])))).flat());
  // All parts request their tables at once.
  // Of several runs each has a colour, which is also that of its lines where that is enough to distinguish them.
  const isColoured = several && runs.length <= colours();
  const marks = runs.map((run, k) => marksOf(run).then((own) => (isColoured ? own.map((mark) => ({ ...mark, number: k })) : own), (): Mark[] => []));
  const shared = [part("Comparison", "comparison", runs, () => comparison(runs, differences)), part("Time series", "series", runs, () => series(runs, time, marks))];
  const owns = runs.map((run, k) => [
    part("Why", "why", [run], () => why(run)),
    part("Overview", "overview", [run], () => overview(run)),
    part("Map", "map", [run], () => map(run, time, marks[k]!)),
    part("Packets", "packets", [run], () => packets(run, time, marks[k]!)),
    Promise.resolve(tables(run)),
  ]);
  const parts: (HTMLElement | null)[] = await Promise.all(shared);
  for (const [k, run] of runs.entries()) {
    const own = (await Promise.all(owns[k]!)).filter((p) => p !== null);
    if (several) {
      own.forEach((s) => {
        // Ids of several runs on a page must differ.
        for (const node of [s, ...s.querySelectorAll("[id]")]) if (node.id) node.id = `${node.id}-${run.info.id}`;
        const title = s.getAttribute("aria-labelledby");
        if (title !== null) s.setAttribute("aria-labelledby", `${title}-${run.info.id}`);
      });
      parts.push(el("details", { class: "run", id: `run-${run.info.id}`, "data-label": run.info.label }, el("summary", {}, `${run.info.label}: why, overview, map, packets and tables`), ...own));
    } else {
      parts.push(...own);
    }
  }
  const sections = parts.filter((p): p is HTMLElement => p !== null);
  // One run: what it was comes before its charts.
  if (!several) sections.sort((a, b) => order(a) - order(b));
  const wrong = alert(runs);
  main.replaceChildren(...(wrong === null ? [] : [wrong]), ...sections);
  navigation(sections);
  keyboard(time);
  // What takes long comes last, into places that are kept free.
  for (const [k, run] of runs.entries()) {
    if (run.info.explain.quick) continue;
    void whyLater(run, several ? main.querySelectorAll("details.run")[k]! : main);
    void Promise.all([run.explained(), marks[k]!]).then(
      ([found, own]) => {
        const place = main.querySelector(`.bands-later[data-run="${run.info.id}"]`);
        const made = bands(run, found, time, own, several ? run.info.label : null);
        if (made === null) place?.remove();
        else place?.replaceWith(made);
      },
      // The section above has the error.
      () => main.querySelector(`.bands-later[data-run="${run.info.id}"]`)?.remove(),
    );
  }
}

function order(node: HTMLElement): number {
  return ["why", "overview", "series", "map", "packets", "tables"].indexOf(node.id);
}

/** The chart of causes of each run; of an explanation that takes long, its place. */
async function causes(runs: Run[], time: TimeWindow, marks: Mark[][]): Promise<HTMLElement[]> {
  const made = await Promise.all(
    runs.map(async (run, k) => {
      const label = runs.length > 1 ? run.info.label : null;
      if (run.info.explain.flows.length === 0) return null;
      if (run.info.explain.quick) return bands(run, await run.explained().catch(() => []), time, marks[k]!, label);
      return el("figure", { class: "panel bands bands-later", "data-run": run.info.id }, el("figcaption", {}, "Working out what the time went into…"));
    }),
  );
  return made.filter((m) => m !== null);
}

async function series(runs: Run[], time: TimeWindow, marking: Promise<Mark[]>[]): Promise<HTMLElement | null> {
  const all = await Promise.all(runs.map((run) => panelsOf(run)));
  const marksOfRuns = await Promise.all(marking);
  const marks = marksOfRuns.flatMap((own, k) => own.map((mark) => ({ ...mark, run: k })));
  const stacked = await causes(runs, time, marksOfRuns);
  const ids = [...new Set(all.flatMap((panels) => panels.map((p) => p.id)))];
  if (ids.length === 0 && stacked.length === 0) return runs.some((run) => run.troubles.size > 0) ? section("Time series", "series", unread()) : null;
  const label = el("output", { "aria-live": "off" });
  const describe = (): void => {
    const { from, to } = time.range;
    const shown = `${seconds(from)} to ${seconds(to)}`;
    const at = time.cursor;
    if (at === null) label.textContent = shown;
    else {
      const near = marks.filter((mark) => Math.abs(mark.time - at) <= (to - from) * NEAR || (mark.until !== undefined && mark.time <= at && at <= mark.until));
      const names = near.map((mark) => `${runs.length > 1 ? `${runs[mark.run]!.info.label}: ` : ""}${mark.source} ${mark.event}`);
      label.textContent = [`at ${seconds(at)}`, ...(names.length > 0 ? [listed([...new Set(names)])] : [`of ${shown}`])].join(", ");
    }
    label.title = label.textContent;
  };
  time.addEventListener("range", describe);
  time.addEventListener("cursor", describe);
  describe();
  const button = (text: string, title: string, act: () => void): HTMLElement => el("button", { type: "button", title, onclick: act }, text);
  const middle = (): number => time.cursor ?? (time.range.from + time.range.to) / 2;
  const bar = el(
    "div",
    { class: "bar", role: "toolbar", "aria-label": "Time" },
    button("−", "Zoom out (−)", () => time.zoom(2, middle())),
    button("+", "Zoom in (+)", () => time.zoom(0.5, middle())),
    button("◀", "Earlier (left arrow)", () => time.pan(-0.25)),
    button("▶", "Later (right arrow)", () => time.pan(0.25)),
    button("All", "The whole run (0)", () => time.showAll()),
    label,
  );
  const families = new Map<string, Set<string>>();
  for (const panel of all.flat()) {
    const names = families.get(panel.family) ?? new Set<string>();
    families.set(panel.family, names);
    for (const line of panel.lines) names.add(line.label);
  }
  const panels = ids.map((id) => {
    const lines: (PanelLine & { number: number | null })[] = [];
    let found: Panel | undefined;
    all.forEach((own, k) => {
      const panel = own.find((p) => p.id === id);
      found ??= panel;
      const names = [...(families.get(panel?.family ?? "") ?? [])];
      for (const line of panel?.lines ?? []) {
        const label = runs.length > 1 ? `${runs[k]!.info.label}: ${line.label}` : line.label;
        lines.push({ ...line, label, number: numberOf(names, line.label, k, runs.length) });
      }
    });
    // A mark of a run concerns its lines only.
    const marked = marksOfRuns.flatMap((own, k) => (all[k]!.some((p) => p.id === id) ? own : []));
    return { title: found!.title, unit: found!.unit, lines, marks: marked };
  });
  const isMany = panels.some((panel) => panel.lines.length > MOST_LINES);
  /** The chart of the lines whose names have all of these words. */
  const draw = (panel: (typeof panels)[number], words: string[]): { figure: HTMLElement; destroy(): void } => {
    const chosen = panel.lines.filter((line) => words.every((word) => line.label.toLowerCase().includes(word)));
    const lines: Line[] = chosen.slice(0, MOST_LINES).map((line, i) => ({ ...line, number: line.number ?? i }));
    const chart = timeChart(panel.title, panel.unit, lines, time, panel.marks);
    const left = chosen.length - lines.length;
    if (left > 0) chart.figure.append(el("p", { class: "mute small" }, `${left} more are not drawn; find them by name in the field "Lines" above.`));
    else if (chosen.length === 0) chart.figure.append(el("p", { class: "mute" }, "No line has this name."));
    return chart;
  };
  let charts = panels.map((panel) => draw(panel, []));
  if (isMany) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const field = el("input", { type: "search", size: "14", placeholder: "all", oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const words = field.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
        charts = charts.map((old, i) => {
          if (panels[i]!.lines.length <= MOST_LINES) return old;
          const next = draw(panels[i]!, words);
          old.figure.replaceWith(next.figure);
          old.destroy();
          return next;
        });
      }, 200);
    } });
    bar.append(el("label", { class: "lines" }, "Lines ", field));
  }
  const silent = (await Promise.all(runs.map(async (run) => (await uncharted(run).catch(() => [])).map((flow) => (runs.length > 1 ? `${run.info.label}: ${flow}` : flow))))).flat();
  const isRun = marks.some((mark) => mark.number !== undefined);
  const keys: HTMLElement[] = [...new Set(marks.map((m) => m.kind))].map((kind) => el("span", { class: "key" }, swatchOf(kind, isRun ? "var(--ink)" : undefined), MARKS[kind]));
  if (isRun) {
    const patches = runs.map((run, k) => ({ node: el("b", { class: "patch" }), run, k })).filter(({ k }) => marksOfRuns[k]!.length > 0);
    const paint = (): void => patches.forEach(({ node, k }) => node.style.setProperty("--c", colour(k)));
    document.addEventListener("theme", paint);
    paint();
    keys.push(...patches.map(({ node, run }) => el("span", { class: "key" }, node, `of ${run.info.label}`)));
  }
  return section(
    "Time series",
    "series",
    el("p", { class: "mute how" }, "Drag to zoom, double-click for the whole run, turn the wheel over a chart to zoom there. Charts move together."),
    bar,
    keys.length > 0 ? el("p", { class: "legend" }, ...keys) : null,
    marks.length > 0 ? markTable(runs, marksOfRuns) : null,
    el("div", { class: "panels" }, ...stacked, ...charts.map((chart) => chart.figure)),
    silent.length > 0 ? el("p", { class: "mute" }, `${listed(silent)}: no chart of throughput and delay, since the run has recorded them of simulated TCP senders only. With `, el("code", {}, "--set 'output.windows=100 ms'"), " it records those of all flows.") : null,
  );
}

/** Rows of the list of marks; the table `events` has all. */
const MOST_MARKS = 100;

/** What each mark of the charts is. */
function markTable(runs: Run[], marksOfRuns: Mark[][]): HTMLElement {
  const all = marksOfRuns.flatMap((marks, k) => marks.map((mark) => ({ ...mark, run: runs[k]!.info.label }))).sort((a, b) => a.time - b.time);
  const ends = all.some((mark) => mark.until !== undefined);
  const heads = ["At", ...(ends ? ["Lasts"] : []), ...(runs.length > 1 ? ["Run"] : []), "Of", "Event"];
  const row = (mark: (typeof all)[number]): HTMLElement => {
    const lasts = ends ? [mark.until === undefined ? "" : quantity(mark.until - mark.time, "s")] : [];
    const numbers = [seconds(mark.time), ...lasts].map((text) => el("td", { class: "num" }, text));
    return el("tr", {}, ...numbers, ...[...(runs.length > 1 ? [mark.run] : []), mark.source, mark.event].map((text) => el("td", {}, text)));
  };
  return el(
    "details",
    {},
    el("summary", {}, all.length === 1 ? "What the mark is" : all.length > MOST_MARKS ? `What the first ${MOST_MARKS} of ${all.length} marks are` : `What the ${all.length} marks are`),
    el(
      "div",
      { class: "scroll tall", role: "region", tabindex: "0", "aria-label": "Marks" },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ...heads.map((h, k) => el("th", { scope: "col", class: k === 0 || h === "Lasts" ? "num" : null }, h)))),
        el("tbody", {}, ...all.slice(0, MOST_MARKS).map(row)),
      ),
    ),
  );
}

const MARKS: Record<Mark["kind"], string> = { handover: "handover", outage: "outage", timeout: "retransmission timeout", other: "change" };

function navigation(sections: HTMLElement[]): void {
  const nav = document.querySelector("nav ul")!;
  nav.replaceChildren(
    ...sections
      .filter((s) => s.id !== "")
      .map((s) => el("li", {}, link(s))),
  );
}

/** A link to a part of the page; those of one run of several open when they are asked for. */
function link(part: HTMLElement): HTMLElement {
  if (!(part instanceof HTMLDetailsElement)) return el("a", { href: `#${part.id}` }, part.querySelector("h2")?.textContent ?? part.id);
  return el("a", { href: `#${part.id}`, onclick: () => (part.open = true) }, part.dataset["label"] ?? part.id);
}

function keyboard(time: TimeWindow): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || target.isContentEditable) return;
    const middle = time.cursor ?? (time.range.from + time.range.to) / 2;
    const act: Record<string, () => void> = {
      "+": () => time.zoom(0.5, middle),
      "=": () => time.zoom(0.5, middle),
      "-": () => time.zoom(2, middle),
      ArrowLeft: () => time.pan(-0.25),
      ArrowRight: () => time.pan(0.25),
      "0": () => time.showAll(),
    };
    const found = act[event.key];
    // Arrow keys scroll what has the focus and can be scrolled.
    if (found === undefined || (event.key.startsWith("Arrow") && target.closest("[tabindex='0']") !== null)) return;
    event.preventDefault();
    found();
  });
}

function theme(): void {
  const button = document.getElementById("theme")!;
  const stored = ((): string | null => {
    try {
      return localStorage.getItem("lasthop-theme");
    } catch {
      return null;
    }
  })();
  if (stored === "dark" || stored === "light") document.documentElement.dataset["theme"] = stored;
  button.addEventListener("click", () => {
    const now = document.documentElement.dataset["theme"];
    const dark = now === "dark" || (now !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset["theme"] = dark ? "light" : "dark";
    try {
      localStorage.setItem("lasthop-theme", dark ? "light" : "dark");
    } catch {
      // A page without storage forgets the choice.
    }
    document.dispatchEvent(new Event("theme"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("theme")));
}

/** Prints in the colours of paper, whatever the screen has. */
function paper(): void {
  let before: string | undefined;
  let isChanged = false;
  addEventListener("beforeprint", () => {
    if (!isDark()) return;
    isChanged = true;
    before = document.documentElement.dataset["theme"];
    document.documentElement.dataset["theme"] = "light";
    document.dispatchEvent(new Event("theme"));
  });
  addEventListener("afterprint", () => {
    if (!isChanged) return;
    isChanged = false;
    if (before === undefined) delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = before;
    document.dispatchEvent(new Event("theme"));
  });
}

theme();
paper();
void start();
