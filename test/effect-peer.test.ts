/**
 * Which Effect the packages run on is said by their peer ranges: npm refuses to install another major, and names both. Where it is installed all
 * the same, the modules do not link and nothing of ours runs, so that the folder of the modules says it: its name stands in Node's error
 * (`scripts/check-packages.ts` tries that).
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { root } from "./rules/SourceFile.ts"

interface Manifest {
  readonly peerDependencies?: Readonly<Record<string, string>>
  /** The server is installed by itself, and brings Effect. */
  readonly dependencies?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | null | { readonly node?: string }>>
}

describe("the peer range of effect", () => {
  it.each(readdirSync(join(root, "packages")))("of packages/%s is the minor that is tested", (name) => {
    const manifest: Manifest = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"))
    const tested: { readonly devDependencies: Record<string, string> } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8")
    )
    const [major, minor] = (tested.devDependencies["effect"] ?? "").split(".")
    const { effect } = { ...manifest.dependencies, ...manifest.peerDependencies }
    assert.strictEqual(effect, `~${major}.${minor}.0`)
    for (const target of Object.values(manifest.exports)) {
      if (typeof target !== "object" || target?.node === undefined) continue
      assert.isTrue(target.node.startsWith(`./dist/needs-effect-${major}.${minor}/`), target.node)
    }
  })
})
