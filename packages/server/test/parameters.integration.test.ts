/** Whatever stands in the path or in the query of a request, the answer is no fault of the server. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { RunningServer } from "../src/Server.ts"
import { caller, serverKey, startDemo } from "./TestServer.ts"

/** In the spelling of an address. */
const oddValues = [
  "",
  "%20",
  "%00",
  "%FF",
  "%",
  "..%2F..",
  "%F0%9F%9A%80",
  "x".repeat(5000),
  "x,y",
  "null",
  "[]",
  "-1",
  "1.5",
  "NaN",
  "2147483648",
  "9007199254740993",
  "99999999999999999999",
  "1e400",
  "0000-00-00",
  "275760-09-14T00:00:00Z",
  "1700000000000-x",
  "00000000-0000-7000-8000-000000000000"
]

interface Operation {
  readonly parameters?: ReadonlyArray<{ readonly in: string; readonly name: string }>
}

describe("odd values in addresses", () => {
  let server: RunningServer
  beforeAll(async () => {
    server = await startDemo({}, true)
  })
  afterAll(() => server.stop())

  it("are answered by every endpoint, and never with a fault of the server", async () => {
    const call = caller(server)
    const { assistant_id } = await call("POST", "/assistants", { name: "odd" })
    const { message_id, run_id, thread_id } = await call("POST", "/threads/messages", { content: "hi", assistant_id })
    const { memory_id } = await call("POST", `/assistants/${assistant_id}/memories`, { content: "Likes tea." })
    const { case_id } = await call("POST", "/evals/cases", { question: "?" })
    const plan = { variants: [{ name: "one" }], case_ids: [case_id] }
    const { experiment_id } = await call("POST", "/evals/experiments", plan)
    const known = new Map(
      Object.entries({ assistant_id, case_id, experiment_id, memory_id, message_id, run_id, thread_id }).map(
        ([name, id]) => [name, String(id)]
      )
    )
    const fill = (path: string, name?: string, value = "") =>
      path.replaceAll(/\{(\w+)\}/gu, (_, each: string) => (each === name ? value : (known.get(each) ?? "1")))

    const { paths } = await call("GET", "/openapi.json")
    const asked: Array<readonly [method: string, path: string]> = []
    for (const [path, operations] of Object.entries<Readonly<Record<string, Operation>>>(paths)) {
      for (const [method, { parameters = [] }] of Object.entries(operations)) {
        for (const { in: part, name } of parameters) {
          for (const value of oddValues) {
            if (part === "path") asked.push([method, fill(path, name, value)])
            // What is known is needed again.
            if (part === "query" && method === "get") asked.push([method, `${fill(path)}?${name}=${value}`])
          }
        }
      }
    }
    assert.isAbove(asked.length, 3000)

    const faults: Array<string> = []
    const left = asked.values()
    const worker = async () => {
      for (const [method, path] of left) {
        const response = await fetch(`${server.url}/api${path}`, {
          method: method.toUpperCase(),
          headers: { "x-api-key": serverKey(server), "content-type": "application/json" },
          ...(method === "get" ? {} : { body: "{}" })
        })
        await response.body?.cancel()
        if (response.status >= 500 && response.status !== 501) faults.push(`${response.status} ${method} ${path}`)
      }
    }
    await Promise.all(Array.from({ length: 8 }, worker))
    assert.deepStrictEqual(faults, [])
  })
})
