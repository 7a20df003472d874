/** The key that signs addresses of files, where the server makes it itself and keeps it in its folder. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readSigningKey } from "../src/Documents.ts"
import { readSettings } from "../src/Settings.ts"

it("is made once, and made anew where a full disk has left it empty", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signing-"))
  try {
    const settings = await Effect.runPromise(readSettings({ COLLOQUY_DATA_DIR: folder }))
    const read = async () => {
      const key = await readSigningKey(settings)
      return Redacted.isRedacted(key) ? Redacted.value(key) : null
    }
    const first = await read()
    assert.lengthOf(first ?? "", 43)
    assert.strictEqual(await read(), first)
    await writeFile(join(folder, "signing-key"), "")
    const second = await read()
    assert.lengthOf(second ?? "", 43)
    assert.notStrictEqual(second, first)
    assert.strictEqual(await readFile(join(folder, "signing-key"), "utf8"), second)
  } finally {
    await rm(folder, { recursive: true })
  }
})
