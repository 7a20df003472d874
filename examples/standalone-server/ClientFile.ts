/** The client of voice sessions as a file for the page: the package's own, without its types where the server runs from source. */
import { readFile } from "node:fs/promises"
import { stripTypeScriptTypes } from "node:module"

export const clientPath = "/realtime-client.js"

const source = new URL(import.meta.resolve("@colloquy/ws/client"))

/** Null: another path or method. */
export const clientResponse = async (path: string, method: string): Promise<Response | null> => {
  if (path !== clientPath || (method !== "GET" && method !== "HEAD")) return null
  const text = await readFile(source, "utf8")
  return new Response(source.pathname.endsWith(".ts") ? stripTypeScriptTypes(text) : text, {
    headers: {
      "cache-control": "no-cache",
      "content-type": "text/javascript; charset=utf-8",
      "x-content-type-options": "nosniff"
    }
  })
}
