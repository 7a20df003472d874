/**
 * The program that the official conformance suite of MCP tests as a client: a kernel with its server, whose model calls every tool once, and
 * whose user agrees to everything. In the scenarios of authorization the owner grants access first, as in a browser, and again where that is
 * asked for.
 */
import { Kernel, Principal, Turns } from "@colloquy/core"
import type { ChatRequest } from "@colloquy/core/adapters"
import { ToolAccess } from "@colloquy/core/wings"
import { callTools, say, ScriptedModel, type ScriptStep } from "@colloquy/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { InMemory } from "../../src/in-memory/index.ts"
import { Mcp } from "../../src/mcp/index.ts"

/** What the suite gives a scenario: a registration at its server, or the calls that it wants. */
const Given = Schema.Struct({
  client_id: Schema.optionalKey(Schema.String),
  client_secret: Schema.optionalKey(Schema.String),
  toolCalls: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String, arguments: Schema.JsonObject })))
})
const given = Schema.decodeUnknownSync(Schema.fromJsonString(Given))(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}")
const url = process.argv.at(-1) ?? ""
const isOwned = process.env["MCP_CONFORMANCE_SCENARIO"]?.startsWith("auth/") === true

/** One scenario has a tool that wants the schema of the other one back. */
const callEverything = ({ messages, tools }: ChatRequest): ScriptStep => {
  if (messages.at(-1)?.role === "tool" || tools.length === 0) return say("Done.")
  const wanted =
    given.toolCalls?.map((each) => ({ ...each, name: `there_${each.name}` })) ??
    tools.map(({ name }) => {
      const other = tools.find((each) => each.name !== name)?.parameters ?? null
      return { name, arguments: { a: 5, b: 3, schema: other } }
    })
  return callTools(
    ...wanted.map(
      ({ arguments: args, name }, index) => [name, args, `call ${index}`] as [string, Schema.JsonObject, string]
    )
  )
}

const { client_id: id, client_secret: secret } = given
const registered =
  id === undefined ? {} : { client: { id, ...(secret === undefined ? {} : { secret: Redacted.make(secret) }) } }
const oauth = { redirectUrl: "http://localhost:3000/callback", ...registered }
const owned = isOwned ? [{ name: "there", url, oauth }] : []

const kernel = Layer.mergeAll(
  Mcp.layer(isOwned ? [] : [{ name: "there", url }]),
  Mcp.layerForOwners(owned, { secret: Redacted.make("a secret of the host") })
).pipe(
  Layer.provideMerge(Kernel.layer),
  Layer.provideMerge(Layer.mergeAll(ScriptedModel.layer([], { otherwise: callEverything }), InMemory.layer))
)

const grant = Effect.gen(function* () {
  const { begin, finish } = yield* ToolAccess
  const { url: page } = yield* begin("there")
  const { headers } = yield* Effect.promise(() => fetch(page, { redirect: "manual" }))
  const { searchParams } = new URL(headers.get("location") ?? "")
  yield* finish({ ...Object.fromEntries(searchParams), state: searchParams.get("state") ?? "" }, null)
})

const approveAll = Effect.gen(function* () {
  const turns = yield* Turns
  while (true) {
    const waiting = yield* turns.approvals({ limit: 10, skip: 0 })
    const [first] = waiting
    if (first === undefined) return
    const { runId, threadId } = first
    const decisions = waiting.map(({ id: toolCallId }) => {
      return { toolCallId, decision: "approve" as const, arguments: { confirmed: true } }
    })
    yield* (yield* turns.decide({ threadId, runId, decisions })).reply
  }
})

const turn = Turns.use((turns) => turns.send({ content: "Use all your tools." }))

const conversation = Effect.gen(function* () {
  if (isOwned) yield* grant
  const { supplements } = yield* turn
  yield* approveAll
  if (!isOwned || supplements === undefined) return
  yield* grant
  yield* turn
})

await Effect.runPromise(conversation.pipe(Principal.provide("ada"), Effect.provide(kernel)))
