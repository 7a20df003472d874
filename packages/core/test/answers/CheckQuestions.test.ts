/** Every malformed question is refused, with one problem for each fault at its right place. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type Checked, checkQuestions, checkTypedAsk, Questions } from "../../src/answers/index.ts"
import { questionOptions } from "../../src/answers/Question.ts"

type Path = ReadonlyArray<string | number>

const problemsIn = (checked: Checked<unknown>) =>
  Result.isFailure(checked) ? checked.failure.map(({ path, problem }) => [path.join("/"), problem]) : []

const noul = { type: "noul", instructions: "Is it urgent?" }
const choice = { type: "choice", instructions: "Which topic?", criteria: { refund: "money back", delivery: null } }
const score = { type: "score", instructions: "How angry?", criteria: ["calm", "annoyed", "furious"] }

const withOptions = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`option ${index}`, null]))
const withLevels = (count: number) => Array.from({ length: count }, (_, index) => `level ${index}`)

const sound: ReadonlyArray<readonly [string, unknown]> = [
  ["noul", noul],
  ["noul with criteria", { ...noul, criteria: { true: "today", false: "later" } }],
  ["noul with null for criteria", { ...noul, criteria: null }],
  ["choice", choice],
  ["choice of one", { ...choice, criteria: { only: null } }],
  ["choice of 255", { ...choice, criteria: withOptions(255) }],
  ["choice with awkward names", { ...choice, criteria: { "": null, constructor: "x", "🙂 ": "y" } }],
  ["score", score],
  ["score of 2", { ...score, criteria: withLevels(2) }],
  ["score of 10", { ...score, criteria: withLevels(10) }],
  ["instructions as an object", { ...noul, instructions: { ask: ["a", 1, null] } }],
  ["instructions as a list", { ...noul, instructions: ["a", { b: 1 }] }],
  ["fields that mean nothing here", { ...noul, comment: 1 }]
]

/** A fault in one question, and where it must be reported below the question. */
const faults: ReadonlyArray<readonly [string, unknown, Path, string]> = [
  ["null", null, [], "wrong_type"],
  ["a text", "noul", [], "wrong_type"],
  ["a list", [noul], [], "wrong_type"],
  ["no type", { instructions: "x" }, ["type"], "missing"],
  ["a strange type", { ...noul, type: "maybe" }, ["type"], "unknown_type"],
  ["a type that objects have anyway", { ...noul, type: "constructor" }, ["type"], "unknown_type"],
  ["a type that is no text", { ...noul, type: 1 }, ["type"], "unknown_type"],
  ["null for a type", { ...noul, type: null }, ["type"], "unknown_type"],
  ["no instructions", { type: "noul" }, ["instructions"], "missing"],
  ["null for instructions", { ...noul, instructions: null }, ["instructions"], "wrong_type"],
  ["a number for instructions", { ...noul, instructions: 7 }, ["instructions"], "wrong_type"],
  ["a truth for instructions", { ...score, instructions: true }, ["instructions"], "wrong_type"],
  ["empty instructions", { ...choice, instructions: " \n" }, ["instructions"], "empty"],
  ["an empty object for instructions", { ...choice, instructions: {} }, ["instructions"], "empty"],
  ["an empty list for instructions", { ...choice, instructions: [] }, ["instructions"], "empty"],
  ["noul: criteria as a text", { ...noul, criteria: "yes" }, ["criteria"], "wrong_type"],
  ["noul: criteria as a list", { ...noul, criteria: ["a", "b"] }, ["criteria"], "wrong_type"],
  ["noul: no true", { ...noul, criteria: { false: "b" } }, ["criteria", "true"], "missing"],
  ["noul: no false", { ...noul, criteria: { true: "a" } }, ["criteria", "false"], "missing"],
  ["noul: true is a number", { ...noul, criteria: { true: 1, false: "b" } }, ["criteria", "true"], "wrong_type"],
  [
    "noul: a third",
    { ...noul, criteria: { true: "a", false: "b", maybe: "c" } },
    ["criteria", "maybe"],
    "unknown_field"
  ],
  ["choice: no criteria", { type: "choice", instructions: "x" }, ["criteria"], "missing"],
  ["choice: criteria as a list", { ...choice, criteria: ["a"] }, ["criteria"], "wrong_type"],
  ["choice: null for criteria", { ...choice, criteria: null }, ["criteria"], "wrong_type"],
  ["choice: no option", { ...choice, criteria: {} }, ["criteria"], "too_few"],
  ["choice: 256 options", { ...choice, criteria: withOptions(256) }, ["criteria"], "too_many"],
  ["choice: a number beside an option", { ...choice, criteria: { a: null, b: 3 } }, ["criteria", "b"], "wrong_type"],
  ["choice: an object beside an option", { ...choice, criteria: { a: {} } }, ["criteria", "a"], "wrong_type"],
  ["score: no criteria", { type: "score", instructions: "x" }, ["criteria"], "missing"],
  ["score: criteria as an object", { ...score, criteria: { low: "a" } }, ["criteria"], "wrong_type"],
  ["score: one level", { ...score, criteria: ["a"] }, ["criteria"], "too_few"],
  ["score: no level", { ...score, criteria: [] }, ["criteria"], "too_few"],
  ["score: 11 levels", { ...score, criteria: withLevels(11) }, ["criteria"], "too_many"],
  ["score: null for a level", { ...score, criteria: ["a", null, "c"] }, ["criteria", 1], "wrong_type"]
]

describe("questions", () => {
  it.each(sound)("%s: accepted, and what is kept fits the schema", (_, question) => {
    const checked = checkQuestions({ q: question })
    assert.deepStrictEqual(problemsIn(checked), [])
    Schema.decodeUnknownSync(Questions)(Result.getOrThrow(checked))
  })

  it.each(faults)("%s: refused at its place", (_, question, path, problem) => {
    assert.deepStrictEqual(problemsIn(checkQuestions({ q: question })), [[["q", ...path].join("/"), problem]])
  })

  it.each<[unknown, string, string]>([
    [null, "", "wrong_type"],
    [[], "", "wrong_type"],
    ["x", "", "wrong_type"],
    [{}, "questions", "missing"],
    [{ questions: null }, "questions", "wrong_type"],
    [{ questions: [noul] }, "questions", "wrong_type"],
    [{ questions: {} }, "questions", "too_few"],
    [{ questions: { q: noul }, state: 5 }, "state", "wrong_type"],
    [{ questions: { q: noul }, state: false }, "state", "wrong_type"]
  ])("%j: refused at its place", (value, path, problem) => {
    assert.deepStrictEqual(problemsIn(checkTypedAsk(value)), [[path, problem]])
  })

  it.each<[unknown]>([["a text"], [{ a: 1 }], [["a", 1]], [""], [null]])("a state of %j is kept", (state) => {
    const checked = checkTypedAsk({ questions: { q: noul }, state, other: 1 })
    assert.deepStrictEqual(Result.getOrThrow(checked), { questions: { q: { ...noul } }, state } as never)
  })

  it("two faults of one question are both told", () => {
    const value = { q: { type: "score", instructions: 3, criteria: ["a", 1, 2] } }
    assert.deepStrictEqual(problemsIn(checkQuestions(value)), [
      ["q/instructions", "wrong_type"],
      ["q/criteria/1", "wrong_type"],
      ["q/criteria/2", "wrong_type"]
    ])
  })

  it("a question has its type, its instructions and then its criteria, whatever the order in which they came", () => {
    for (const question of [choice, score, { ...noul, criteria: { true: "a", false: "b" } }]) {
      const turned = Object.fromEntries(Object.entries(question).toReversed())
      const { q } = Result.getOrThrow(checkQuestions({ q: turned }))
      assert.deepStrictEqual(Object.keys(q ?? {}), ["type", "instructions", "criteria"])
    }
  })

  it("an order of options is kept when it names each of them once, and else ignored", () => {
    const asked = { type: "choice", instructions: "x", criteria: { b: null, 2: "two", 1: null } }
    const checkedOrder = (order: unknown) => {
      const { q } = Result.getOrThrow(checkQuestions({ q: { ...asked, order } }))
      return q === undefined ? [] : questionOptions(q)
    }
    assert.deepStrictEqual(checkedOrder(["b", "2", "1"]), ["b", "2", "1"])
    for (const wrong of [["b", "2"], ["b", "2", "2"], ["b", "2", 1], ["b", "2", "1", "c"], "b21", null]) {
      assert.deepStrictEqual(checkedOrder(wrong), ["1", "2", "b"])
    }
  })

  it("keeps a question and an option that are called __proto__", () => {
    const value: unknown = JSON.parse(
      '{"__proto__": {"type": "choice", "instructions": "x", "criteria": {"__proto__": "a", "b": null}}}'
    )
    const questions = Result.getOrThrow(checkQuestions(value))
    assert.deepStrictEqual(Object.keys(questions), ["__proto__"])
    const kept = Object.values(questions)[0]
    assert.deepStrictEqual(Object.keys(kept?.criteria ?? {}), ["__proto__", "b"])
  })

  it.effect.prop(
    "any number of faults among sound questions: one problem for each, under the name of its question",
    [Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))).check(Schema.isMinLength(1))],
    ([picks]) =>
      Effect.sync(() => {
        const named = picks.map((pick, index) => {
          const fault = faults[pick % (faults.length * 2)]
          return {
            name: `q${index}`,
            fault,
            question: fault === undefined ? sound[pick % sound.length]?.[1] : fault[1]
          }
        })
        const questions = Object.fromEntries(named.map(({ name, question }) => [name, question]))
        const expected = named.flatMap(({ fault, name }) =>
          fault === undefined ? [] : [[["questions", name, ...fault[2]].join("/"), fault[3]]]
        )
        assert.deepStrictEqual(problemsIn(checkTypedAsk({ questions })), expected)
      }),
    { arbitrary: { runs: 200, seed: 1 } }
  )

  it.effect.prop(
    "whatever JSON comes: questions that fit the schema, or problems with a path that begins where it should",
    [Schema.Json],
    ([value]) =>
      Effect.sync(() => {
        const checked = checkTypedAsk({ questions: { q: value } })
        if (Result.isSuccess(checked)) Schema.decodeUnknownSync(Questions)(checked.success.questions)
        else {
          assert.isNotEmpty(checked.failure)
          for (const { path } of checked.failure) assert.deepStrictEqual(path.slice(0, 2), ["questions", "q"])
        }
      }),
    { arbitrary: { runs: 300, seed: 2 } }
  )
})
