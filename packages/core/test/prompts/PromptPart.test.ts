import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { fitPart, type PromptPart, shareRoom, sizeOfPart } from "../../src/prompts/PromptPart.ts"

const counter = { count: (text: string) => text.length }

const part = (ranks: ReadonlyArray<number>): PromptPart => ({
  name: "excerpts",
  intro: "Material:",
  items: ranks.map((rank, index) => ({ text: `item ${index}`, rank })),
  place: "turn",
  weight: 1
})

describe("a recalled part", () => {
  it("goes in whole where there is room", () => {
    const whole = part([2, 0, 1])
    const size = sizeOfPart(whole, counter)
    assert.deepStrictEqual(fitPart(whole, size, counter), {
      name: "excerpts",
      text: "Material:\n\nitem 0\n\nitem 1\n\nitem 2",
      tokens: size,
      items: 3,
      leftOut: { items: 0, tokens: 0 }
    })
  })

  it("loses its highest ranks first, and keeps the order of reading", () => {
    const fitted = fitPart(part([2, 0, 1]), "Material:\n\nitem 0\n\nitem 1".length, counter)
    assert.strictEqual(fitted.text, "Material:\n\nitem 1\n\nitem 2")
    assert.strictEqual(fitted.leftOut.items, 1)
  })

  it("adds nothing, not even its first sentence, where no item fits", () => {
    assert.deepInclude(fitPart(part([0]), 10, counter), { text: "", tokens: 0, items: 0 })
    assert.deepInclude(fitPart(part([]), 1000, counter), { text: "", tokens: 0, items: 0 })
  })

  const Claim = Schema.Struct({
    wants: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })),
    weight: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))
  })
  const Room = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3000 }))

  it.prop(
    "never gets more than it wants, and all together never more than there is",
    [Room, Schema.Array(Claim)],
    ([room, claims]) => {
      const given = shareRoom(room, claims)
      given.forEach((tokens, index) => assert.isAtMost(tokens, claims[index]?.wants ?? 0))
      assert.isAtMost(
        given.reduce((sum, tokens) => sum + tokens, 0),
        room
      )
    }
  )

  it.prop("gets all that it wants where all fit", [Schema.Array(Claim)], ([claims]) => {
    const wanted = claims.map(({ wants }) => wants)
    assert.deepStrictEqual(
      shareRoom(
        wanted.reduce((sum, wants) => sum + wants, 0),
        claims
      ),
      wanted
    )
  })

  it("shares by weight what is too little, and gives on what another does not need", () => {
    assert.deepStrictEqual(
      shareRoom(100, [
        { wants: 1000, weight: 4 },
        { wants: 1000, weight: 1 }
      ]),
      [80, 20]
    )
    assert.deepStrictEqual(
      shareRoom(100, [
        { wants: 10, weight: 4 },
        { wants: 1000, weight: 1 }
      ]),
      [10, 90]
    )
  })
})
