import { readFileSync, writeFileSync, rmSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** One file: the script and the style sheet stand in the page, which the package carries. */
function onePage(): Plugin {
  return {
    name: "one-page",
    apply: "build",
    enforce: "post",
    closeBundle() {
      const folder = "build";
      const script = readFileSync(`${folder}/page.js`, "utf8").trim();
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
