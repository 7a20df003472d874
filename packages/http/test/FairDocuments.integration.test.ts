/** One owner sends files without end; another sends one text, and is answered meanwhile as if it were alone. */
import { FileExtractor } from "@colloquy/adapters/files"
import { Pglite } from "@colloquy/adapters/pglite"
import { assert, it } from "@effect/vitest"
import { setTimeout } from "node:timers/promises"
import { onEmbedded } from "../../../test/databases.ts"
import { longestStretch } from "../../../test/LongestStretch.ts"
import { fileForm, openWithDocuments } from "./DocumentService.ts"
import { keys, type Service } from "./Service.ts"

const text = (lines: number) =>
  new File([Array.from({ length: lines }, (_, at) => `line ${at} ${at * 7919}\n`).join("")], "many.txt")

const upload = async (service: Service, key: string, files: ReadonlyArray<File>) => {
  const made = await service.call("POST", "/assistants", { name: "A" }, { key })
  const path = `/assistants/${made.body.assistant_id}/documents`
  const answers = await Promise.all(files.map((file) => service.call("POST", path, fileForm({ file }), { key })))
  for (const { status } of answers) assert.strictEqual(status, 200)
  return answers.map(({ body }) => `/documents/${body.document_id}/status`)
}

onEmbedded("PGlite", () => {
  it("a crowd of files of one owner delays another owner's text by seconds at most", async () => {
    await using service = await openWithDocuments(Pglite.layer(), { extractor: FileExtractor.layer() })
    const crowd = await upload(
      service,
      keys.ada,
      Array.from({ length: 60 }, () => text(4_000))
    )
    const stretch = longestStretch()
    const began = performance.now()
    const [mine = ""] = await upload(service, keys.bob, [new File(["Sencha is steamed."], "tea.txt")])
    let status = "processing"
    while (status === "processing") {
      await setTimeout(50)
      status = (await service.call("GET", mine, undefined, { key: keys.bob })).body.status
    }
    assert.strictEqual(status, "completed")
    // Alone it takes half a second. The crowd takes minutes.
    assert.isBelow(performance.now() - began, 30_000)
    assert.isBelow(stretch.end(), 150)
    const last = await service.call("GET", crowd.at(-1) ?? "", undefined, { key: keys.ada })
    assert.strictEqual(last.body.status, "processing")
  }, 120_000)
})
