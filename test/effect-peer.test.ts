/**
 * Which Effect the packages run on is said by their peer ranges: npm refuses to install another major, and names both. Code cannot say it: with
 * another major the modules do not link, and nothing of ours runs.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { root } from "./rules/SourceFile.ts"

describe("the peer range of effect", () => {
  it.each(readdirSync(join(root, "packages")))("of packages/%s is the minor that is tested", (name) => {
    const manifest: { readonly peerDependencies?: Record<string, string> } = JSON.parse(
      readFileSync(join(root, "packages", name, "package.json"), "utf8")
    )
    const tested: { readonly devDependencies: Record<string, string> } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8")
    )
    const [major, minor] = (tested.devDependencies["effect"] ?? "").split(".")
    assert.strictEqual(manifest.peerDependencies?.["effect"], `~${major}.${minor}.0`)
  })
})
