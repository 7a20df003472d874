/** What an operator may read of a failure: no key and nothing of the conversation. */
import { assert, describe, it } from "@effect/vitest"
import { operatorDetail, errorSentence } from "../../src/models/OperatorDetail.ts"

describe("the operator's sentence", () => {
  it.each([
    ["Incorrect API key provided: sk-proj-1234567890.", "Incorrect API key provided: [hidden]"],
    ["Authorization: Bearer abc.def was refused", "Authorization: [hidden] was refused"],
    ["The model `gpt-9` does not exist", "The model `gpt-9` does not exist"],
    ["Your key house-key is not known", "Your key [hidden] is not known"],
    ['Invalid value "my secret plan" in messages', "Invalid value … in messages"],
    ["You said: I live in Oslo with my two dogs. That is refused", "You said: … That is refused"],
    ["token a1b2c3d4e5f6a7b8c9d0e1f2a3b4 expired", "token [hidden] expired"]
  ])("%s", (sentence, expected) => {
    const request = '{"messages":[{"content":"I live in Oslo with my two dogs. my secret plan"}]}'
    assert.strictEqual(operatorDetail(sentence, request, ["house-key"]), expected)
  })

  it("leaves out every quotation where the request is too long to be searched", () => {
    const request = `${"x ".repeat(200_000)}my secret plan ${"y ".repeat(200_000)}`
    assert.strictEqual(operatorDetail('Invalid "my secret plan" here', request), "Invalid … here")
  })

  it("is short", () => {
    assert.lengthOf(operatorDetail("a ".repeat(5000)), 301)
  })

  it("names the causes of an error", () => {
    const cause = Object.assign(new AggregateError([new Error("connect ECONNREFUSED ::1:1")]), { code: "ECONNREFUSED" })
    assert.strictEqual(
      errorSentence(new TypeError("fetch failed", { cause })),
      "fetch failed: ECONNREFUSED: connect ECONNREFUSED ::1:1"
    )
  })
})
