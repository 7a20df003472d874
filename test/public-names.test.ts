/** The public names of every sub-path, pinned. A wanted change is written down with `npm run test:quick -- -u` and told in CHANGELOG.md. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, expect, it } from "@effect/vitest"
import { publicNames, root } from "./rules/SourceFile.ts"

interface Entry {
  readonly name: string
  readonly file: string
}

const packageEntries = (folder: string): ReadonlyArray<Entry> => {
  const manifest = JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8"))
  return Object.entries<{ readonly "colloquy-source"?: string } | string | null>(manifest.exports).flatMap(
    ([path, target]) =>
      typeof target === "object" && target?.["colloquy-source"] !== undefined
        ? [{ name: `${folder}${path.slice(1)}`, file: join(root, "packages", folder, target["colloquy-source"]) }]
        : []
  )
}

describe("public names", () => {
  it.each(["core", "adapters", "testing", "http", "ws", "studio", "server", "colloquy"].flatMap(packageEntries))(
    "of $name are those written down",
    async ({ name, file }) => {
      assert.isTrue(existsSync(file), `package.json exports ${file}, which does not exist`)
      const text = [...publicNames(file), ""].join("\n")
      await expect(text).toMatchFileSnapshot(join(root, "test/public-names", `${name.replaceAll("/", ".")}.txt`))
    }
  )
})
