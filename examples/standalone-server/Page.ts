/** The page's three files, as they lie in the folder. The base path is written into the page, so that it finds the API. */
import { readFile } from "node:fs/promises"

const files: { readonly [path: string]: { readonly name: string; readonly type: string } } = {
  "/": { name: "index.html", type: "text/html; charset=utf-8" },
  "/page.css": { name: "page.css", type: "text/css; charset=utf-8" },
  "/page.js": { name: "page.js", type: "text/javascript; charset=utf-8" }
}

const headers = {
  "cache-control": "no-cache",
  "content-security-policy": "default-src 'self'; img-src data:; frame-ancestors 'none'",
  "x-content-type-options": "nosniff"
}

/** Null: not a path of the page. */
export const pageResponse = async (path: string, method: string, basePath: string): Promise<Response | null> => {
  const file = files[path]
  if (file === undefined || (method !== "GET" && method !== "HEAD")) return null
  const text = await readFile(new URL(`page/${file.name}`, import.meta.url), "utf8")
  const body = text.replace('content="/api"', `content="${basePath}"`)
  return new Response(body, { headers: { ...headers, "content-type": file.type } })
}
