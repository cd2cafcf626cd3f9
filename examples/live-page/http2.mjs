// Serves a page and twelve images of 30 kB over HTTP/2 (Node.js) on port 4433.
import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";

const image = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'.padEnd(30_000);
const images = [...Array(12).keys()].map((i) => `<img src="/${i}.svg">`).join("");
const script = `onload = () => { const e = performance.getEntriesByType("navigation")[0];
document.body.innerHTML = e.nextHopProtocol + " " + Math.round(performance.now()) + " ms" }`;

createSecureServer({ key: readFileSync("key.pem"), cert: readFileSync("cert.pem") }, (request, response) => {
  const svg = request.url.endsWith(".svg");
  response.writeHead(200, { "content-type": svg ? "image/svg+xml" : "text/html" });
  response.end(svg ? image : `<body>${images}<script>${script}</script>`);
}).listen(4433);
