/** The page's files, as they lie in the folder. The base path is written into the page, so that it finds the API. */
import { readFile } from "node:fs/promises"

const types: { readonly [ending: string]: string } = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8"
}

const names = [
  "index.html",
  "page.css",
  "page.js",
  "answers.js",
  "api.js",
  "dom.js",
  "forms.js",
  "inside.js",
  "transcript.js"
] as const

const headers = {
  "cache-control": "no-cache",
  "content-security-policy": "default-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
}

export const pagePaths: ReadonlyArray<string> = ["/", ...names.map((name) => `/${name}`)]

/** Null: not a path of the page. */
export const pageResponse = async (path: string, method: string, basePath: string): Promise<Response | null> => {
  const name = path === "/" ? "index.html" : names.find((each) => path === `/${each}`)
  if (name === undefined || (method !== "GET" && method !== "HEAD")) return null
  const text = await readFile(new URL(`page/${name}`, import.meta.url), "utf8")
  const body = name === "index.html" ? text.replace('content="/api"', `content="${basePath}"`) : text
  return new Response(body, { headers: { ...headers, "content-type": types[name.split(".")[1] ?? ""] ?? "" } })
}
