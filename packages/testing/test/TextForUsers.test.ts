/** Where contracts look for text of a vendor in an error, and for keys. */
import { ModelError } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import { expectQuietError } from "../src/contracts/TextForUsers.ts"

const fields = { reason: "auth", provider: "vendor", model: "m" } as const
const saying = (words: string) => new Error("It failed.", { cause: { request: { headers: [words] } } })

describe("an error that a contract looks through", () => {
  for (const [what, error] of [
    ["a field", new ModelError({ ...fields, code: "a secret" })],
    ["the cause of its cause", Object.assign(new ModelError(fields), { cause: saying("a secret") })],
    ["a field that JSON leaves out", Object.defineProperty(new ModelError(fields), "cause", { value: "a secret" })],
    ["what is for the operator, when it is the key", new ModelError({ ...fields, forOperator: "sk-of-the-host" })]
  ] as const) {
    it(`MUST NOT have text of the vendor in ${what}`, () => {
      assert.throws(() => expectQuietError(error, /secret/u))
    })
  }

  it("may tell the operator what the vendor said, and may be its own cause", () => {
    const error = new ModelError({ ...fields, forOperator: "a secret" })
    Object.defineProperty(error, "cause", { value: error })
    expectQuietError(error, /secret/u)
  })
})
