import { readdirSync, readFileSync, writeFileSync, rmSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** The part of `package-lock.json` that names the packages. */
interface Lock {
  packages: Record<string, { version: string; license: string; dev?: boolean }>;
}

/**
 * The licence texts of the packages that the page carries, as a comment of JavaScript. A report is passed on without
 * the rest of the package, and these licences ask for their text in every copy.
 */
function notices(): string {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lock;
  const texts = Object.entries(lock.packages).flatMap(([place, { version, license, dev }]) => {
    if (place === "" || dev) return [];
    const files = readdirSync(place).filter((name) => /^(licen[cs]e|copying|notice)([._-].*)?$/i.test(name));
    if (files.length === 0) throw new Error(`${place} has no licence text: add one to the page by hand`);
    const name = place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
    return [`${name} ${version} (${license})`, ...files.sort().map((file) => readFileSync(`${place}/${file}`, "utf8"))];
  });
  // Parts of flechette are under the Apache License, of which its own text has the address only.
  const parts = ["This page carries the software below.", ...texts, readFileSync("../LICENSE-APACHE", "utf8")];
  const text = parts.map((part) => part.replaceAll(/[ \t\r]+$/gm, "").replaceAll(/^\n+|\n+$/g, "")).join("\n\n");
  if (text.includes("*/")) throw new Error("a licence text ends the comment that it stands in");
  return `/*!\n${text}\n*/`;
}

/** One file: the script and the style sheet stand in the page, which the package carries. */
function onePage(): Plugin {
  return {
    name: "one-page",
    apply: "build",
    enforce: "post",
    closeBundle() {
      const folder = "build";
      const script = `${notices()}\n${readFileSync(`${folder}/page.js`, "utf8").trim()}`;
      const style = readFileSync(`${folder}/page.css`, "utf8").trim();
      const html = readFileSync(`${folder}/index.html`, "utf8")
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        // A closing tag within the text would end the element.
        .replace("</head>", () => `<style>\n${style.replaceAll("</", "<\\/")}\n</style>\n</head>`)
        .replace("</body>", () => `<script>\n${script.replaceAll("</script", "<\\/script")}\n</script>\n</body>`);
      writeFileSync("../python/lasthop/viewer/page.html", html);
      rmSync(folder, { recursive: true });
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [onePage()],
  build: {
    outDir: "build",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    rolldownOptions: {
      output: { format: "iife", entryFileNames: "page.js", assetFileNames: "page[extname]" },
    },
  },
});
