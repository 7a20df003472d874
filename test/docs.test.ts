/** The guide: every page is listed where people and programs look for it, every link leads somewhere, every snippet is a program. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { dirname, join } from "node:path"
import { houseWords, unexplainedIn } from "./rules/HouseWords.ts"

const root = join(import.meta.dirname, "..")
const guide = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"))
const pages = [
  ...guide.map((name) => `docs/${name}`),
  ...readdirSync(join(root, "docs/decisions")).map((name) => `docs/decisions/${name}`),
  "README.md",
  "ARCHITECTURE.md",
  "GLOSSARY.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "examples/README.md",
  "bench/README.md",
  ...readdirSync(join(root, "packages")).map((name) => `packages/${name}/README.md`)
]
const read = (page: string) => readFileSync(join(root, page), "utf8")
const withoutCode = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gmu, "")

/** As pages are shown: words of a heading with hyphens between them. */
const headingAnchor = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/gu, "-")

const anchorsIn = (page: string) => {
  const text = withoutCode(read(page))
  return [
    ...[...text.matchAll(/^#+ (.*)$/gmu)].map(([, heading = ""]) => headingAnchor(heading)),
    ...[...text.matchAll(/<a id="([\w-]+)"><\/a>/gu)].map(([, id = ""]) => id)
  ]
}

/** The sentences of a page, without code: of its paragraphs, points of lists and cells of tables. A link counts as its text, code as a word. */
const sentencesIn = (text: string): ReadonlyArray<string> =>
  withoutCode(text)
    .replaceAll(/<!--[\s\S]*?-->/gu, "")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/gu, "$1")
    .replaceAll(/`[^`]*`/gu, "code")
    .split(/\n\s*\n|\n(?=\s*(?:[-*#|]|\d+\.) ?)|\|/u)
    .flatMap((part) => part.split(/(?<=[.!?:;]["”)*]*)\s+/u))
    .map((sentence) => sentence.replaceAll(/\s+/gu, " ").trim())
    .filter((sentence) => wordsIn(sentence) > 0)

const wordsIn = (sentence: string): number => sentence.split(/\s+/u).filter((word) => /[\p{L}\p{N}]/u.test(word)).length

describe("the guide", () => {
  it("has every page in its contents and in llms.txt", () => {
    for (const name of guide.filter((each) => each !== "README.md")) {
      assert.include(read("docs/README.md"), `(${name})`)
      assert.include(read("llms.txt"), `docs/${name}`)
    }
  })

  it("has the titles of its pages in its contents, and the contents in llms.txt", () => {
    const listed = [...read("docs/README.md").matchAll(/^\| \[([^\]]*)\]\(([^)]*)\) \| (.*) \|$/gmu)].map(
      ([, title = "", link = "", about = ""]) => ({ title, path: join("docs", link), about })
    )
    const ours = listed.filter(({ path }) => /^docs\/[^/]*\.md$/u.test(path))
    for (const { path, title } of ours) assert.strictEqual(/^# (.*)$/mu.exec(read(path))?.[1], title, path)
    const texts = listed.filter(({ path }) => path.endsWith(".md"))
    for (const { about, path, title } of texts) assert.include(read("llms.txt"), `- [${title}](${path}): ${about}\n`)
    assert.strictEqual(new Set(listed.map(({ path }) => path)).size, listed.length)
  })

  it("has no link that leads nowhere", () => {
    const broken = pages.flatMap((page) =>
      [...withoutCode(read(page)).matchAll(/\]\((?!https?:)([^)\s]*)\)/gu)].flatMap(([, link = ""]) => {
        const [path = "", anchor] = link.replaceAll(/[<>]/gu, "").split("#")
        const target = path === "" ? page : join(dirname(page), path)
        if (!existsSync(join(root, target))) return [`${page}: ${link}`]
        const isThere = anchor === undefined || anchorsIn(target).includes(anchor)
        return isThere ? [] : [`${page}: ${link}`]
      })
    )
    assert.deepStrictEqual(broken, [])
  })

  it("has no sentence of more than 30 words", () => {
    const long = [...guide.map((name) => `docs/${name}`), "README.md"].flatMap((page) =>
      sentencesIn(read(page)).flatMap((sentence) => (wordsIn(sentence) > 30 ? [`${page}: ${sentence}`] : []))
    )
    assert.deepStrictEqual(long, [])
  })

  it("uses no word of this project before it says what the word means", () => {
    const readmes = readdirSync(join(root, "packages")).map((name) => `packages/${name}/README.md`)
    const lost = [...guide.map((name) => `docs/${name}`), "README.md", ...readmes].flatMap((page) =>
      unexplainedIn(read(page)).map(({ where, word }) => `${page}: ${word}: ${where}`)
    )
    assert.deepStrictEqual(lost, [])
    const glossary = anchorsIn("GLOSSARY.md")
    for (const { word } of houseWords) assert.include(glossary, word.replaceAll(" ", "-"))
  })

  it("knows when a page says what a word means", () => {
    const lostIn = (text: string) => unexplainedIn(text).map(({ word }) => word)
    for (const text of [
      "A [lease](GLOSSARY.md#lease) ends. The lease is gone.",
      "A *lease* is a right to write. The lease ends.",
      "The lease (a right to write) ends.",
      "The right to write (the lease) ends.",
      "A lease is a right to write.",
      "It writes as long as it has `lease`.\n\n```ts\nconst lease = 1\n```\n",
      "# The lease\n\nIt says [how](leases.md).",
      "A released version. It runs, and it returns."
    ])
      assert.deepStrictEqual(lostIn(text), [], text)
    assert.deepStrictEqual(lostIn("The lease ends. A *lease* is a right to write."), ["lease"])
    assert.deepStrictEqual(lostIn("| what | when |\n|---|---|\n| the run | each turn |"), ["run", "turn"])
    assert.deepStrictEqual(lostIn("See [the page](x.md) about leases, and [more](y.md)."), ["lease"])
  })

  it("counts the words of a sentence as a reader does", () => {
    const [heading = "", first = "", second = "", cell = ""] = sentencesIn(
      "# One\n\nTwo [three four](five.md) `six seven` eight. Nine\nten.\n\n| eleven | |\n"
    )
    assert.deepStrictEqual([heading, first, second, cell].map(wordsIn), [1, 5, 2, 1])
  })

  it("shows a program on each page of its first three parts, then one with Effect, and ends with what can go wrong", () => {
    const [byTask = ""] = read("docs/README.md").split("## Understand")
    const listed = [...byTask.matchAll(/\]\(([a-z-]+\.md)\)/gu)].map(([, name = ""]) => name)
    assert.isAbove(listed.length, 40)
    // A list of programs, the page about doing without Effect, and a table that is written by a command.
    const others = ["cookbook.md", "without-effect.md", "settings.md"]
    const first = listed.filter((name) => {
      const text = read(`docs/${name}`)
      const [table, program] = [text.search(/^\|/mu), text.search(/^```/mu)]
      return table >= 0 && (program < 0 || table < program)
    })
    assert.deepStrictEqual(first, ["settings.md"])
    const without = listed.filter((name) => {
      const text = read(`docs/${name}`)
      const place = (words: string) => text.indexOf(words)
      const effect = place("\n## With Effect\n")
      const wrong = place("\n## What can go wrong\n")
      return place("\n```") < 0 || effect < place("\n```") || wrong < 0 || text.includes("\n## ", wrong + 1)
    })
    assert.deepStrictEqual(without.toSorted(), others.toSorted())
  })

  it("names no endpoint that is not there", () => {
    const api: { readonly paths: Readonly<Record<string, object>> } = JSON.parse(read("packages/http/openapi.json"))
    const plain = (path: string) => path.replace(/\?.*$/u, "").replaceAll(/\{[^}]*\}/gu, "{}")
    const known = Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${plain(path)}`)
    )
    // Of the standalone server alone, and of wings, which a host registers.
    const others = /^GET \/(?:healthz|readyz)$|^\w+ \/(?:(?:v1|ag-ui)\/|mcp$|tool-(?:access|servers)(?:\/|$))/u
    const isThere = (method: string, path: string) => {
      const asked = `${method} ${plain(path)}`
      if (others.test(asked)) return true
      // "…/runs/{run}/cancel" is the end of a path.
      const end = asked.split("…")[1]
      return end === undefined
        ? known.includes(asked)
        : known.some((each) => each.startsWith(method) && each.endsWith(end))
    }
    /** What the page for those who come from elsewhere tells of there. */
    const here = (name: string, text: string) =>
      name === "migration.md" ? text.replaceAll(/^\|[^|]*\|/gmu, "|").replaceAll(/^.*\| there \|.*$/gmu, "") : text
    const named = guide.flatMap((name) =>
      [
        ...here(name, withoutCode(read(`docs/${name}`))).matchAll(/`([A-Z]{3,6}(?:, [A-Z]{3,6})*) ([/…][^`\s]*)`/gu)
      ].flatMap(([, methods = "", path = ""]) => methods.split(", ").map((method) => ({ name, method, path })))
    )
    assert.isAbove(named.length, 40)
    assert.deepStrictEqual(
      named.filter(({ method, path }) => !isThere(method, path)),
      []
    )
  })

  it("has no snippet that is no program", () => {
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/^```ts\n([\s\S]*?)^```/gmu)].flatMap(([, code = ""]) => {
        try {
          stripTypeScriptTypes(code, { mode: "strip" })
          return []
        } catch (error) {
          return [`${page}: ${String(error)}\n${code}`]
        }
      })
    )
    assert.deepStrictEqual(broken, [])
  })
})
