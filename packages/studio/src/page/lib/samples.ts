/** The request of a step as a program would send it. Pure. */
import type { Json } from "../wire.ts"

export interface SampleRequest {
  readonly path: string
  readonly body: Json
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The key stands in the environment, never in the sample. */
export const curlSample = (api: string, { body, path }: SampleRequest): string =>
  [
    `curl ${quoted(api + path)}`,
    `-H "X-API-Key: $COLLOQUY_API_KEY"`,
    "-H 'Content-Type: application/json'",
    `-d ${quoted(JSON.stringify(body))}`
  ].join(" \\\n  ")

export const typescriptSample = (api: string, { body, path }: SampleRequest): string =>
  [
    `const response = await fetch(${JSON.stringify(api + path)}, {`,
    '  method: "POST",',
    '  headers: { "x-api-key": process.env.COLLOQUY_API_KEY ?? "", "content-type": "application/json" },',
    `  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll("\n", "\n  ")})`,
    "})",
    "console.log(await response.json())"
  ].join("\n")
