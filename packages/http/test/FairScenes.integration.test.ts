/** Scenes of one service: what some owners send without end, and what another one waits for meanwhile. */
import { FileExtractor } from "@colloquy/adapters/files"
import { Pglite } from "@colloquy/adapters/pglite"
import { TesseractReader } from "@colloquy/adapters/tesseract"
import { Keys, Principal } from "@colloquy/core"
import { assert, it } from "@effect/vitest"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { crc32, deflateSync } from "node:zlib"
import { onEmbedded } from "../../../test/databases.ts"
import { longestStretch } from "../../../test/LongestStretch.ts"
import { docx, paragraph } from "../../adapters/test/files/MadeFiles.ts"
import { fileForm, openWithDocuments } from "./DocumentService.ts"
import { keys, type Service } from "./Service.ts"

const chunk = (type: string, content: Uint8Array): Buffer => {
  const body = Buffer.concat([Buffer.from(type), content])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(content.length)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}

/** A gray square full of stripes, in which a reader looks for words. */
const picture = (side: number): Uint8Array<ArrayBuffer> => {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header.set([8, 0, 0, 0, 0], 8)
  const rows = Buffer.alloc((side + 1) * side, 255)
  for (let row = 0; row < side; row++) {
    rows[row * (side + 1)] = 0
    for (let at = 1; at <= side; at++) if ((at >> 3) % 3 === 0 && (row >> 4) % 2 === 0) rows[row * (side + 1) + at] = 0
  }
  const mark = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const data = chunk("IDAT", deflateSync(rows))
  return new Uint8Array(Buffer.concat([mark, chunk("IHDR", header), data, chunk("IEND", Buffer.alloc(0))]))
}

const newThread = async (service: Service, key: string): Promise<string> => {
  const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" }, { key })).body
  return (await service.call("POST", `/assistants/${assistant_id}/threads`, undefined, { key })).body.thread_id
}

/** A message with a text is answered, and no request of its sender waits for one piece of work of more than so many milliseconds. */
const isServed = async (service: Service, key: string, longest: number) => {
  const thread = await newThread(service, key)
  const stretch = longestStretch()
  const form = fileForm({ files: new File(["Sencha is steamed."], "tea.txt") }, { content: "How is it made?" })
  const answer = await service.call("POST", `/threads/${thread}/messages`, form, { key })
  const held = stretch.end()
  assert.strictEqual(answer.status, 200, answer.text)
  assert.include(answer.text, "steamed")
  assert.isAtMost(held, longest)
}

/** How many documents of a thread have been read. */
const readCount = async (service: Service, thread: string, key: string): Promise<number> => {
  const list = await service.call("GET", `/threads/${thread}/documents?limit=100`, undefined, { key })
  return list.body.filter(({ status }: { readonly status: string }) => status !== "processing").length
}

const addOwner = (service: Service, owner: string, key: string) =>
  service.run(Keys.use((all) => Principal.provide(owner)(all.register(owner, Redacted.make(key)))))

onEmbedded("PGlite", () => {
  it("sixty pictures of one user, and a text in another's message", { timeout: 120_000 }, async () => {
    const extractor = FileExtractor.layer().pipe(Layer.provide(TesseractReader.layer()))
    await using service = await openWithDocuments(Pglite.layer(), { extractor })
    const thread = await newThread(service, keys.ada)
    const file = new File([picture(1_000)], "p.png")
    const crowd = Array.from({ length: 60 }, () =>
      service.call("POST", `/threads/${thread}/documents`, fileForm({ file }))
    )
    for (const { status, text } of await Promise.all(crowd)) assert.strictEqual(status, 200, text)
    const before = await readCount(service, thread, keys.ada)
    await isServed(service, keys.bob, 150)
    // In the order of their arrival all sixty would have been read before.
    const meanwhile = (await readCount(service, thread, keys.ada)) - before
    assert.isAtMost(meanwhile, 30)
  })

  it("packed documents of six users, and a text in the message of a seventh", { timeout: 120_000 }, async () => {
    await using service = await openWithDocuments(Pglite.layer(), { extractor: FileExtractor.layer() })
    const crowdKeys = Array.from({ length: 6 }, (_, at) => `key-of-packer-${at}`)
    for (const [at, key] of crowdKeys.entries()) await addOwner(service, `packer-${at}`, key)
    const bomb = new File(
      [new Uint8Array(docx(paragraph("word and more words. ".repeat(40)).repeat(21_000)))],
      "b.docx"
    )
    assert.isBelow(bomb.size, 200_000)
    const threads: Array<readonly [thread: string, key: string]> = []
    for (const key of crowdKeys) {
      const thread = await newThread(service, key)
      threads.push([thread, key])
      const path = `/threads/${thread}/documents`
      const crowd = Array.from({ length: 6 }, () => service.call("POST", path, fileForm({ file: bomb }), { key }))
      for (const { status, text } of await Promise.all(crowd)) assert.strictEqual(status, 200, text)
    }
    const read = async () => {
      const all = await Promise.all(threads.map(([thread, key]) => readCount(service, thread, key)))
      return all.reduce((sum, each) => sum + each, 0)
    }
    const before = await read()
    await isServed(service, keys.bob, 150)
    const meanwhile = (await read()) - before
    // In the order of their arrival all thirty-six would have been read before.
    assert.isAtMost(meanwhile, 18)
  })
})
