/** How the fibers of many requests share the event loop. */
import { assert, describe, it } from "@effect/vitest"
import { LoopTurns } from "../src/LoopTurns.ts"

/** A loop whose time and turns the test counts. */
const makeLoop = () => {
  let now = 0
  let next: (() => void) | undefined
  let current = () => "ada"
  const done: Array<string> = []
  const turns = new LoopTurns({ now: () => now, inNextTurn: (run) => (next = run), currentClient: () => current })
  /** A fiber that computes so many times for so many milliseconds. */
  const fiber = (name: string, times: number, millis: number, client: string | (() => string) = "ada") => {
    current = typeof client === "string" ? () => client : client
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

  it("go on where the turn ended: what was left comes before what was added in it", () => {
    const { done, fiber, turn } = makeLoop()
    for (const name of ["a", "b", "c", "d", "e"]) fiber(name, 2, 4)
    turn()
    assert.deepStrictEqual(done, ["a", "b", "c"])
    turn()
    assert.deepStrictEqual(done, ["a", "b", "c", "d", "e", "a"])
  })

  it("wait for one step of a client with hundreds of them", () => {
    const { done, fiber, turn } = makeLoop()
    for (let each = 0; each < 200; each++) fiber("ada", 10, 5)
    for (let each = 0; each < 10; each++) turn()
    const before = done.length
    fiber("bob", 5, 5, "bob")
    while (done.filter((name) => name === "bob").length < 5) turn()
    // Each of them has one step in turn.
    assert.isAtMost(done.length - before, 11)
  })

  it("have the same time for each client, whatever a step takes", () => {
    const { done, fiber, turn } = makeLoop()
    for (let each = 0; each < 20; each++) fiber("ada", 1_000, 1, "ada")
    for (let each = 0; each < 4; each++) fiber("bob", 1_000, 4, "bob")
    fiber("eve", 1_000, 8, "eve")
    for (let each = 0; each < 200; each++) turn()
    const millis = (name: string, step: number) => done.filter((each) => each === name).length * step
    const all = [millis("ada", 1), millis("bob", 4), millis("eve", 8)]
    assert.isAtMost(Math.max(...all) - Math.min(...all), 20)
  })

  it("neither save time by waiting nor lose what they had by leaving for a moment", () => {
    const { done, fiber, turn } = makeLoop()
    fiber("ada", 200, 5, "ada")
    for (let each = 0; each < 40; each++) turn()
    // Bob comes late, and gets no more than his share from now on.
    fiber("bob", 200, 5, "bob")
    const before = done.length
    for (let each = 0; each < 20; each++) turn()
    const shares = () => ["ada", "bob"].map((name) => done.slice(before).filter((each) => each === name).length)
    assert.deepStrictEqual(shares(), [20, 20])
    // Eve's first step is long, and what she sends after it waits until the others have had as much.
    fiber("eve", 1, 100, "eve")
    while (!done.includes("eve")) turn()
    const after = done.length
    fiber("eve", 1, 1, "eve")
    while (!done.slice(after).includes("eve")) turn()
    assert.isAtLeast(done.length - after, 36)
  })

  it("count for the owner from the moment when the owner is known", () => {
    const { done, fiber, turn } = makeLoop()
    for (let each = 0; each < 50; each++) fiber("ada", 20, 5, () => (done.length === 0 ? "127.0.0.1" : "ada"))
    while (done.length < 120) turn()
    const before = done.length
    fiber("other", 1, 1, "127.0.0.1")
    while (!done.slice(before).includes("other")) turn()
    assert.isAtMost(done.length - before, 3)
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
