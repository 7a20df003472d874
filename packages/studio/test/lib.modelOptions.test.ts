/** The options of a model from a form, and back. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { listedEfforts, optionFields, readOptions, writeOptions } from "../src/page/lib/modelOptions.ts"

describe("the options of a model", () => {
  it("are read from texts and written as the same texts, each kind of them", () => {
    const all = {
      temperature: 0.5,
      top_p: 0,
      max_output_tokens: 100,
      max_steps: 3,
      seed: -7,
      stop: ["end", "of  all"],
      tool_choice: { name: "get_news" },
      parallel_tool_calls: false
    }
    assert.deepStrictEqual(readOptions(writeOptions(all)), all)
    assert.deepStrictEqual(readOptions({ tool_choice: "none", parallel_tool_calls: "true" }), {
      tool_choice: "none",
      parallel_tool_calls: true
    })
  })

  it("are those of the API, each with a field", () => {
    const file = new URL("../../http/openapi.json", import.meta.url)
    const { properties } = JSON.parse(readFileSync(file, "utf8")).components.schemas.ModelOptions
    assert.sameMembers(
      optionFields.map(({ name }) => name),
      Object.keys(properties)
    )
  })

  it("have the efforts of thinking that the catalogue has, and none for a model that does not think", () => {
    const controls = (efforts: ReadonlyArray<string>) => ({ efforts, budget: false, style: null })
    assert.deepStrictEqual(listedEfforts({ supports_thinking: true, thinking_controls: null }), [
      "low",
      "medium",
      "high",
      "max"
    ])
    const listed = { supports_thinking: true, thinking_controls: controls(["none", "high", "low"]) }
    assert.deepStrictEqual(listedEfforts(listed), ["low", "high"])
    for (const supports_thinking of [false, null])
      assert.deepStrictEqual(listedEfforts({ supports_thinking, thinking_controls: controls(["low"]) }), [])
    assert.deepStrictEqual(listedEfforts(undefined), [])
  })

  it("that are empty are none, and where all are empty nothing is said", () => {
    for (const stop of [["\n"], ["\n\n", " \\n", "a\\", "###\r\n"]])
      assert.deepStrictEqual(readOptions({ seed: "1", ...writeOptions({ stop }) }), { seed: 1, stop })
    assert.isNull(readOptions({ temperature: " ", stop: "" }))
    assert.deepStrictEqual(writeOptions(null), {})
    assert.deepStrictEqual(writeOptions({ temperature: null, seed: 1 }), { seed: "1" })
  })
})
