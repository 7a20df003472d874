/** Objects instead of text without Effect: schemas of libraries, types of the reply, rules that only the library knows. */
import { say, type ScriptStep, TestKernel } from "@colloquy/testing"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { z } from "zod"

const open = (...steps: ReadonlyArray<ScriptStep>) => TestKernel.open(steps)
const content = "Who?"
const written = say(`{"name":"Ada","born":"1815-12-10"}`)

describe("send with output", () => {
  it("takes a zod schema and gives its type", async () => {
    await using kernel = await open(written)
    const output = z.object({ name: z.string(), born: z.iso.date() })
    const reply = await kernel.send({ content, output }, { throw: true })
    expectTypeOf(reply.output).toEqualTypeOf<{ name: string; born: string } | null>()
    assert.deepStrictEqual(reply.output, { name: "Ada", born: "1815-12-10" })
    if (reply.status === "COMPLETED") expectTypeOf(reply.output).toEqualTypeOf<{ name: string; born: string }>()
    const [request] = kernel.model.requests
    assert.include(request?.system ?? "", `"required":["name","born"]`)
  })

  it("takes an Effect schema, and converts", async () => {
    await using kernel = await open(written)
    const output = Schema.Struct({ name: Schema.String, born: Schema.Date })
    const reply = await kernel.send({ content, output })
    expectTypeOf(reply.output).toEqualTypeOf<{ readonly name: string; readonly born: Date } | null>()
    assert.deepStrictEqual(reply.output, { name: "Ada", born: new Date("1815-12-10") })
  })

  it("takes JSON Schema", async () => {
    await using kernel = await open(say("[1,2]"))
    const reply = await kernel.send({
      content,
      output: { type: "array", items: { type: "number" } },
      outputName: "list"
    })
    assert.deepStrictEqual(reply.output, [1, 2])
    assert.strictEqual(kernel.model.requests[0]?.output?.name, "list")
  })

  it("lets the library check what JSON Schema cannot say, or says in a way that is not checked", async () => {
    const output = z.object({
      mail: z.email(),
      tags: z.record(z.string(), z.number()),
      even: z.number().refine((n) => n % 2 === 0)
    })
    await using kernel = await open(
      say(`{"mail":"ada@example.org","tags":{"a":1},"even":2}`),
      say(`{"mail":"ada@example.org","tags":{"a":1},"even":3}`)
    )
    const good = await kernel.send({ content, output })
    assert.deepStrictEqual(good.output, { mail: "ada@example.org", tags: { a: 1 }, even: 2 })
    const bad = await kernel.send({ content, output })
    assert.strictEqual(bad.status, "FAILED")
    assert.isNull(bad.output)
    assert.include(JSON.stringify(bad.status === "FAILED" && bad.fault.detail), `"path":["even"]`)
  })

  it("gives the reply of a turn that was started, too", async () => {
    await using kernel = await open(written)
    const turn = await kernel.start({ content, output: z.object({ name: z.string() }) })
    assert.deepInclude(await turn.reply(), { output: { name: "Ada" } })
  })

  it("rejects with every problem if that is wanted", async () => {
    await using kernel = await open(say("no"), say("{}"))
    const error = await kernel
      .send({ content, output: z.object({ name: z.string() }) }, { throw: true })
      .catch((thrown: unknown) => thrown)
    assert.propertyVal(error, "code", "output_invalid")
    assert.propertyVal(error, "content", "{}")
  })
})
