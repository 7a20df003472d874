/**
 * `npm run live -- openai`: asks a real vendor, with your key and at your cost, what the tests ask a fake one, and writes a page of what held.
 * Run it before you trust an adapter. The key is `OPENAI_API_KEY` (and so on); `OPENAI_BASE_URL` and `OPENAI_REALTIME_URL` as for the server.
 * `--limit 0.25` is the limit in US dollars, `--out page.md` the file, `--chat`, `--realtime`, `--embedding`, `--image` name other models.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { pageText, runChecks } from "./live/LiveCheck.ts"
import { type LiveModels, liveVendors, vendorChecks } from "./live/LiveVendors.ts"

const text = { type: "string" } as const
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { limit: text, out: text, chat: text, realtime: text, embedding: text, image: text }
})
const stop = (sentence: string): never => {
  console.error(sentence)
  process.exit(2)
}

const [name = ""] = positionals
const vendor =
  (Object.hasOwn(liveVendors, name) ? liveVendors[name] : undefined) ??
  stop(`Name a vendor: ${Object.keys(liveVendors).join(", ")}.`)
const prefix = name.toUpperCase()
const key = process.env[`${prefix}_API_KEY`] || stop(`${prefix}_API_KEY is not set. The checks need a key of yours.`)
const limitUsd = Number(values.limit ?? "0.25")
if (!(limitUsd > 0)) stop("--limit is a number of US dollars above 0.")

const { limit: _, out = `live-${name}.md`, ...named } = values
const models: LiveModels = { ...vendor.models, ...named }
const baseUrl = process.env[`${prefix}_BASE_URL`]
const url = process.env[`${prefix}_REALTIME_URL`]
const access = { apiKey: Redacted.make(key), ...(baseUrl ? { baseUrl } : {}), ...(url ? { url } : {}) }

const run = await Effect.runPromise(runChecks(vendorChecks(vendor, access, models), limitUsd))
const page = pageText({ vendor: name, at: new Date(), models, limitUsd, run })
writeFileSync(out, page)
console.log(page)
console.log(`Written to ${out}.`)
process.exit(run.results.some(({ outcome }) => outcome === "failed") ? 1 : 0)
