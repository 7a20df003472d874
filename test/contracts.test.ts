/** Every MUST sentence of a port is named by a case of the port's contract suite. The page `contracts.md` beside this file says which. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { caseTitles, type Promised, promisedSentences, readPage } from "./rules/Promises.ts"
import { root, sourceFiles } from "./rules/SourceFile.ts"

const read = (path: string) => readFileSync(join(root, path), "utf8")
const suites = "packages/testing/src/contracts"
const ports = readPage(read("test/contracts.md"))

const inWords = (path: string, { member, sentence }: Promised) =>
  `${path}, ${member === "module" ? "The whole port" : member}: ${sentence}`

/** The sources of packages in which a sentence says MUST, with these sentences. */
const promised = sourceFiles("packages")
  .filter((path) => /^packages\/\w+\/src\//u.test(path) && !path.startsWith(suites))
  .filter((path) => /\bMUST\b/u.test(read(path)))
  .flatMap((path) => promisedSentences(read(path)).map((promise) => inWords(path, promise)))

const onPage = ports.flatMap(({ path, promises }) => promises.map((promise) => inWords(path, promise)))

describe("the page of promises", () => {
  it("has every MUST sentence of the packages, word by word", () => {
    const missing = promised.filter((sentence) => !onPage.includes(sentence))
    assert.deepStrictEqual(missing, [], "Name in test/contracts.md the cases that test these sentences.")
  })

  it("has no sentence that is not in the packages", () => {
    const gone = onPage.filter((sentence) => !promised.includes(sentence))
    assert.deepStrictEqual(gone, [], "These sentences were changed or removed. Look whether their cases still hold.")
    assert.deepStrictEqual([...onPage].toSorted(), [...new Set(onPage)].toSorted(), "Each sentence stands here once.")
  })

  it("names for every sentence at least one case of the port's suites", () => {
    const absent = ports.flatMap(({ path, promises, suites: files }) => {
      const titles = files.flatMap((file) => caseTitles(read(`${suites}/${file}`)))
      return promises.flatMap((promise) => {
        if (promise.cases.length === 0) return [`${inWords(path, promise)}: no case`]
        return promise.cases.filter((title) => !titles.includes(title)).map((title) => `${path}: no case "${title}"`)
      })
    })
    assert.deepStrictEqual(absent, [])
  })
})

describe("a MUST sentence", () => {
  it("is read from its member, list items and the line breaks of its comment included", () => {
    const source = `
      /** Port: a store. A record of another owner
       * MUST be treated as if it did not exist. */

      export class Store extends Context.Service<Store, {
        /**
         * Stores it. Rules:
         * - It MUST be kept; \`None\` and
         *   "lost" are no answers.
         * - Nothing else.
         */
        readonly put: () => void
      }>()("Store") {}`
    assert.deepStrictEqual(promisedSentences(source), [
      { member: "module", sentence: "A record of another owner MUST be treated as if it did not exist." },
      { member: "Store.put", sentence: 'It MUST be kept; `None` and "lost" are no answers.' }
    ])
  })
})
