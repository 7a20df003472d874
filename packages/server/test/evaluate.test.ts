/** The command that answers a file of cases: its arguments, its reports and its exit status. No network: the providers are scripted. */
import { say, scripted } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { exitStatus, toldError } from "../src/ToldErrors.ts"
import { evaluateCommand } from "../src/command/evaluate.ts"

const cases = [
  { name: "rain", question: "Do I need an umbrella?", expectations: [{ kind: "contains", text: "umbrella" }] },
  { name: "polite", question: "Hello", expectations: [{ kind: "judge", question: "Is it polite?" }] }
]

/** Says what it was told, and finds what is brief impolite. */
const provider = scripted([], {
  otherwise: ({ messages, model, system }) => {
    if (model === "judge") {
      const isPolite = !JSON.stringify(messages).includes("Rain")
      return say(JSON.stringify({ yes: isPolite ? 0.9 : 0.1, no: isPolite ? 0.1 : 0.9 }))
    }
    return say(system === "Be brief." ? "Rain." : "Take an umbrella, please.")
  }
})
const providers = { providers: [provider], defaults: { provider: "scripted", model: "scripted-model" } }

const inFolder = async (work: (folder: string) => Promise<void>) => {
  const folder = await mkdtemp(join(tmpdir(), "evaluate-"))
  try {
    await writeFile(join(folder, "cases.jsonl"), cases.map((each) => `${JSON.stringify(each)}\n`).join(""))
    await work(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const run = async (...argv: ReadonlyArray<string>) => {
  const printed: Array<string> = []
  const print = (text: string) => void printed.push(text)
  const status = await evaluateCommand(argv, { env: {}, print, note: print, providers }).catch((error: unknown) => {
    print(toldError(error, false))
    return exitStatus(error)
  })
  return { status, text: printed.join("\n") }
}

describe("the command eval", () => {
  it("ends with 0 when the cases pass, and with 1 when the gate does not", () =>
    inFolder(async (folder) => {
      const file = join(folder, "cases.jsonl")
      const judge = ["--judge", "scripted/judge"]
      assert.strictEqual((await run(file, ...judge, "--min", "1")).status, 0)
      assert.strictEqual(
        (await run(file, ...judge, "--variant", '{"name":"brief","instructions":"Be brief."}')).status,
        1
      )
      const brief = '{"name":"brief","instructions":"Be brief.","model_options":{"max_output_tokens":20}}'
      // As editors of Windows write it.
      await writeFile(join(folder, "variants.json"), `\uFEFF[{"name":"now"},\r\n${brief}]\r\n`)
      const reports = ["junit.xml", "gate.json", "summary.md"].map((name) => join(folder, name))
      const [junit = "", json = "", markdown = ""] = reports
      const asked = [file, ...judge, "--variant", join(folder, "variants.json"), "--min", "0.9", "--repeats", "2"]
      const { status, text } = await run(...asked, "--junit", junit, "--json", json, "--markdown", markdown)
      assert.strictEqual(status, 1)
      assert.include(text, '"brief" passes 0 of 4 (0 %); 90 % is needed.')
      assert.strictEqual(await readFile(markdown, "utf8"), text)
      assert.include(await readFile(junit, "utf8"), '<testsuite name="brief" tests="4" failures="4"')
      const record: unknown = JSON.parse(await readFile(json, "utf8"))
      assert.deepInclude(record, { passed: false })
    }))

  it("asks for what the question of a case asked for, and a variant's instructions replace those of a case", () =>
    inFolder(async (folder) => {
      const file = join(folder, "formed.jsonl")
      const schema = { type: "object", properties: { sun: { type: "boolean" } }, required: ["sun"] }
      const expected = [{ kind: "contains", text: "told" }]
      const lines = [
        { question: "Sun?", output_schema: schema, expectations: [{ kind: "json_schema", schema }] },
        { question: "Who?", instructions: "told", expectations: expected }
      ]
      await writeFile(file, lines.map((line) => JSON.stringify(line)).join("\n"))
      const teller = scripted([], {
        otherwise: ({ output, system }) => say(output === undefined ? (system ?? "") : '{"sun": true}')
      })
      const asked = async (...more: ReadonlyArray<string>) => {
        const told: Array<string> = []
        const print = (text: string) => void told.push(text)
        const options = { env: {}, print, note: print }
        const named = { providers: [teller], defaults: providers.defaults }
        return { status: await evaluateCommand([file, ...more], { ...options, providers: named }), text: told.join() }
      }
      assert.deepInclude(await asked(), { status: 0 })
      const { status, text } = await asked("--variant", '{"name":"new","instructions":"other"}')
      assert.strictEqual(status, 1)
      assert.include(text, '"new" passes 1 of 2')
    }))

  it("prints the report that has - in the place of a file, and that one alone", () =>
    inFolder(async (folder) => {
      const { status, text } = await run(join(folder, "cases.jsonl"), "--judge", "scripted/judge", "--json", "-")
      assert.strictEqual(status, 0)
      assert.deepInclude(JSON.parse(text), { passed: true })
    }))

  it("asks no model when a report cannot be written", () =>
    inFolder(async (folder) => {
      let asked = 0
      const counted = scripted([], {
        otherwise: () => {
          asked++
          return say("x")
        }
      })
      const told: Array<string> = []
      const argv = [join(folder, "cases.jsonl"), "--json", join(folder, "no/such/folder.json")]
      const named = { providers: [counted], defaults: providers.defaults }
      const print = (text: string) => void told.push(text)
      const options = { env: {}, print, note: print, providers: named }
      assert.strictEqual(await evaluateCommand(argv, options), 2)
      assert.deepStrictEqual([asked, told.length], [0, 1])
    }))

  it("ends with 2 and a sentence when it cannot begin", () =>
    inFolder(async (folder) => {
      const file = join(folder, "cases.jsonl")
      const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
        [[], "Name one file of cases."],
        [[join(folder, "none.jsonl")], "cannot be read"],
        [[file, "--min", "90"], "--min cannot be 90."],
        [[file, "--min", ""], "--min cannot be"],
        [[file, "--baseline", "none"], 'There is no variant "none"'],
        [[file, "--repeats", "0.5"], "--repeats cannot be 0.5."],
        [[file, "--unknown"], "There is no option --unknown."],
        [[file, "--min"], "--min needs a value."],
        [[file, "--judge", "gpt"], "--judge is a provider and a model"],
        [[file, "--variant", '{"model":"a"}'], "This is no variant"],
        [[file, "--variant", '{"name":"a","model_options":{"temprature":1}}'], "This is no variant"],
        [[file, "--variant", '{"name":"a"}', "--variant", '{"name":"a"}'], 'Two variants have the name "a"'],
        [[file, "--junit", join(folder, "no/such/folder.xml")], "cannot be written"]
      ]
      for (const [argv, sentence] of wrong) {
        const { status, text } = await run(...argv)
        assert.strictEqual(status, 2, argv.join(" "))
        assert.include(text, sentence)
      }
      await writeFile(file, "{\n")
      assert.include((await run(file)).text, "Line 1: This is no JSON.")
      await writeFile(file, "\n")
      assert.deepInclude(await run(file), { status: 2 })
      const misspelled = [
        '{"question":"a","expectation":[]}',
        '{"question":"a","expectations":[{"kind":"refuses","nott":true}]}'
      ]
      await writeFile(file, `\uFEFF${misspelled.join("\r\n")}`)
      const { status, text } = await run(file)
      assert.strictEqual(status, 2)
      for (const place of ["Line 1, expectation", "Line 2, expectations.0.nott"]) assert.include(text, place)
    }))

  it("leaves the report of before as it is when it cannot begin", () =>
    inFolder(async (folder) => {
      const report = join(folder, "gate.json")
      await writeFile(report, "the one of before")
      const told: Array<string> = []
      const context = {
        env: { PORT: "none" },
        print: () => {},
        note: (text: string) => void told.push(text),
        providers
      }
      assert.strictEqual(await evaluateCommand([join(folder, "cases.jsonl"), "--json", report], context), 2)
      assert.match(told.join(), /PORT/u)
      assert.strictEqual(await readFile(report, "utf8"), "the one of before")
    }))
})
