/** The pure parts of `npm run release`. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import {
  nameChanges,
  nextLock,
  nextManifest,
  readVersion,
  refusals,
  releaseNotes,
  sizeReport
} from "../scripts/Releases.ts"

const fine = { hasNotes: true, isClean: true, isFirst: false, removed: [] }

describe("a release", () => {
  it("has a version that is newer, notes, and nothing that is not committed", () => {
    assert.deepStrictEqual(refusals("0.2.0", "0.1.9", fine), [])
    assert.deepStrictEqual(refusals("0.10.0", "0.9.0", fine), [])
    assert.deepStrictEqual(refusals("0.1.0", "0.1.0", { ...fine, isFirst: true }), [])
    assert.match(refusals("0.1.0", "0.1.0", fine).join(), /not newer/u)
    assert.match(refusals("0.9.0", "0.10.0", fine).join(), /not newer/u)
    assert.match(refusals("2.0", "1.0.0", fine).join(), /no version/u)
    assert.lengthOf(refusals("0.2.0", "0.1.0", { ...fine, hasNotes: false, isClean: false }), 2)
    assert.isNull(readVersion("1.0.0-beta"))
  })

  it("takes public names away with a major version only, before 1.0 with a minor one", () => {
    const removed = ["core: Turns"]
    assert.match(refusals("0.1.1", "0.1.0", { ...fine, removed }).join(), /minor version: core: Turns/u)
    assert.deepStrictEqual(refusals("0.2.0", "0.1.0", { ...fine, removed }), [])
    assert.match(refusals("1.1.0", "1.0.0", { ...fine, removed }).join(), /major version/u)
    assert.deepStrictEqual(refusals("2.0.0", "1.9.0", { ...fine, removed }), [])
  })

  it("tells which public names are new and gone, by their entries", () => {
    const before = new Map([["core", ["A", "B"]]])
    const now = new Map([
      ["core", ["B", "C"]],
      ["core.answers", ["A"]]
    ])
    assert.deepStrictEqual(nameChanges(before, now), { added: ["core.answers: A", "core: C"], removed: ["core: A"] })
  })

  it("moves the notes under the version and leaves older ones", () => {
    const text = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n"
    const { changelog, notes } = releaseNotes(text, "0.2.0", "2026-02-02")
    assert.strictEqual(notes, "- New.")
    assert.include(changelog, "## Unreleased\n\n## 0.2.0 (2026-02-02)\n\n- New.\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n")
    assert.strictEqual(releaseNotes(changelog, "0.3.0", "2026-03-03").notes, "")
    const own = releaseNotes(readFileSync(join(import.meta.dirname, "../CHANGELOG.md"), "utf8"), "9.9.9", "2026-01-01")
    assert.isAbove(own.notes.length, 1000)
  })

  it("sets the version of a package and of its neighbours, and of nothing else", () => {
    const manifest =
      '{\n  "name": "@a/b",\n  "version": "0.1.0",\n  "dependencies": {\n    "@a/c": "0.1.0",\n    "other": "0.1.0"\n  }\n}\n'
    assert.strictEqual(
      nextManifest(manifest, new Set(["@a/b", "@a/c"]), "0.2.0"),
      manifest.replace('"version": "0.1.0"', '"version": "0.2.0"').replace('"@a/c": "0.1.0"', '"@a/c": "0.2.0"')
    )
  })

  it("sets the versions of its own packages in the lock file, and no other byte", () => {
    const lock = readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8")
    assert.strictEqual(nextLock(lock, new Set(), "9.9.9"), lock)
    const names = new Set(["@colloquy/core", "@colloquy/http"])
    const before = lock.split("\n")
    const changed = nextLock(lock, names, "9.9.9")
      .split("\n")
      .filter((line, index) => line !== before[index])
    assert.isAbove(changed.length, 3)
    for (const line of changed) assert.match(line, /"(?:version|@colloquy\/core|@colloquy\/http)": "9\.9\.9"/u)
  })

  it("tells what each tarball weighs beside the last one", () => {
    const report = sizeReport(
      new Map([
        ["a", 1500],
        ["b", 900],
        ["c", 1]
      ]),
      new Map([
        ["a", 1000],
        ["b", 1000]
      ])
    )
    assert.deepStrictEqual(report, ["a: 1.5 kB (+0.5 kB)", "b: 0.9 kB (−0.1 kB)", "c: 0.0 kB (new)"])
  })
})
