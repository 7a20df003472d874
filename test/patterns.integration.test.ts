/**
 * Every regular expression that can meet text from outside takes time in line with that text. Each one in the sources is found and attacked with
 * texts that are made from itself (`rules/HostileTexts.ts`). Few cannot meet such text, or are made while the program runs: they are listed here
 * with the reason.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { attacksOn, weaknessIn } from "./rules/HostileTexts.ts"
import { patternsIn, root, sourceFiles } from "./rules/SourceFile.ts"

// The package `testing` reads what tests write, and the code of pages runs in their reader's browser: no text from outside.
const folders = ["adapters", "colloquy", "core", "http", "server", "studio", "ws"].map((name) => `packages/${name}/src`)
const files = folders.flatMap(sourceFiles).filter((file) => !file.includes("/studio/src/page/"))

/** The weak ones that read no text from outside, and what they read. */
const ownText: Readonly<Record<string, string>> = {
  [String.raw`packages/adapters/src/blobs/S3Client.ts /\/+$/u`]: "the address of a bucket, which the host sets",
  [String.raw`packages/adapters/src/web-search/Engine.ts /\/+$/u`]:
    "the address of a search engine, which the host sets",
  [String.raw`packages/http/src/client/PromiseClient.ts /\/+$/u`]:
    "the address of the service, which the client's program sets",
  [String.raw`packages/http/src/links/Links.ts /\/+$/u`]: "the server's own address, which the host sets",
  [String.raw`packages/http/src/Routes.ts /^\/+|\/+$/gu`]: "the base path, which the host sets",
  [String.raw`packages/studio/src/PageFiles.ts /^[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/.*)[ \t]*\n/gm`]:
    "the source of the page, which is built at the start",
  [String.raw`packages/server/src/Settings.ts /\/+$/`]: "settings of the server",
  [String.raw`packages/server/src/guide/Guide.ts /^\| \[([^\]]*)\]\(([^)]*)\) \| (.*) \|$/gmu`]:
    "pages of the documentation",
  [String.raw`packages/server/src/guide/Guide.ts /\]\(([^)]*)\)/gu`]: "pages of the documentation",
  [String.raw`packages/server/src/guide/GuideLayout.ts /<h2 id="([^"]*)">(.*?)<\/h2>/gu`]: "pages of the documentation"
}

const madeWhileRunning: Readonly<Record<string, string>> = {
  "packages/adapters/src/providers/AiSdk.ts": "patterns of addresses that a library of a vendor brings",
  "packages/core/src/tools/LinearPattern.ts": "single characters and classes of patterns that users write",
  "packages/http/src/Methods.ts": "paths of the declared endpoints, one part for each segment"
}

/** These modules make their patterns when they are loaded. */
const loaded = ["packages/core/src/memory/Instructions.ts", "packages/core/src/memory/Secrets.ts"]

/** Other tests of this process may have loaded the module before; under an address with a mark it is loaded anew. */
const madeBy = async (file: string): Promise<ReadonlyArray<RegExp>> => {
  const { RegExp: known } = globalThis
  const made: Array<RegExp> = []
  globalThis.RegExp = new Proxy(known, {
    construct: (target, [pattern, flags]) => {
      const expression = new target(String(pattern), String(flags ?? ""))
      made.push(expression)
      return expression
    }
  })
  try {
    await import(`${join(root, file)}?anew`)
  } finally {
    globalThis.RegExp = known
  }
  return made
}

const tell = (expression: RegExp): string | null => {
  const weakness = weaknessIn(expression)
  if (weakness === null) return null
  const { before, behind, pump } = weakness
  return `${expression} with ${JSON.stringify(before)}, many ${JSON.stringify(pump)} and ${JSON.stringify(behind)}`
}

describe("the attacks find", () => {
  it.each([
    /\s+$/,
    /^(#{1,6})\s+(.*?)\s*#*\s*$/u,
    /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/u,
    /^\s*bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/iu,
    /\[([^\]]*)\]\([^)]*\)/gu,
    /<meta[^>]*charset\s*=\s*["']?([\w.:-]+)/iu,
    /\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/]*:[^\s:@/]+@/iu,
    /\b(?:sk|pk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{16,}/u,
    /^(?:a+)+$/,
    /(?<!x)(?:a|a)*$/
  ])("the weakness of %s", (expression) => {
    assert.isNotNull(weaknessIn(expression))
  })

  it("none in patterns that are linear", () => {
    for (const expression of [/^\s*\w+\s*$/, /a+b/y, /[,;][^\S\n]*"/gu, /^[^,]*,[^,]*$/, /\d{1,9}\.\d{1,9}/]) {
      assert.isNull(weaknessIn(expression), String(expression))
    }
  })
})

describe("patterns of the sources", () => {
  const all = files.map((file) => ({ file, ...patternsIn(readFileSync(join(root, file), "utf8")) }))

  it("are found, and each is attacked", () => {
    const literals = all.flatMap((each) => each.literals)
    assert.isAbove(literals.length, 300)
    const withRepetition = literals.filter(({ source }) =>
      /(?<!\\)[*+]/.test(source.replaceAll(/\[(?:\\.|[^\]\\])*\]/gu, ""))
    )
    assert.deepStrictEqual(withRepetition.filter((expression) => attacksOn(expression).length === 0).map(String), [])
  })

  it("take time in line with any text", () => {
    const weak = all.flatMap(({ file, literals }) =>
      literals.flatMap((expression) =>
        `${file} ${expression}` in ownText ? [] : (tell(expression)?.replace(/^/, `${file}: `) ?? [])
      )
    )
    assert.deepStrictEqual(weak, [])
  }, 240_000)

  it("that are made when a module is loaded do so too", async () => {
    for (const file of loaded) {
      const made = await madeBy(file)
      assert.isAbove(made.length, 2, file)
      assert.deepStrictEqual(
        made.flatMap((expression) => tell(expression) ?? []),
        [],
        file
      )
    }
  }, 240_000)

  it("are listed with a reason where they are made while the program runs, or read no text from outside", () => {
    const makers = all.filter(({ made }) => made > 0).map(({ file }) => file)
    assert.sameMembers(makers, [...Object.keys(madeWhileRunning), ...loaded])
    const known = new Set(all.flatMap(({ file, literals }) => literals.map((expression) => `${file} ${expression}`)))
    assert.deepStrictEqual(
      Object.keys(ownText).filter((each) => !known.has(each)),
      []
    )
  })
})
