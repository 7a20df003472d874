/** The pure parts of the studio: forms of JSON Schemas, safe addresses, tools as lines, code in colours, a turn on one time scale. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { getEventListeners } from "node:events"
import { processorTime } from "../../../test/processorTime.ts"
import type { RunStep } from "../src/page/wire.ts"
import { ownAddress, safeLink } from "../src/page/lib/addresses.ts"
import { briefly, dayName, duration, money, shortDate } from "../src/page/lib/format.ts"
import { prettyJson } from "../src/page/lib/prettyJson.ts"
import { timeIn } from "../src/page/lib/zones.ts"
import { runDays } from "../src/page/lib/runList.ts"
import { highlight } from "../src/page/lib/highlight.ts"
import { formFields, initialText, readForm } from "../src/page/lib/schema.ts"
import { markIn } from "../src/page/lib/marks.ts"
import { pause } from "../src/page/lib/pause.ts"
import { readTools, writeTools } from "../src/page/lib/tools.ts"
import { encodeWav } from "../src/page/lib/wav.ts"
import { wordDiff } from "../src/page/lib/wordDiff.ts"
import { makeChart } from "../src/page/lib/waterfall.ts"

describe("addresses", () => {
  it("open what is harmless, and nothing that runs or that the server has not signed", () => {
    assert.strictEqual(safeLink("https://example.com/a b"), "https://example.com/a%20b")
    assert.strictEqual(safeLink("mailto:ada@example.com"), "mailto:ada@example.com")
    for (const bad of [
      "javascript:alert(1)",
      " JavaScript:alert(1)",
      "data:text/html,x",
      "java\nscript:x",
      "vbscript:x",
      "/local",
      "file:///etc/passwd"
    ]) {
      assert.isNull(safeLink(bad), bad)
    }
  })

  it("of media are under the page's own origin, whatever name the server has for itself", () => {
    const url = "https://public.example/api/documents/d-1/content?expires=1&signature=x"
    assert.strictEqual(ownAddress(url, "/api"), "/api/documents/d-1/content?expires=1&signature=x")
    assert.strictEqual(ownAddress("/documents/d-1/content", ""), "/documents/d-1/content")
  })
})

it("threads stand under the days of their last messages", () => {
  const now = new Date(2026, 4, 14, 10).getTime()
  const at = (date: number, hour: number) => dayName(new Date(2026, 4, date, hour).toISOString(), now)
  assert.deepStrictEqual(
    [at(14, 0), at(13, 23), at(12, 1), at(8, 1), at(7, 23)],
    ["Today", "Yesterday", "This week", "This week", "Earlier"]
  )
})

/** The zone of the tests between it, which is put back behind them. */
const inZone = (name: string, tests: () => void) =>
  describe(`in ${name}`, () => {
    const zone = process.env["TZ"]
    beforeAll(() => {
      process.env["TZ"] = name
    })
    afterAll(() => {
      if (zone === undefined) delete process.env["TZ"]
      else process.env["TZ"] = zone
    })
    tests()
  })

inZone("Europe/Oslo", () => {
  it("yesterday has 25 or 23 hours where the clocks change", () => {
    const [long, short] = [new Date(2026, 9, 26, 10).getTime(), new Date(2026, 2, 30, 10).getTime()]
    const named = (now: number, ...time: readonly [number, number, number, number]) => {
      const iso = new Date(2026, ...time).toISOString()
      return [dayName(iso, now), shortDate(iso, now)]
    }
    assert.deepStrictEqual(named(long, 9, 25, 0, 30), ["Yesterday", "Yesterday"])
    assert.deepStrictEqual(named(short, 2, 28, 23, 30), ["This week", "Saturday"])
    assert.strictEqual(named(new Date(2026, 9, 31, 10).getTime(), 9, 25, 0, 30)[0], "This week")
  })
})

inZone("Africa/Cairo", () => {
  it("days before one that has no midnight keep their runs", () => {
    const now = new Date(2026, 3, 26, 12).getTime()
    // The clocks go from midnight of April 24 to one o'clock.
    const created_at = new Date(2026, 3, 22, 12).toISOString()
    const run = {
      created_at,
      status: "COMPLETED",
      parent_run_id: null,
      cost_usd: 1,
      usage: { total_tokens: 1 }
    } as const
    const counts = runDays([run as Parameters<typeof runDays>[0][number]], null, now).map(({ runs }) => runs)
    assert.deepStrictEqual(counts, [1, 0, 0, 0, 0])
  })
})

it("a time that is to come is no time of today", () => {
  const now = new Date(2026, 4, 14, 10).getTime()
  const shown = shortDate(new Date(2026, 7, 1, 12).toISOString(), now)
  assert.match(shown, /2026/u)
  assert.notMatch(shortDate(new Date(2026, 4, 14, 23).toISOString(), now), /2026/u)
})

it("a time in a zone that the browser does not know is that of UTC", () => {
  const time = "2026-05-14T10:00:00Z"
  assert.match(timeIn(time, "Europe/Oslo"), /12:00/u)
  assert.match(timeIn(time, "Mars/Olympus"), /10:00.*UTC/u)
})

it("JSON is indented and loses nothing", () => {
  const text = '{"2":9007199254740993,"1":[ 1.0,1e400, "a, {b}: \\" [" ],"none":{},"empty": [ ],"deep":[{"a":null}]}'
  assert.deepStrictEqual(prettyJson(text).split("\n"), [
    "{",
    '  "2": 9007199254740993,',
    '  "1": [',
    "    1.0,",
    "    1e400,",
    '    "a, {b}: \\" ["',
    "  ],",
    '  "none": {},',
    '  "empty": [],',
    '  "deep": [',
    "    {",
    '      "a": null',
    "    }",
    "  ]",
    "}"
  ])
  for (const plain of ['{"a":[1,{"b":"\\u00e9"}],"c":{}}', "[]", "12", '"x"', "null"])
    assert.strictEqual(prettyJson(plain), JSON.stringify(JSON.parse(plain), null, 2).replace("é", "\\u00e9"))
  assert.strictEqual(prettyJson("no, JSON"), "no, JSON")
})

it("words are compared in time that grows with their number, also with much space between them", () => {
  const long = `one${"\n".repeat(40_000)}two  three`
  const changes = [
    { kind: "same", text: long },
    { kind: "added", text: " four" }
  ]
  const millis = processorTime(() => assert.deepStrictEqual<unknown>(wordDiff(long, `${long} four`), changes))
  assert.isBelow(millis, 1500)
})

it("a pause ends when it is stopped, and leaves nothing at its signal", async () => {
  const stop = new AbortController()
  await pause(1, stop.signal)
  assert.lengthOf(getEventListeners(stop.signal, "abort"), 0)
  const long = pause(600_000, stop.signal)
  stop.abort()
  await long
  await pause(600_000, stop.signal)
})

it("a time stands in few letters under an answer", () => {
  assert.deepStrictEqual([640, 1804, 12_340].map(briefly), ["640 ms", "1.8 s", "12.3 s"])
})

describe("the place of an excerpt in a piece of its document", () => {
  const piece = "The keeper of the lighthouse is called Marguerite. She waters her tulips on Tuesdays."
  const marked = (quote: string) => {
    const place = markIn(piece, quote)
    return place === null ? null : piece.slice(place.start, place.end)
  }

  it("is that of the words, or of what the piece has of them", () => {
    assert.strictEqual(marked("called Marguerite."), "called Marguerite.")
    assert.strictEqual(marked(`Before it.\n\n${piece}\n\nBehind it.`), piece)
    const begun = "She waters her tulips on Tuesdays."
    assert.strictEqual(marked(`${begun} And the roses on Fridays.`), null)
    assert.strictEqual(marked(`called Marguerite. ${begun} And on Fridays the roses.`), `called Marguerite. ${begun}`)
    assert.strictEqual(
      marked("A story.\n\nThe keeper of the lighthouse is called Marguerite."),
      "The keeper of the lighthouse is called Marguerite."
    )
  })

  it("is nowhere for other words, and for none", () => {
    assert.isNull(marked("The cellar is full of tulips, and nobody knows of them but the keeper."))
    assert.isNull(marked(""))
    assert.isNull(markIn("", "anything"))
  })
})

describe("a form of a JSON Schema", () => {
  const schema = {
    type: "object",
    properties: {
      city: { type: "string", title: "City", description: "Where" },
      days: { type: "integer", minimum: 1, maximum: 7 },
      warm: { type: ["number", "null"] },
      unit: { enum: ["celsius", 7, null] },
      sure: { type: "boolean", default: true },
      notes: { type: "array", items: { type: "string" } }
    },
    required: ["city", "unit"]
  }
  const fields = formFields(schema) ?? []

  it("has a field for each property, of its kind", () => {
    assert.deepStrictEqual(
      fields.map(({ kind }) => kind),
      ["text", "integer", "number", "choice", "boolean", "json"]
    )
    assert.deepInclude(fields[0], { label: "City", hint: "Where", isRequired: true })
    for (const none of [null, 1, {}, { type: "string" }, { type: "object", properties: {} }])
      assert.isNull(formFields(none))
  })

  it("makes JSON of what is typed, and leaves out what is empty", () => {
    const texts = { city: "Oslo", days: "3", warm: "1.5", unit: "1", sure: "false", notes: '["a"]' }
    assert.deepStrictEqual(readForm(fields, texts), {
      values: { city: "Oslo", days: 3, warm: 1.5, unit: 7, sure: false, notes: ["a"] },
      problems: []
    })
    assert.deepStrictEqual(readForm(fields, { city: "Oslo", unit: "2" }).values, {
      city: "Oslo",
      unit: null,
      sure: true
    })
  })

  it("names every problem at once", () => {
    assert.deepStrictEqual(readForm(fields, { days: "8", warm: "x", notes: "[" }).problems, [
      "“City” is missing.",
      "“days” must be at most 7.",
      "“warm” must be a number.",
      "Choose “unit”.",
      "“notes” must be JSON."
    ])
    assert.deepStrictEqual(readForm(fields, { city: "a", unit: "0", days: "1.5" }).problems, [
      "“days” must be a whole number."
    ])
  })

  it("chooses nothing for a value that is none of its choices, and refuses whole numbers that would lose digits", () => {
    const [unit] = (formFields(schema, { unit: "kelvin" }) ?? []).filter(({ name }) => name === "unit")
    assert.strictEqual(unit === undefined ? null : initialText(unit), "")
    const ids = formFields({ properties: { id: { type: "integer" } } }) ?? []
    assert.deepStrictEqual(readForm(ids, { id: "9007199254740991" }).values, { id: 9_007_199_254_740_991 })
    assert.deepStrictEqual(readForm(ids, { id: "9007199254740993" }).problems, [
      "“id” has more digits than can be sent."
    ])
  })

  it("begins with what was asked", () => {
    const filled = formFields(schema, { city: "Bergen", unit: "celsius", notes: [1] }) ?? []
    assert.deepStrictEqual(filled.map(initialText), ["Bergen", "", "", "0", "true", "[1]"])
  })
})

describe("tools", () => {
  it("are one a line, or a JSON list, and are written back as they were", () => {
    const lines = "get_weather: weather of a city\nget_news: get_news"
    assert.strictEqual(writeTools(readTools(lines)), lines)
    const tool = { type: "function", function: { name: "a", parameters: { type: "object", properties: { b: {} } } } }
    assert.deepStrictEqual<unknown>(readTools(JSON.stringify([tool])), [tool])
    assert.deepStrictEqual<unknown>(readTools(JSON.stringify(tool)), [tool])
    assert.deepStrictEqual<unknown>(JSON.parse(writeTools(readTools(JSON.stringify([tool])))), [tool])
    for (const own of [
      { name: "a", description: "one line\nand another: line" },
      { name: "a", description: "it", strict: true },
      { name: "a" }
    ]) {
      const list = [{ type: "function" as const, function: own }]
      assert.deepStrictEqual(readTools(writeTools(list)), own.description ? list : readTools("a"))
    }
    assert.deepStrictEqual(readTools(" \n"), [])
    assert.throws(() => readTools("[1"), "begin like a JSON list")
    for (const text of ["[1]", "[null]", "[[]]"]) assert.throws(() => readTools(text), "is no definition of a tool")
  })
})

describe("code in colours", () => {
  it("loses no character, whatever the language", () => {
    const samples = [
      'const a = "x\\"y" // done\n/* all\nof it */ let b = `t${1}`',
      "def f(x): # note\n  return '''a' + str(0x1F)",
      "SELECT * FROM t -- all\nWHERE a = 'b'",
      "<!-- x --><b class='c'>&amp;</b>",
      "\"never closed\n'neither",
      "🙂 = ünïcode(1e9)"
    ]
    for (const code of samples) {
      for (const language of ["ts", "python", "sql", "", "nonsense"]) {
        assert.strictEqual(
          highlight(code, language)
            .map(({ text }) => text)
            .join(""),
          code
        )
      }
    }
  })

  it("takes no selector of styles for a comment, and no lifetime of Rust for a string", () => {
    const shaded = (code: string, language: string) =>
      highlight(code, language).flatMap(({ shade, text }) => (shade === "comment" || shade === "string" ? [text] : []))
    assert.deepStrictEqual(shaded("#main { color: red } /* why */", "css"), ["/* why */"])
    assert.deepStrictEqual(shaded("fn f<'a>(x: &'a str) { let c = 'x'; }", "rust"), ["'x'"])
  })

  it("takes comments and strings to their ends, over all their lines", () => {
    const shades = (code: string, language: string) => highlight(code, language).map(({ shade }) => shade)
    assert.deepStrictEqual(shades("/* if\nnot\n */", "ts"), ["comment"])
    assert.deepStrictEqual(shades("<!-- if\nnot", "html"), ["comment"])
    assert.deepStrictEqual(shades('"""if\nnot"""', "python"), ["string"])
  })

  it("knows strings, comments, numbers and words", () => {
    const shades = highlight("const n = 42 // note", "ts").filter(({ shade }) => shade !== "plain")
    assert.deepStrictEqual(shades, [
      { shade: "keyword", text: "const" },
      { shade: "number", text: "42" },
      { shade: "comment", text: "// note" }
    ])
    assert.isTrue(
      highlight("url = 'https://x' # note", "python").some(
        ({ shade, text }) => shade === "string" && text === "'https://x'"
      )
    )
  })
})

describe("a turn on one scale of time", () => {
  const step = (kind: RunStep["kind"], from: number | null, to: number | null): RunStep => ({
    kind,
    name: null,
    tool_call_id: null,
    started_at: from === null ? null : new Date(from).toISOString(),
    ended_at: to === null ? null : new Date(to).toISOString(),
    input_tokens: null,
    output_tokens: null,
    cost_usd: null
  })

  it("places each step by its time", () => {
    const { bars, total } = makeChart(
      [step("recall", 1000, 1100), step("model", 1100, 1900), step("settle", 1900, 2000)],
      9999
    )
    assert.strictEqual(total, 1000)
    assert.deepStrictEqual(
      bars.map(({ left, length, width }) => [left, length, width]),
      [
        [0, 100, 0.1],
        [0.1, 800, 0.8],
        [0.9, 100, 0.1]
      ]
    )
  })

  it("lets a step under way reach to now, and shows steps without times as such", () => {
    const { bars, total } = makeChart([step("model", 1000, null), step("tool", null, null)], 3000)
    assert.strictEqual(total, 2000)
    assert.deepInclude(bars[0], { length: null, width: 1 })
    assert.deepInclude(bars[1], { start: null, width: 0 })
    assert.deepStrictEqual(makeChart([], 1).bars, [])
  })
})

describe("a WAV file", () => {
  it("has a header of its length and rate, and samples of 16 bits that never wrap", () => {
    const file = new DataView(encodeWav(Float32Array.of(0, 1, -1, 2, -2), 16_000))
    const word = (place: number) => String.fromCharCode(...new Uint8Array(file.buffer, place, 4))
    assert.deepStrictEqual([word(0), word(8), word(12), word(36)], ["RIFF", "WAVE", "fmt ", "data"])
    assert.deepStrictEqual(
      [file.getUint32(4, true), file.getUint32(24, true), file.getUint32(40, true)],
      [46, 16_000, 10]
    )
    assert.deepStrictEqual(
      [0, 1, 2, 3, 4].map((index) => file.getInt16(44 + index * 2, true)),
      [0, 32_767, -32_767, 32_767, -32_767]
    )
  })
})

describe("numbers for people", () => {
  it("are short", () => {
    assert.deepStrictEqual([0, 999, 1500, 59_000, 59_999, 61_000, 119_700].map(duration), [
      "0 ms",
      "999 ms",
      "1.50 s",
      "59.0 s",
      "1 min 0 s",
      "1 min 1 s",
      "2 min 0 s"
    ])
    assert.deepStrictEqual([0, 0.000_123, 0.5, 12].map(money), ["$0", "$0.00012", "$0.50", "$12.00"])
  })
})
