/** What a guard of plain code is told that returns something else than it may. Nothing passes then. */
import { guard, openKernel } from "@colloquy/core/promises"
import { say, TestKernel } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"

/** As a host without types could write it. */
const forged = <A>(value: unknown): A => value as A

const wrong: ReadonlyArray<readonly [returned: unknown, said: string]> = [
  [7, "7"],
  [false, "false"],
  [["a"], "a list"],
  [{}, "an empty object"],
  [{ refused: "sk-123" }, "{ refused: string }"],
  [{ refuse: 7, stop: 7, replace: null }, "{ refuse: number, stop: number, replace: object }"],
  [() => "sk-123", "a function"]
]

/** Sends a message through the guard, and returns what the caller and the operator read. */
const readThrough = async (checks: Parameters<typeof guard>[0]) => {
  const lines: Array<string> = []
  const logger = Logger.make(({ cause, message }) => void lines.push(`${String(message)} ${Cause.pretty(cause)}`))
  const layer = guard({ name: "house", ...checks }).pipe(
    Layer.provideMerge(TestKernel.layer([], { model: { otherwise: say("Hello.") } })),
    Layer.provideMerge(Logger.layer([logger]))
  )
  const kernel = await openKernel(layer, { owner: "ada" })
  const reply = await kernel.send({ content: "Hi" }).catch(String)
  await kernel.close()
  const log = lines.join("\n")
  assert.notInclude(log + JSON.stringify(reply), "sk-123")
  return { reply, log }
}

describe("a guard of plain code names itself, the hook, and what the hook may return", () => {
  it.each(wrong)("before: %j", async (returned, said) => {
    const { reply } = await readThrough({ before: () => forged(returned) })
    assert.strictEqual(
      reply,
      `TypeError: The guard "house" returned ${said} from "before". It may return a text, { refuse: string }, or nothing: undefined or null.`
    )
  })

  it.each(wrong)("after: %j", async (returned, said) => {
    const { log, reply } = await readThrough({ after: () => forged(returned) })
    assert.deepInclude(reply, { status: "FAILED", content: "" })
    const allowed = "It may return a text, { stop: string }, { replace: string }, or nothing: undefined or null."
    assert.include(log, `TypeError: The guard "house" returned ${said} from "after". ${allowed}`)
  })

  it.each(["paragraph", null, 7])("by: %j is refused before anything is read", (by) => {
    assert.throws(
      () => guard({ name: "house", by: forged(by) }),
      `The guard "house" reads by ${JSON.stringify(by)}. It must be "sentence" or "whole".`
    )
  })
})
