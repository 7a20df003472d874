/** CopilotKit's client in a browser against an assistant: text, a tool of the page, an approval as an interrupt and its decision, a new page, another owner. */
import { callTool, say } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { createServer } from "node:http"
import { createRequire } from "node:module"
import { rolldown } from "rolldown"
import { inChromium } from "../../../../test/browser.ts"
import { agUi } from "../../src/ag-ui/index.ts"
import { keys, open } from "../Service.ts"
import { listen } from "../Sockets.ts"

/** The page. `@ag-ui/client` is the one that CopilotKit brings along, which is older than ours. */
const script = `
import { CopilotKitCore } from "@copilotkit/core"
import { HttpAgent } from "@ag-ui/client"
import { z } from "zod"

let agent, core
globalThis.chat = {
  open: (url, key, threadId) => {
    agent = new HttpAgent({ url, agentId: "default", threadId, headers: { "x-api-key": key } })
    core = new CopilotKitCore({ agents__unsafe_dev_only: { default: agent } })
    core.addTool({
      name: "paint",
      description: "Paints the page",
      parameters: z.object({ colour: z.string() }),
      handler: async ({ colour }) => "painted " + (document.body.style.background = colour)
    })
  },
  say: async (id, content) => {
    agent.addMessage({ id, role: "user", content })
    await core.runAgent({ agent })
    return chat.seen()
  },
  look: async () => {
    await core.runAgent({ agent })
    return chat.seen()
  },
  approve: async () => {
    const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: "resolved", payload: { approved: true } }))
    await core.runAgent({ agent, resume })
    return chat.seen()
  },
  seen: () => ({
    messages: agent.messages.map(({ role, content }) => [role, content ?? ""]),
    interrupts: agent.pendingInterrupts.map(({ toolCallId }) => toolCallId),
    status: agent.state.colloquy?.status
  })
}
`

const entry = "\0page"

const bundle = async (): Promise<string> => {
  const here = createRequire(import.meta.url)
  const theirs = createRequire(here.resolve("@copilotkit/core"))
  const build = await rolldown({
    input: entry,
    platform: "browser",
    logLevel: "silent",
    plugins: [
      {
        name: "page",
        resolveId: (name, importer) => {
          if (name === entry) return entry
          if (importer !== entry) return null
          return name === "@ag-ui/client" ? theirs.resolve(name) : here.resolve(name)
        },
        load: (id) => (id === entry ? script : null)
      }
    ]
  })
  const { output } = await build.generate({ format: "esm", codeSplitting: false })
  await build.close()
  return output[0].code
}

interface Seen {
  readonly messages: ReadonlyArray<readonly [role: string, content: string]>
  readonly interrupts: ReadonlyArray<string>
  readonly status?: string
}

describe("CopilotKit's client", () => {
  inChromium((launch) => {
    it(
      "talks to an assistant, runs a tool of the page, decides about a call, and shows the conversation to a new page",
      { timeout: 120_000 },
      async () => {
        const paid: Array<unknown> = []
        const pay = {
          definition: { name: "pay", description: null, parameters: null },
          needsApproval: true as const,
          run: (args: object) => Effect.sync(() => `paid ${paid.push(args)}`)
        }
        const steps = [
          say("Hello, ", "Ada."),
          callTool("paint", { colour: "red" }, "p"),
          say("It is red."),
          callTool("pay", { cents: 5 }, "c"),
          say("Paid.")
        ]
        await using service = await open(steps, { hosted: [pay], http: { wings: [agUi] } })
        const { assistant_id: id } = (await service.call("POST", "/assistants", { name: "a" })).body
        const code = await bundle()
        await using server = await listen(
          createServer((request, response) => {
            if (request.url === "/page")
              return response
                .setHeader("content-type", "text/html")
                .end('<script type="module" src="/page.js"></script>')
            if (request.url === "/page.js") return response.setHeader("content-type", "text/javascript").end(code)
            return service.node(request, response)
          })
        )
        const browser = await launch()
        const newPage = async (key: string) => {
          const page = await browser.newPage()
          await page.goto(`${server.url}/page`)
          await page.waitForFunction("globalThis.chat !== undefined")
          const ask = (call: string) => page.evaluate<Seen>(`chat.${call}`)
          await page.evaluate(`chat.open("${server.url}/ag-ui/${id}", "${key}", "a chat")`)
          return ask
        }
        try {
          const ada = await newPage(keys.ada)
          const hello = [
            ["user", "Hi"],
            ["assistant", "Hello, Ada."]
          ] as const
          assert.deepStrictEqual(await ada('say("1", "Hi")'), { messages: hello, interrupts: [], status: "completed" })
          assert.deepStrictEqual((await ada('say("2", "Paint it red")')).messages.slice(2), [
            ["user", "Paint it red"],
            ["assistant", ""],
            ["tool", "painted red"],
            ["assistant", "It is red."]
          ])
          assert.deepStrictEqual((await ada('say("3", "Pay")')).interrupts, ["c"])
          assert.deepStrictEqual(paid, [])

          const again = await newPage(keys.ada)
          assert.deepStrictEqual((await again("look()")).interrupts, ["c"], "a new page is asked too")
          const done = await again("approve()")
          assert.deepStrictEqual(
            [done.messages.at(-1), done.interrupts, paid],
            [["assistant", "Paid."], [], [{ cents: 5 }]]
          )

          const bob = await newPage(keys.bob)
          assert.deepStrictEqual((await bob("look()")).messages, [])
        } finally {
          await browser.close()
        }
      }
    )
  })
})
