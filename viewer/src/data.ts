/** Results for the page: an index of runs, and tables as Arrow that are read at their first use. */

import type { Campaign } from "./campaign";
import { messageOf } from "./dom";
import { tableFromIPC, type Table as ArrowTable } from "@uwdata/flechette";

export interface ColumnInfo {
  name: string;
  type: "number" | "text" | "bool";
  unit: string;
  description: string;
}

export interface TableInfo {
  name: string;
  description: string;
  rows: number;
  columns: ColumnInfo[];
  /** Columns that distinguish the series of a table of samples; empty: it has none. */
  series: string[];
  /** Rows that this copy has, where it is thinned. */
  kept?: number;
}

export interface RunInfo {
  id: string;
  label: string;
  name: string;
  description: string;
  seed: number;
  lasthop: string;
  duration_s: number;
  /** What a row of the tables `radio` and `wifi` is about. */
  interval_s: number;
  scenario: string;
  /** Places of what does not move: cells, access points, nodes. */
  places: { name: string; kind: string; x: number; y: number; /** Where a sector looks, in degrees from the x axis on counter-clockwise. */ azimuth?: number; /** Which cell or access point serves it, where that does not change. */ serves?: string }[];
  /** Whether the ground is repeated around the edges of a layout. */
  wraps: boolean;
  /** UEs that move or are dropped at random: the table `positions` has their places. */
  moving: string[];
  /** Whose places a run of an earlier version did not record. */
  unplaced: string[];
  /** Where every packet went: packets and octets by what became of them. */
  account: Record<string, { packets: number; bytes: number }>;
  /** Packets that were dropped where, why and of which flow, the most frequent kinds; null: the run does not say. */
  drops: { kinds: number; rows: { where: string; cause: string; flow: string; packets: number; octets: number }[] } | null;
  /** Of a run in real time: what its devices lost, a sentence for each node. */
  losses: string[];
  /** Of a run in real time: count, median, 99th percentile and maximum [s] of what was late. */
  lateness: { what: string; numbers: [number, number, number, number] }[];
  /** Flows whose explanation can be asked for, and whether it comes at once. */
  explain: { flows: string[]; quick: boolean };
  tables: TableInfo[];
  /** What is wrong with the tables that cannot be read. */
  damaged: string[];
  /** Tables that are not in this copy. */
  left_out: string[];
  /** Of several runs: means of samples, which a copy may have thinned. */
  means?: { of: string; title: string; unit: string; value: number }[];
  /** The stretches of time whose packets are in this copy; absent: all of them. */
  excerpt?: { from_s: number; to_s: number; what: string }[];
}

export interface Index {
  version: number;
  title: string;
  runs: RunInfo[];
  /** Of several runs: how many scenarios they are of, and the keys in which they differ; a value is "" where a run lacks the key. */
  differences?: { scenarios: number; keys: { key: string; values: string[] }[]; more: number };
  campaign?: Campaign;
}

/** Why a flow was slow. */
export interface Explained {
  flow: string;
  exact: boolean;
  /** What is divided: the time of a TCP flow, or the delays of the packets of another one. */
  of: "time" | "delay";
  /** So many causes have a colour of their own at a time, the first of the parts for the whole time; the others are one part. */
  named: number;
  sentences: string[];
  parts: { cause: string; place: string; share: number; s: number }[];
  /**
   * Shares of each interval: a row for each of the first parts; what is missing to 1 is that of the others. `whole_s` is how
   * much time (of delays: of all packets together) each interval divides; 0: none.
   */
  timeline: { edges_s: number[]; whole_s: number[]; shares: number[][] } | null;
  advice: { text: string; set: string[] }[];
}

/** Shares of intervals of a flow's time. */
export type Timeline = NonNullable<Explained["timeline"]>;

/** How far the explanation of a run's flows has come: the flow that it is at, and the part of all the work that is done. */
export interface Progress {
  flow: string;
  part: number;
}

/** Where the results are: a server on this machine, or this page itself. */
export interface Source {
  index(): Promise<Index>;
  /** A table as an Arrow IPC stream, with these columns; null: all. */
  bytes(run: string, table: string, columns: string[] | null): Promise<Uint8Array>;
  /** Why the flows of a run were slow; none where that would take long. */
  explained(run: string): Promise<Explained[]>;
  /** How far this has come; null: it has not begun, or is over. */
  progress(run: string): Promise<Progress | null>;
  /** The timeline of a flow between two moments, or of more than that, in shorter intervals; null: there is none. */
  finer(run: string, flow: number, found: Explained, from: number, to: number): Promise<Timeline | null>;
}

/** The version of the index that this page reads. */
export const VERSION = 1;

/** A table in memory: numbers with NaN for what is missing, texts as codes of names. */
export class Rows {
  readonly length: number;
  readonly columns: string[];
  readonly #table: ArrowTable;
  readonly #numbers = new Map<string, Float64Array>();
  readonly #texts = new Map<string, Texts>();

  constructor(table: ArrowTable) {
    this.#table = table;
    this.length = table.numRows;
    this.columns = table.schema.fields.map((f) => f.name);
  }

  has(column: string): boolean {
    return this.columns.includes(column);
  }

  /** A column of numbers; of a table without it: NaN in each row. */
  numbers(column: string): Float64Array {
    let found = this.#numbers.get(column);
    if (found === undefined) {
      const values = this.has(column) ? this.#table.getChild(column).toArray() : null;
      found =
        values === null
          ? new Float64Array(this.length).fill(NaN)
          : values instanceof Float64Array
            ? values
            : Float64Array.from(values as ArrayLike<number>, Number);
      this.#numbers.set(column, found);
    }
    return found;
  }

  /** A column of texts; of a table without it: "" in each row. */
  texts(column: string): Texts {
    let found = this.#texts.get(column);
    if (found === undefined) {
      found = this.has(column) ? (encoded(this.#table.getChild(column)) ?? Texts.of(this.#table.getChild(column).toArray())) : Texts.of(Array(this.length).fill(""));
      this.#texts.set(column, found);
    }
    return found;
  }

  /** A value as it is shown. */
  text(column: string, row: number): string {
    const info = this.#table.getChild(column);
    const value: unknown = info.at(row);
    if (value === null || (typeof value === "number" && Number.isNaN(value))) return "";
    return typeof value === "number" ? String(Number(value.toPrecision(12))) : String(value);
  }
}

/** Texts as Arrow has them, where it has a dictionary of them; null: it has none. */
function encoded(column: ReturnType<ArrowTable["getChild"]>): Texts | null {
  const batch = column.data[0] as unknown as { dictionary?: { toArray(): ArrayLike<unknown> }; values: unknown; length: number } | undefined;
  if (column.data.length !== 1 || column.nullCount > 0 || batch?.dictionary === undefined || !(batch.values instanceof Int32Array)) return null;
  return new Texts(Array.from(batch.dictionary.toArray(), String), batch.values.subarray(0, batch.length));
}

/** Texts of a column: each name once, and its code in each row. */
export class Texts {
  constructor(
    readonly names: string[],
    readonly codes: Int32Array,
  ) {}

  static of(values: Iterable<unknown> & { length: number }): Texts {
    const names: string[] = [];
    const known = new Map<string, number>();
    const codes = new Int32Array(values.length);
    let i = 0;
    for (const value of values) {
      const name = value === null || value === undefined ? "" : String(value);
      let code = known.get(name);
      if (code === undefined) {
        code = names.length;
        known.set(name, code);
        names.push(name);
      }
      codes[i++] = code;
    }
    return new Texts(names, codes);
  }

  at(row: number): string {
    return this.names[this.codes[row] ?? -1] ?? "";
  }
}

/** A run, with its tables read once. */
export class Run {
  /** What could not be read (tables, the explanation), by what was said of it. */
  readonly troubles = new Map<string, Set<string>>();
  readonly #tables = new Map<string, Promise<Rows>>();
  #explained: Promise<Explained[]> | null = null;

  constructor(
    readonly info: RunInfo,
    readonly source: Source,
  ) {}

  /** Why the flows were slow. */
  explained(): Promise<Explained[]> {
    if (this.#explained === null) {
      this.#explained = this.info.explain.flows.length > 0 ? this.source.explained(this.info.id) : Promise.resolve([]);
      this.#explained.catch((error: unknown) => this.#note(error, "the explanation"));
    }
    return this.#explained;
  }

  #note(error: unknown, what: string): void {
    const message = messageOf(error);
    this.troubles.set(message, (this.troubles.get(message) ?? new Set()).add(what));
  }

  /** How far the explanation has come; null: it has not begun, is over, or its source does not say. */
  progress(): Promise<Progress | null> {
    return this.source.progress(this.info.id).catch(() => null);
  }

  /** A flow's timeline in shorter intervals, those of a part of it; null: there is none. */
  finer(found: Explained, from: number, to: number): Promise<Timeline | null> {
    return this.explained().then((flows) => this.source.finer(this.info.id, flows.indexOf(found), found, from, to));
  }

  table(name: string): TableInfo | undefined {
    return this.info.tables.find((t) => t.name === name);
  }

  has(name: string): boolean {
    return (this.table(name)?.rows ?? 0) > 0;
  }

  /** The rows of a table; a table that the run does not have is an error. */
  rows(name: string, columns: string[] | null = null): Promise<Rows> {
    const key = columns === null ? name : `${name} ${columns.join(",")}`;
    let found = this.#tables.get(key);
    if (found === undefined) {
      found = this.source.bytes(this.info.id, name, columns).then((bytes) => new Rows(readArrow(bytes, name)));
      found.catch((error: unknown) => this.#note(error, name));
      this.#tables.set(key, found);
    }
    return found;
  }
}

function readArrow(bytes: Uint8Array, name: string): ArrowTable {
  try {
    return tableFromIPC(bytes);
  } catch (error) {
    throw new Error(`The table '${name}' cannot be read: ${messageOf(error)}`);
  }
}

/** The results of a server of `lasthop view`, whose address has the token as its first part. */
export class Server implements Source {
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  async index(): Promise<Index> {
    return checkIndex(await (await this.#get("index.json")).json());
  }

  async bytes(run: string, table: string, columns: string[] | null): Promise<Uint8Array> {
    const query = columns === null ? "" : `?columns=${columns.map(encodeURIComponent).join(",")}`;
    const path = `table/${encodeURIComponent(run)}/${encodeURIComponent(table)}${query}`;
    return new Uint8Array(await (await this.#get(path)).arrayBuffer());
  }

  async explained(run: string): Promise<Explained[]> {
    return (await (await this.#get(`explained/${encodeURIComponent(run)}`)).json()) as Explained[];
  }

  async progress(run: string): Promise<Progress | null> {
    return (await (await this.#get(`progress/${encodeURIComponent(run)}`)).json()) as Progress | null;
  }

  async finer(run: string, _flow: number, found: Explained, from: number, to: number): Promise<Timeline | null> {
    const path = `bands/${encodeURIComponent(run)}/${encodeURIComponent(found.flow)}?from=${from}&to=${to}`;
    const made = (await (await this.#get(path)).json()) as (Timeline & Pick<Explained, "parts">) | null;
    return made === null ? null : { ...made, shares: ordered(made, found.parts) };
  }

  async #get(path: string): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(this.#base + path, { cache: "no-store", credentials: "omit" });
    } catch {
      throw new Error("The server does not answer. Is `lasthop view` still running?");
    }
    if (!response.ok) {
      throw new Error((await response.text()) || `The server answered ${response.status}.`);
    }
    return response;
  }
}

/** Results within the page: `<script type="application/json" id="index">`, and a base64 gzip of each table. */
export class Embedded implements Source {
  constructor(readonly document: Document) {}

  index(): Promise<Index> {
    const text = this.document.getElementById("index")?.textContent ?? "";
    const index = checkIndex(JSON.parse(text));
    // Explanations are here, however long they took.
    for (const run of index.runs) run.explain.quick = true;
    return Promise.resolve(index);
  }

  async bytes(run: string, table: string): Promise<Uint8Array> {
    const text = this.document.getElementById(`table-${run}-${table}`)?.textContent;
    if (text === undefined || text === null) {
      throw new Error(`This report does not contain the table '${table}'. \`lasthop view\` shows all of them.`);
    }
    return unpacked(text);
  }

  explained(run: string): Promise<Explained[]> {
    const text = this.document.getElementById(`explained-${run}`)?.textContent ?? "[]";
    return Promise.resolve(JSON.parse(text) as Explained[]);
  }

  progress(): Promise<Progress | null> {
    return Promise.resolve(null);
  }

  async finer(run: string, flow: number, found: Explained): Promise<Timeline | null> {
    const text = this.document.getElementById(`bands-${run}-${flow}`)?.textContent;
    if (text === undefined || text === null || found.timeline === null) return null;
    return timelineOf(await unpacked(text), found.timeline);
  }

  static present(document: Document): boolean {
    return document.getElementById("index") !== null;
  }
}

/** What a base64 gzip has in it. */
async function unpacked(text: string): Promise<Uint8Array> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Rows of a part of the time, which has causes in an order of its own, in the order of those of the whole time. */
export function ordered({ parts, shares, whole_s: wholes }: Timeline & Pick<Explained, "parts">, wanted: Explained["parts"]): number[][] {
  return wanted.map(({ cause, place }) => {
    const k = parts.findIndex((p) => p.cause === cause && p.place === place);
    return shares[k] ?? wholes.map(() => 0);
  });
}

/** The finer timeline of a file: 65535ths of shares, cause by cause, then of wholes; `coarse` is the same in long intervals. */
export function timelineOf(bytes: Uint8Array, coarse: Timeline): Timeline {
  const rows = coarse.shares.length + 1;
  const count = bytes.length / 2 / rows;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const row = (k: number): number[] => Array.from({ length: count }, (_, i) => view.getUint16(2 * (k * count + i), true) / 65535);
  const first = coarse.edges_s[0]!;
  const last = coarse.edges_s[coarse.edges_s.length - 1]!;
  return {
    edges_s: Array.from({ length: count + 1 }, (_, i) => first + ((last - first) * i) / count),
    whole_s: row(rows - 1),
    shares: coarse.shares.map((_, k) => row(k)),
  };
}

function checkIndex(value: unknown): Index {
  const index = value as Index;
  if (typeof index !== "object" || index === null || !Array.isArray(index.runs)) {
    throw new Error("The index of the results is damaged.");
  }
  if (index.version !== VERSION) {
    throw new Error(`The results come from another version of Lasthop (index ${index.version}, this page reads ${VERSION}).`);
  }
  return index;
}
