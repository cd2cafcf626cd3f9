/** Elements of the page. Everything from results becomes text, never markup. */

type Child = Node | string | null;
type Attributes = Record<string, string | number | boolean | null | ((event: Event) => void)>;

/** An element with attributes, listeners (`onclick`) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  set(node, attributes);
  node.append(...children.filter((c): c is Node | string => c !== null));
  return node;
}

/** An element of SVG. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(node, attributes);
  node.append(...children.filter((c): c is Node | string => c !== null));
  return node;
}

function set(node: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** A table that moves sideways where the screen is small. */
export function scrolled(label: string, ...children: Child[]): HTMLElement {
  return el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, el("table", {}, ...children));
}

/** Names in a sentence; of many, the first ones. */
export function listed(names: string[]): string {
  return names.length <= 4 ? names.join(", ") : `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`;
}

/** The message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What went wrong, where its result would be. */
export function failure(error: unknown): HTMLElement {
  return el("p", { class: "error", role: "alert" }, messageOf(error));
}

/** A section with a heading. */
export function section(title: string, id: string, ...children: Child[]): HTMLElement {
  return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), ...children);
}
