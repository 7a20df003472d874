/** A stored turn as a test file: written to a folder, run by Vitest, and passed at once. */
import { noUsage } from "@colloquy/core/adapters"
import { Colloquy, tool } from "colloquy"
import { answers } from "colloquy/answers"
import { documents } from "colloquy/documents"
import { evals } from "colloquy/evals"
import { helpers } from "colloquy/helpers"
import { inMemory } from "colloquy/in-memory"
import { images } from "colloquy/media"
import { memory } from "colloquy/memory"
import {
  callTool,
  callTools,
  copyAsTest,
  type Expectation,
  fail,
  say,
  scripted,
  type ScriptStep,
  TestKernel
} from "colloquy/testing"
import { webSearch, type WebSearchPort } from "colloquy/web-search"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../..", import.meta.url))

/** What Vitest says of these files, and whether all of them passed. */
const runVitest = async (files: Readonly<Record<string, string>>) => {
  const folder = await mkdtemp(join(tmpdir(), "copied-"))
  try {
    await symlink(join(root, "node_modules"), join(folder, "node_modules"))
    await mkdir(join(folder, "tests"))
    const sources = `{ conditions: ["colloquy-source"] }`
    const config = `export default { resolve: ${sources}, ssr: { resolve: ${sources} }, test: { reporters: ["verbose"], isolate: false, maxWorkers: 1 } }`
    await writeFile(join(folder, "vitest.config.mjs"), config)
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, "tests", name), text)
    return await new Promise<{ readonly isPassed: boolean; readonly output: string }>((resolve) => {
      const bin = join(root, "node_modules/vitest/vitest.mjs")
      execFile(
        process.execPath,
        [bin, "run", "--root", folder],
        { env: { ...process.env, NO_COLOR: "1" } },
        (error, stdout, stderr) => resolve({ isPassed: error === null, output: stdout + stderr })
      )
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const stock = tool({
  name: "stock",
  description: "How many there are.",
  parameters: { type: "object", properties: { article: { type: "string" } } },
  execute: ({ article }) => (article === "lamp" ? 3 : 0)
})

const price = { name: "price", description: "The price.", parameters: null }

/** A picture of one pixel. */
const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64"
)

const engine: WebSearchPort = {
  id: "engine",
  priceUsd: 0,
  search: () =>
    Effect.succeed({
      results: [{ url: "https://foxes.example/", title: "Foxes", text: "They dig.", publishedAt: null }],
      costUsd: 0
    })
}

/** Copies the last turn of a conversation in which `script` was played. */
const copied = async (script: ReadonlyArray<ScriptStep>, expectations: ReadonlyArray<Expectation> = []) => {
  const kernel = await TestKernel.open([say("Hello."), ...script], { tools: [stock] })
  const first = await kernel.send({ content: "Hi `there` ${1}" })
  const question = 'Is the "lamp"\nin stock, and what does it cost? */'
  const reply = await kernel.send({
    threadId: first.threadId,
    content: question,
    tools: [price],
    systemPrompt: "Be brief."
  })
  if (reply.status === "REQUIRES_ACTION") {
    const outputs = reply.toolCalls.map(({ id }) => ({ toolCallId: id, output: "40 EUR" }))
    await (await kernel.submitToolOutputs({ threadId: first.threadId, outputs })).reply()
  }
  const { messages } = await kernel.threads.get(first.threadId)
  await kernel.close()
  return (
    copyAsTest(messages, reply.messageId, { expectations, instructions: "Be brief." }) ??
    assert.fail("there is no turn")
  )
}

describe("a turn copied as a test", { timeout: 120_000 }, () => {
  it("passes at once: with tools of the server and the client, with expectations, after a failure", async () => {
    const both: ReadonlyArray<ScriptStep> = [
      [say("Let me look."), callTool("stock", { article: "lamp", "2nd": true })],
      callTools(["price", "{}"]),
      say('Three, 40 EUR.\u2028It\'s "new".')
    ]
    const given: ReadonlyArray<Expectation> = [
      { kind: "contains", text: "40 EUR" },
      { kind: "calls", tool: "stock", arguments: { article: "lamp", "2nd": true } },
      { kind: "contains", text: "50\nEUR" },
      { kind: "judge", question: "Is it polite?\nprocess.exit()" }
    ]
    const many = callTools(...Array.from({ length: 101 }, (): [string, string] => ["stock", "{}"]))
    const files = {
      "many.test.ts": await copied([many, say("None.")]),
      "usual.test.ts": await copied(both),
      "given.test.ts": await copied(both, given),
      "failed.test.ts": await copied([[say("Let me"), fail("auth")]]),
      "silent.test.ts": await copied([fail("auth")])
    }
    assert.include(files["usual.test.ts"], 'callTools(["price", "{}"])')
    assert.include(
      files["given.test.ts"],
      "Not checked, because it needs a real model or its figures: Is it polite? process.exit() yes"
    )
    assert.include(
      files["given.test.ts"],
      '// Not met by the recorded answer: contains "50 EUR". Expect true once it is.'
    )
    assert.include(files["failed.test.ts"], "has no whole answer")
    assert.isNull(copyAsTest([], "none"))
    const { isPassed, output } = await runVitest(files)
    assert.isTrue(isPassed, output)
    assert.match(output, /Tests +5 passed/)
  })

  it("fails when the script is changed, so it looks at what was said", async () => {
    const file = (await copied([say("Three.")])).replace('say("Three.")', 'say("None.")')
    const { isPassed, output } = await runVitest({ "changed.test.ts": file })
    assert.isFalse(isPassed)
    assert.include(output, "None.")
  })

  it("passes at once: typed answers, helpers, rejected approvals, media, searches", async () => {
    const pay = tool({
      name: "pay",
      parameters: null,
      needsApproval: true,
      execute: () => "paid",
      description: "Pays."
    })
    const provider = {
      ...scripted([
        say('{"Yes": 0.9, "No": 0.1}'),
        callTool("poet", { message: "A verse" }),
        say("Tea, tea."),
        say("He says: Tea."),
        [say("I will pay."), callTool("pay", { cents: 1 })],
        say("Not paid then."),
        callTool("web_search", { query: "foxes" }),
        callTool("generate_image", { prompt: "A fox" }),
        say("A fox.")
      ]),
      image: { generate: () => Effect.succeed({ images: [pixel], usage: noUsage, model: null }) }
    }
    const rooms = [answers(), helpers(), evals(), webSearch(engine), images({ model: "painter" })] as const
    await using kernel = await Colloquy.open({
      store: inMemory(),
      providers: [provider],
      model: "scripted-model",
      rooms,
      tools: [pay],
      owner: "ada"
    })
    const questions = { urgent: { type: "noul", instructions: "Is it urgent?" } } as const
    const typed = await kernel.send({ content: "Fire!", questions })
    const poet = await kernel.assistants.create({ name: "Poet" })
    const chief = await kernel.assistants.create({
      name: "Chief",
      systemPrompt: 'Be "brief".\n*/ `${x}`',
      helpers: [{ assistantId: poet.id, name: "poet", description: "Verses" }]
    })
    const helped = await kernel.send({ assistantId: chief.id, content: "A verse" })
    const asked = await kernel.send({ threadId: helped.threadId, content: "Pay" })
    for (const call of await kernel.approvals.list()) await kernel.approvals.reject(call, { reason: "No." })
    const painted = await kernel.send({ threadId: asked.threadId, content: "A fox", webSearch: "auto", images: "auto" })
    const copies = { typed, helped, asked, painted }
    const files = Object.fromEntries(
      await Promise.all(
        Object.entries(copies).map(
          async ([name, { messageId, threadId }]) =>
            [`${name}.test.ts`, await kernel.evals.copyTurn({ threadId, messageId })] as const
        )
      )
    )
    const { isPassed, output } = await runVitest(files)
    assert.isTrue(isPassed, output + Object.values(files).join("\n"))
    assert.match(output, /Tests +4 passed/)
    assert.include(files["helped.test.ts"], "brief")
  })

  it("passes at once: documents, schemas that were repaired, handoffs, changed calls, pictures, forks, rewinds, edits, memory", async () => {
    const pay = tool({
      name: "pay",
      description: "Pays.",
      parameters: null,
      needsApproval: true,
      execute: () => "paid"
    })
    const handOver = callTool("hand_off_to_billing", { reason: "a bill" })
    const provider = scripted(
      [
        say("At noon [d1]."),
        say('{"name":1}'),
        say('{"name":"Ada"}'),
        [say("One moment."), handOver],
        say("It is paid."),
        callTool("pay", { cents: 1 }),
        say("Paid 5."),
        say("A pixel."),
        say("On the fork."),
        say("Again."),
        say("Edited."),
        callTools(["price", '{"of": "lamp"}'], ["price", "no json {"])
      ],
      { otherwise: say("[]") }
    )
    const rooms = [documents(), evals(), helpers(), memory()] as const
    await using kernel = await Colloquy.open({
      store: inMemory(),
      providers: [provider],
      model: "scripted-model",
      rooms,
      tools: [pay],
      owner: "ada"
    })
    const billing = await kernel.assistants.create({ name: "Billing", systemPrompt: "Bills." })
    const handoffs = [{ assistantId: billing.id, name: "billing", description: "Bills" }]
    const { id: assistantId } = await kernel.assistants.create({ name: "Reader", systemPrompt: "Read.", handoffs })
    const tea = new File(["Tea is served at noon."], "house.md")
    await kernel.documents.indexed((await kernel.documents.upload({ assistantId, file: tea })).id)
    const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const
    const cited = await kernel.send({ assistantId, content: "When is tea?" })
    const formed = await kernel.send({ assistantId, content: "Who?", output: schema })
    const handed = await kernel.send({ assistantId, content: "My bill?" })
    const changed = await kernel.send({ content: "Pay" })
    for (const call of await kernel.approvals.list()) await kernel.approvals.approve(call, { arguments: { cents: 5 } })
    const { threadId } = changed
    const picture = new File([pixel], "pixel.png")
    const seen = await kernel.send({ threadId, content: "What is it?", files: [{ file: picture }] })
    const fork = await kernel.fork({ threadId, messageId: seen.messageId })
    const forked = await kernel.send({ threadId: fork.id, content: "And here?", memory: "readonly" })
    await (await kernel.regenerate({ threadId: fork.id, messageId: forked.messageId })).reply()
    const { messages } = await kernel.threads.get(fork.id)
    const question = messages.findLast(({ role }) => role === "user")!
    const changing = await kernel.edit({ threadId: fork.id, messageId: question.id, content: "Otherwise?" })
    const edited = await changing.reply()
    const waiting = await kernel.send({ content: "Price?", tools: [price] })
    const copies = { cited, formed, handed, changed, seen, edited, waiting }
    const files = Object.fromEntries(
      await Promise.all(
        Object.entries(copies).map(
          async ([name, { messageId, threadId: place }]) =>
            [`${name}.test.ts`, await kernel.evals.copyTurn({ threadId: place, messageId })] as const
        )
      )
    )
    const { isPassed, output } = await runVitest(files)
    assert.isTrue(isPassed, output + Object.values(files).join("\n"))
    assert.match(output, /Tests +7 passed/)
  })
})
