/** The sources of an answer as numbers: the limits, and what a text of the web may not do. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { newFrameWord } from "../../src/prompts/Frame.ts"
import { addSources, isShown, sourcesIn, textOfResults } from "../../src/web-search/Sources.ts"

const page = (number: number, title: string | null = null) => ({ url: `https://a.example/${number}`, title })
const pages = (count: number) => Array.from({ length: count }, (_, index) => page(index))
const keptTitle = (title: string | null) => addSources([], [page(0, title)])[0]?.title

describe("sources", () => {
  it("are 100 at most for one answer, and a page that comes again keeps its number", () => {
    const all = addSources(addSources([], pages(99)), [page(5, "again"), page(200), page(201)])
    assert.deepStrictEqual(
      all.map(({ url }) => url),
      [...pages(99), page(200)].map(({ url }) => url)
    )
    assert.strictEqual(all[5]?.title, "a.example")
  })

  it("have titles of 300 characters at most, whole ones, and that of their host where they have none", () => {
    assert.strictEqual(keptTitle("x".repeat(300)), "x".repeat(300))
    assert.strictEqual(keptTitle("x".repeat(301)), `${"x".repeat(300)}…`)
    assert.strictEqual(keptTitle("🦊".repeat(300)), "🦊".repeat(300))
    assert.strictEqual(keptTitle("🦊".repeat(301)), `${"🦊".repeat(300)}…`)
    assert.strictEqual(keptTitle("\u200B \u3164"), "a.example")
    assert.strictEqual(keptTitle(null), "a.example")
  })

  it("have addresses of 2,000 characters at most, without a name or a password", () => {
    const long = `https://a.example/${"x".repeat(1982)}`
    assert.deepStrictEqual(
      [
        long,
        `${long}x`,
        "https://ada@a.example/",
        "https://:pw@a.example/",
        "https://a.example./",
        "javascript:alert(1)",
        "ftp://a.example/",
        "http://a.example/",
        "https://[2606:4700::1]/",
        "https://[2002:a00:1::]/",
        "https://[2001::]/",
        "https://[2001:db8::1]/",
        "https://[4000::1]/",
        "https://8.8.8.8/",
        "https://203.0.113.9/"
      ].map((url) => isShown({ url })),
      [true, false, false, false, true, false, false, true, true, false, false, false, false, true, false]
    )
  })

  it.each([
    "http://localhost/",
    "http://printer/",
    "http://a.localhost/",
    "http://nas.local/",
    "http://wiki.internal/",
    "http://router.lan./",
    "http://127.1/",
    "http://0x0a000001/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://169.254.169.254/",
    "http://100.64.0.1/",
    "http://100.127.0.1/",
    "https://[::1]/",
    "https://[fe80::1]/",
    "https://[::ffff:10.0.0.1]/"
  ])("are not %s: the reader's own machine and network", (url) => {
    assert.isFalse(isShown({ url }))
  })

  it.each(["https://a.internal.example/", "https://localhost.example/", "http://172.32.0.1/", "http://100.63.0.1/"])(
    "may be %s, which is neither",
    (url) => {
      assert.isTrue(isShown({ url }))
    }
  )

  it("are read from what was kept, and from nothing else", () => {
    const [kept] = addSources([], [page(1)])
    assert.deepStrictEqual(sourcesIn({ sources: kept === undefined ? [] : [kept] }), kept === undefined ? [] : [kept])
    for (const other of [null, undefined, [], { sources: [{ url: 1 }] }]) assert.deepStrictEqual(sourcesIn(other), [])
  })

  it("are told to the model by their numbers, each text cut and in its frame", () => {
    const word = Effect.runSync(newFrameWord)
    const found = [
      { ...page(0, "First"), text: "x".repeat(11), publishedAt: "d".repeat(41) },
      { ...page(1, "Second"), text: "y".repeat(10), publishedAt: null },
      { ...page(2, "Not kept"), text: "z", publishedAt: null }
    ]
    const text = textOfResults(addSources([], found.slice(0, 2)), found, 10, word)
    assert.include(text, `[1] First (${"d".repeat(40)}…)\nhttps://a.example/0\n${"x".repeat(10)}…`)
    assert.match(text, /\[2\] Second\nhttps:\/\/a\.example\/1\ny{10}(?!y|…)/u)
    assert.notInclude(text, "Not kept")
    assert.match(textOfResults([], found, 10, word), /^Nothing was found/u)
  })
})
