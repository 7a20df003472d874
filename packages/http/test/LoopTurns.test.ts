/** How the fibers of many requests share the event loop. */
import { assert, describe, it } from "@effect/vitest"
import { LoopTurns } from "../src/LoopTurns.ts"

/** A loop whose time and turns the test counts. */
const makeLoop = () => {
  let now = 0
  let next: (() => void) | undefined
  const done: Array<string> = []
  const turns = new LoopTurns({ now: () => now, inNextTurn: (run) => (next = run) })
  /** A fiber that computes so many times for so many milliseconds. */
  const fiber = (name: string, times: number, millis: number) => {
    const dispatcher = turns.makeDispatcher()
    let left = times
    const step = () => {
      now += millis
      done.push(name)
      if (--left > 0) dispatcher.scheduleTask(step, 0)
    }
    dispatcher.scheduleTask(step, 0)
  }
  /** Returns the milliseconds of the turn; null: there is nothing to do. */
  const turn = (): number | null => {
    const run = next
    next = undefined
    if (run === undefined) return null
    const began = now
    run()
    return now - began
  }
  return { done, fiber, turn, turns }
}

describe("fibers of many requests", () => {
  it("hold the loop for a step longer than 10 ms at most", () => {
    const { done, fiber, turn } = makeLoop()
    for (let each = 0; each < 100; each++) fiber(`${each}`, 3, 4)
    const times: Array<number> = []
    for (let took = turn(); took !== null; took = turn()) times.push(took)
    assert.strictEqual(done.length, 300)
    assert.isAtMost(Math.max(...times), 14)
  })

  it("let a new one go first, and none of them waits for ever", () => {
    const { done, fiber, turn } = makeLoop()
    for (let each = 0; each < 50; each++) fiber("long", 20, 5)
    while (done.length < 500) turn()
    const before = done.length
    fiber("new", 1, 1)
    turn()
    turn()
    assert.include(done.slice(before), "new")
    for (let each = 0; each < 100; each++) {
      fiber("flood", 1, 10)
      turn()
    }
    assert.isAtLeast(done.slice(before).filter((name) => name === "long").length, 90)
  })

  it("do what is flushed at once, and what is left is done once", () => {
    const { done, turn, turns } = makeLoop()
    const dispatcher = turns.makeDispatcher()
    dispatcher.scheduleTask(() => done.push("flushed"), 0)
    dispatcher.flush()
    assert.deepStrictEqual(done, ["flushed"])
    turn()
    assert.strictEqual(turn(), null)
    assert.deepStrictEqual(done, ["flushed"])
  })

  it("go on when one of them fails", () => {
    const { done, fiber, turn, turns } = makeLoop()
    turns.makeDispatcher().scheduleTask(() => {
      throw new Error("a fault of the runtime")
    }, 0)
    fiber("other", 1, 1)
    assert.throws(turn)
    turn()
    assert.deepStrictEqual(done, ["other"])
  })
})
