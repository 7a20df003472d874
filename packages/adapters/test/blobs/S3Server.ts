/** A server that speaks S3 and checks signatures, on a free port of 127.0.0.1, with one bucket. It notes the methods of what it is asked. */
import S3rver from "@20minutes/s3rver"
import * as Effect from "effect/Effect"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { serverPort } from "../providers/FakeVendor.ts"

const listen = async (directory: string) => {
  const service = new S3rver({ directory, silent: true, configureBuckets: [{ name: "documents", configs: [] }] })
  await service.configureBuckets()
  const answer = service.callback()
  const requests: Array<string> = []
  const server = createServer((request, response) => {
    requests.push(request.method ?? "")
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { server, requests, endpoint: `http://127.0.0.1:${serverPort(server)}`, directory }
}

export const startS3 = Effect.acquireRelease(
  Effect.promise(async () => listen(await mkdtemp(join(tmpdir(), "s3-")))),
  ({ directory, server }) =>
    Effect.promise(async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(directory, { recursive: true })
    })
)
