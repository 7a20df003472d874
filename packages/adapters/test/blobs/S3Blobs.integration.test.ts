/** `BlobStore` on a server that speaks S3 and checks signatures, and the answers of Amazon's that this server does not give. */
import { Principal } from "@colloquy/core"
import { BlobId, newId } from "@colloquy/core/adapters"
import { blobStoreSuite } from "@colloquy/testing/contracts"
import { BlobStore } from "@colloquy/core/documents"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { createServer } from "node:http"
import { S3Blobs } from "../../src/blobs/s3.ts"
import { readErrorCode, readListing, readUploads } from "../../src/blobs/S3Xml.ts"
import { serverPort } from "../providers/FakeVendor.ts"
import { startS3 } from "./S3Server.ts"

const credentials = { accessKeyId: "S3RVER", secretAccessKey: Redacted.make("S3RVER"), bucket: "documents" }

const blobsOn = (endpoint: string, options: Partial<S3Blobs.S3BlobOptions> = {}) =>
  S3Blobs.layer({ ...credentials, endpoint, ...options })

blobStoreSuite("BlobStore on S3", Layer.unwrap(Effect.map(startS3, ({ endpoint }) => blobsOn(endpoint))))

it.live("sends what is longer than a part as parts, and aborts an upload that broke", () =>
  Effect.gen(function* () {
    const { endpoint, requests } = yield* startS3
    const store = yield* Effect.provide(BlobStore, blobsOn(endpoint))
    yield* store.put(yield* newId(BlobId), Stream.make(new Uint8Array(11_000_000)))
    assert.deepStrictEqual(requests.splice(0), ["HEAD", "POST", "PUT", "PUT", "PUT", "POST"])
    const broken = Stream.concat(Stream.make(new Uint8Array(6_000_000)), Stream.fail("broken"))
    yield* Effect.exit(store.put(yield* newId(BlobId), broken))
    assert.deepStrictEqual(requests.splice(0), ["HEAD", "POST", "PUT", "DELETE"])
    yield* store.put(yield* newId(BlobId), Stream.make(new Uint8Array(1000)))
    assert.deepStrictEqual(requests.splice(0), ["HEAD", "PUT"])
  }).pipe(Principal.provide("ada"), Effect.scoped)
)

it.live("says in a sentence that the credentials are wrong, or the service is away", () =>
  Effect.gen(function* () {
    const { endpoint } = yield* startS3
    const put = Effect.flatMap(newId(BlobId), (id) =>
      BlobStore.use((store) => store.put(id, Stream.make(new Uint8Array(10))))
    )
    const refused = yield* Effect.flip(
      Effect.provide(put, blobsOn(endpoint, { secretAccessKey: Redacted.make("wrong secret") }))
    )
    assert.strictEqual(refused._tag, "StoreUnavailable")
    assert.include(String(refused.cause), "403")
    assert.notInclude(JSON.stringify(refused), "wrong secret")
    const away = yield* Effect.flip(Effect.provide(put, blobsOn("http://127.0.0.1:1")))
    assert.strictEqual(away._tag, "StoreUnavailable")
  }).pipe(Principal.provide("ada"), Effect.scoped)
)

/** A service whose list of unfinished uploads has two pages. It notes what is deleted. */
const startPagedUploads = Effect.acquireRelease(
  Effect.promise(async () => {
    const deleted: Array<string> = []
    const upload = (key: string, at: string) =>
      `<Upload><Key>colloquy/x/${key}</Key><UploadId>${key}</UploadId>${at}</Upload>`
    const initiated = (year: number) => `<Initiated>${year}-01-31T12:00:00.000Z</Initiated>`
    const server = createServer((request, response) => {
      const { pathname, searchParams: query } = new URL(request.url ?? "", "http://127.0.0.1")
      if (request.method === "DELETE") deleted.push(`${pathname.split("/").at(-1)} ${query.get("uploadId")}`)
      const isSecond = query.get("key-marker") === "colloquy/x/a&b" && query.get("upload-id-marker") === "last"
      const first = `<IsTruncated>true</IsTruncated><NextKeyMarker>colloquy/x/a&amp;b</NextKeyMarker>
        <NextUploadIdMarker>last</NextUploadIdMarker>${upload("one", initiated(2025))}${upload("new", initiated(2027))}`
      const second = `<IsTruncated>false</IsTruncated>${upload("two", initiated(2025))}${upload("undated", "")}`
      response.end(query.has("uploads") ? (isSecond ? second : first) : "")
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return { server, deleted, endpoint: `http://127.0.0.1:${serverPort(server)}` }
  }),
  ({ server }) =>
    Effect.promise(async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
)

it.live("aborts old uploads of all pages of their list, and none whose age is unknown", () =>
  Effect.gen(function* () {
    const { deleted, endpoint } = yield* startPagedUploads
    const store = yield* Effect.provide(BlobStore, blobsOn(endpoint))
    yield* store.sweep(new Date("2026-01-31T12:00:00Z"), () => Effect.succeed([]))
    assert.deepStrictEqual(deleted, ["one one", "two two"])
  }).pipe(Effect.scoped)
)

it("reads a page of a listing, and where the next one begins", () => {
  const xml = `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>true</IsTruncated>
    <Contents><Key>a&amp;b/&#x31;</Key><LastModified>2026-01-31T12:00:00.000Z</LastModified><Size>3</Size></Contents>
    <Contents><LastModified>2026-02-01T12:00:00.000Z</LastModified><Key>c</Key></Contents>
    <NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken></ListBucketResult>`
  assert.deepStrictEqual(readListing(xml), {
    objects: [
      { key: "a&b/1", at: new Date("2026-01-31T12:00:00Z") },
      { key: "c", at: new Date("2026-02-01T12:00:00Z") }
    ],
    next: Option.some("1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=")
  })
  assert.deepStrictEqual(readListing("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"), {
    objects: [],
    next: Option.none()
  })
})

it("reads unfinished uploads and the code of an error", () => {
  const xml = `<ListMultipartUploadsResult><Bucket>b</Bucket><Upload><Key>colloquy/x/1</Key><UploadId>XMgbGlrZSBlbHZpbmc</UploadId>
    <Initiator><ID>arn</ID></Initiator><Initiated>2026-01-31T12:00:00.000Z</Initiated></Upload></ListMultipartUploadsResult>`
  assert.deepStrictEqual(readUploads(xml), {
    uploads: [{ key: "colloquy/x/1", uploadId: "XMgbGlrZSBlbHZpbmc", at: new Date("2026-01-31T12:00:00Z") }],
    next: Option.none()
  })
  assert.strictEqual(readErrorCode("<Error><Code>NoSuchBucket</Code><Message>secret</Message></Error>"), "NoSuchBucket")
})

/** A service that loses the answer to the end of an upload, and does not know the upload afterwards. `stored` is the size of the object. */
const startLosingEnd = (stored: number | null) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let ends = 0
      const server = createServer((request, response) => {
        const { searchParams: query } = new URL(request.url ?? "", "http://127.0.0.1")
        request.resume()
        request.on("end", () => {
          if (request.method === "HEAD") {
            response.writeHead(ends > 0 && stored !== null ? 200 : 404, { "content-length": stored ?? 0 }).end()
          } else if (request.method === "POST" && query.has("uploads")) response.end("<UploadId>one</UploadId>")
          else if (request.method === "POST" && ends++ === 0) request.socket.destroy()
          else if (request.method === "POST") response.writeHead(404).end("<Code>NoSuchUpload</Code>")
          else response.writeHead(200, { etag: '"part"' }).end()
        })
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return { server, endpoint: `http://127.0.0.1:${serverPort(server)}` }
    }),
    ({ server }) =>
      Effect.promise(async () => {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      })
  )

it.live("an upload is stored whose end the service has carried out, although its answer was lost", () =>
  Effect.gen(function* () {
    const put = Effect.fnUntraced(function* (stored: number | null) {
      const { endpoint } = yield* startLosingEnd(stored)
      const store = yield* Effect.provide(BlobStore, blobsOn(endpoint))
      return yield* store.put(yield* newId(BlobId), Stream.make(new Uint8Array(6_000_000)))
    })
    assert.strictEqual((yield* put(6_000_000)).size, 6_000_000)
    for (const stored of [null, 5_000_000]) {
      const failed = yield* Effect.flip(put(stored))
      assert.strictEqual(failed._tag, "StoreUnavailable")
      assert.include(String(failed.cause), "NoSuchUpload")
    }
  }).pipe(Principal.provide("ada"), Effect.scoped)
)
