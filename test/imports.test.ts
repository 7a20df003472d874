/** The package table and the room order hold in every source file. Written down in ARCHITECTURE.md#rules. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, posix } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import {
  circlesIn,
  foldersOfHttp,
  judgeImport,
  mutualFolders,
  packageRules,
  rooms,
  wings
} from "./rules/ImportRules.ts"
import { importsIn, root, sourceFiles } from "./rules/SourceFile.ts"

const read = (path: string) => readFileSync(join(root, path), "utf8")

const declaredBy = (name: string): ReadonlyArray<string> => {
  const manifest = JSON.parse(read(`packages/${name}/package.json`))
  return [manifest.dependencies, manifest.peerDependencies].flatMap((group) => Object.keys(group ?? {}))
}

/** The files of the repository that each file imports by their paths. */
const ownImports = (imports: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyMap<string, ReadonlyArray<string>> =>
  new Map(
    [...imports].map(([file, names]) => {
      const own = names.filter((imported) => imported.startsWith("."))
      return [file, own.map((imported) => posix.join(posix.dirname(file), imported))] as const
    })
  )

/** Beside their folders stand both files that all folders import and files that import all folders. */
const mixedFolders = ["packages/http/src", "packages/studio/src/page"]

describe("imports", () => {
  it("are read in every form", () => {
    const text = `
      // import { no } from "comment"
      import type { A } from "effect/A"
      import "./side.ts"
      export * as Space from "./space.ts"
      export { type B } from "./b.ts"
      type C = import("./c.ts").C
      const text = 'import x from "string"'
      const lazy = () => import("./lazy.ts")
    `
    const expected = ["effect/A", "./side.ts", "./space.ts", "./b.ts", "./c.ts", "./lazy.ts"]
    assert.sameMembers([...importsIn(text)], expected)
  })

  const inCore = "packages/core/src/turns/Turns.ts"
  const allowed: ReadonlyArray<readonly [string, string]> = [
    [inCore, "effect/Stream"],
    [inCore, "./TurnPlan.ts"],
    [inCore, "../primitives/Ids.ts"],
    [inCore, "../assistants/Assistant.ts"],
    ["packages/core/src/Kernel.ts", "./turns/Turns.ts"],
    ["packages/core/src/memory/Memories.ts", "../turns/TurnPart.ts"],
    ["packages/core/src/memory/Memories.ts", "../retrieval/Ranking.ts"],
    ["packages/adapters/src/postgres/Chunks.ts", "@colloquy/core/wings"],
    ["packages/adapters/src/files/Chunks.ts", "@colloquy/core/retrieval"],
    ["packages/core/src/wings.ts", "./memory/MemoryStore.ts"],
    ["packages/core/src/index.ts", "./Kernel.ts"],
    ["packages/testing/src/contracts/RunStoreContract.ts", "@colloquy/core/adapters"],
    ["packages/testing/src/contracts/RunStoreContract.ts", "@effect/vitest"],
    ["packages/testing/src/scripted/TestKernel.ts", "@colloquy/adapters/in-memory"],
    ["packages/colloquy/src/Testing.ts", "@colloquy/testing"],
    ["packages/adapters/src/postgres/RunStore.ts", "@colloquy/core"],
    ["packages/adapters/src/postgres/RunStore.ts", "effect/sql/SqlClient"],
    ["packages/adapters/src/protocols/Transport.ts", "effect/http/HttpClient"],
    ["packages/testing/src/scripted/Script.ts", "effect/testing/TestClock"],
    ["packages/adapters/src/postgres/RunStore.ts", "@declared/library/sub"],
    ["packages/http/src/Api.ts", "effect/http-api/HttpApi"],
    ["packages/http/src/handlers/Delivery.ts", "../streams/Sse.ts"],
    ["packages/http/src/handlers/Delivery.ts", "../HttpSettings.ts"],
    ["packages/ws/src/SocketSession.ts", "effect/socket/Socket"],
    ["packages/studio/src/Studio.ts", "@colloquy/http/node"],
    ["packages/studio/src/page/wire.ts", "@colloquy/http"],
    ["packages/server/src/Server.ts", "@colloquy/core/memory"],
    ["packages/server/src/Server.ts", "@colloquy/studio"],
    ["packages/colloquy/src/Colloquy.ts", "@colloquy/adapters/openai-compatible"],
    ["packages/colloquy/src/rooms/Realtime.ts", "@colloquy/ws"]
  ]
  it.each(allowed)("%s may import %s", (file, name) => {
    assert.isNull(judgeImport(file, name, ["@declared/library"]))
  })

  const forbidden: ReadonlyArray<readonly [string, string]> = [
    [inCore, "effect"],
    [inCore, "effect/http/HttpClient"],
    [inCore, "effect/sql"],
    [inCore, "effect/ai"],
    [inCore, "effect/socket/Socket"],
    [inCore, "node:fs"],
    [inCore, "@colloquy/adapters/in-memory"],
    [inCore, "@declared/library"],
    [inCore, "@effect/vitest"],
    [inCore, "../realtime/Frames.ts"],
    ["packages/core/src/Kernel.ts", "./memory/index.ts"],
    ["packages/core/src/answers/Answers.ts", "../documents/Documents.ts"],
    [inCore, "@colloquy/testing/contracts"],
    [inCore, "../index.ts"],
    [inCore, "../../../adapters/src/in-memory/State.ts"],
    [inCore, "../newroom/Thing.ts"],
    ["packages/core/src/primitives/Ids.ts", "../access/Principal.ts"],
    ["packages/core/src/newroom/Thing.ts", "../primitives/Ids.ts"],
    ["packages/adapters/src/Stores.ts", "@colloquy/testing"],
    ["packages/colloquy/src/Colloquy.ts", "@colloquy/testing"],
    ["packages/testing/src/contracts/RunStoreContract.ts", "../../../core/src/turns/Turns.ts"],
    ["packages/testing/src/scripted/TestKernel.ts", "@colloquy/adapters/postgres"],
    ["packages/testing/src/scripted/TestKernel.ts", "@colloquy/http"],
    ["packages/adapters/src/postgres/Chunks.ts", "@colloquy/core/retrieval"],
    ["packages/adapters/src/Stores.ts", "@colloquy/core/documents"],
    ["packages/http/src/Api.ts", "@colloquy/core/web-search"],
    ["packages/adapters/src/postgres/RunStore.ts", "@colloquy/http"],
    ["packages/adapters/src/postgres/RunStore.ts", "@colloquy/ws/upgrade"],
    ["packages/adapters/src/postgres/RunStore.ts", "undeclared-library"],
    ["packages/adapters/src/postgres/RunStore.ts", "effect/cluster/Runner"],
    ["packages/adapters/src/postgres/RunStore.ts", "effect/testing/TestClock"],
    ["packages/adapters/src/postgres/RunStore.ts", "effect/http/HttpRouter"],
    ["packages/http/src/Api.ts", "@colloquy/adapters/in-memory"],
    ["packages/http/src/wire/ErrorStatus.ts", "../wings/Wings.ts"],
    ["packages/http/src/newfolder/Thing.ts", "../wire/Fields.ts"],
    ["packages/http/src/Api.ts", "effect/sql/SqlClient"],
    ["packages/ws/src/SocketSession.ts", "@colloquy/http"],
    ["packages/studio/src/Studio.ts", "@colloquy/core"],
    ["packages/studio/src/Studio.ts", "@colloquy/http"],
    ["packages/http/src/Api.ts", "@colloquy/studio"],
    ["packages/adapters/src/Stores.ts", "@colloquy/server/demo"],
    ["packages/colloquy/src/Colloquy.ts", "@colloquy/server"],
    ["packages/colloquy/src/Colloquy.ts", "effect/http/HttpRouter"],
    ["packages/adapters/src/postgres/RunStore.ts", "colloquy"],
    ["packages/unknown/src/index.ts", "effect/Stream"]
  ]
  it.each(forbidden)("%s may not import %s", (file, name) => {
    const sentence = judgeImport(file, name, ["@declared/library"])
    assert.include(sentence, `${file} imports "${name}": `)
    assert.include(sentence, "(see ARCHITECTURE.md#rules).")
  })

  it("every package has its line in the table, and every room of core its place", () => {
    assert.sameMembers(readdirSync(join(root, "packages")), Object.keys(packageRules))
    const folders = readdirSync(join(root, "packages/core/src"), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
    assert.includeMembers([...rooms, ...Object.keys(wings)], folders)
    const httpFolders = readdirSync(join(root, "packages/http/src"), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
    assert.sameMembers(httpFolders, foldersOfHttp)
  })

  it("a circle of files is found, whatever leads into it", () => {
    const imports = new Map([
      ["a", ["b"]],
      ["b", ["c"]],
      ["c", ["b", "d"]],
      ["d", []],
      ["e", ["e"]]
    ])
    assert.deepStrictEqual(circlesIn(imports), [["b", "c"], ["e"]])
  })

  it("two folders that import each other are found", () => {
    const imports = new Map([
      ["src/a/one", ["src/b/one", "src/one"]],
      ["src/b/one", ["src/b/two"]],
      ["src/b/two", ["src/a/two", "src/c/one"]],
      ["src/one", []]
    ])
    assert.deepStrictEqual(mutualFolders(imports), [["src/a", "src/b"]])
  })

  it.each(Object.keys(packageRules))(
    "packages/%s keeps the rules",
    (name) => {
      const declared = declaredBy(name)
      const imports = new Map(sourceFiles(`packages/${name}/src`).map((file) => [file, importsIn(read(file))]))
      const faults = [...imports].flatMap(([file, names]) =>
        names.flatMap((imported) => judgeImport(file, imported, declared) ?? [])
      )
      assert.deepStrictEqual(faults, [])
      const own = ownImports(imports)
      assert.deepStrictEqual(circlesIn(own), [])
      const pairs = mutualFolders(own).filter(([folder]) => !mixedFolders.includes(folder))
      assert.deepStrictEqual(pairs, [])
      // Hundreds of files, on a machine that may have much else to do.
    },
    60_000
  )

  it("tests, benchmarks, examples and scripts have no circle of files", () => {
    const folders = [
      "bench",
      "examples",
      "scripts",
      "test",
      ...Object.keys(packageRules).map((name) => `packages/${name}/test`)
    ]
    const files = folders.filter((folder) => existsSync(join(root, folder))).flatMap(sourceFiles)
    const written = files.filter((file) => !/\/(?:node_modules|\.next)\//.test(file))
    assert.include(written, "bench/World.ts")
    assert.deepStrictEqual(circlesIn(ownImports(new Map(written.map((file) => [file, importsIn(read(file))])))), [])
  }, 60_000)
})
