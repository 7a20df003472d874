/** What it costs the service when many large files come at once: they go to the store as they come. */
import { assert, describe, it } from "@effect/vitest"
import { mkdtemp, rm } from "node:fs/promises"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startService } from "./ForkedService.ts"

const uploads = 20
const size = 50 * 1024 * 1024

describe("twenty uploads of 50 MiB at once", () => {
  it("cost less than 150 MB", { timeout: 300_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "colloquy-uploads-"))
    const { child, next } = startService("UploadMemoryProcess.ts", [folder])
    try {
      const { key, path, port } = await next("Listening")
      // The first one pays for code that is compiled.
      assert.strictEqual((await upload(port, path, key)).status, 200)
      child.send("begin")
      await next("Begun")
      const answers = await Promise.all(Array.from({ length: uploads }, () => upload(port, path, key)))
      for (const { status, text } of answers) assert.strictEqual(status, 200, text)
      child.send("end")
      const { bytes } = await next("Cost")
      assert.isBelow(bytes, 150_000_000)
    } finally {
      child.kill("SIGKILL")
      await rm(folder, { recursive: true, force: true })
    }
  })
})

const piece = Buffer.alloc(64 * 1024, "All work and no play. ")

/** Sends a file of that size, no faster than the service takes it. */
const upload = (port: number, path: string, key: string): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    const end = "\r\n--b--\r\n"
    const sent = request(
      {
        port,
        path,
        host: "127.0.0.1",
        method: "POST",
        headers: {
          "x-api-key": key,
          "content-type": "multipart/form-data; boundary=b",
          "content-length": head.length + size + end.length
        }
      },
      (answer) => {
        let text = ""
        answer.setEncoding("utf8")
        answer.on("data", (words: string) => (text += words))
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }))
      }
    )
    sent.on("error", reject)
    sent.write(head)
    let left = size
    const more = () => {
      while (left > 0) {
        const bytes = piece.subarray(0, Math.min(left, piece.length))
        left -= bytes.length
        if (!sent.write(bytes)) {
          sent.once("drain", more)
          return
        }
      }
      sent.end(end)
    }
    more()
  })
