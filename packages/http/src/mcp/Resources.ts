/** Threads and documents of an owner as resources: `colloquy://threads/{id}` is the conversation, `colloquy://documents/{id}` the file. */
import { type Message, type Principal, ThreadId, Threads } from "@colloquy/core"
import { DocumentId } from "@colloquy/core/adapters"
import { type Document, Documents } from "@colloquy/core/wings"
import type { ReadResourceResult, Resource } from "@modelcontextprotocol/server"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { pageSize } from "./AssistantTools.ts"

/** A larger file does not go through one message of JSON. */
const mostBytes = 8 * 1024 * 1024

const scheme = "colloquy://"

export const templates = [
  {
    name: "thread",
    uriTemplate: `${scheme}threads/{thread_id}`,
    mimeType: "text/markdown",
    description: "A conversation with an assistant"
  },
  {
    name: "document",
    uriTemplate: `${scheme}documents/{document_id}`,
    description: "A file of an assistant or a conversation"
  }
]

const isText = (mimeType: string): boolean => /^text\/|[/+](?:json|xml|yaml)$/u.test(mimeType)

const documentResource = ({ filename, id, mimeType, size }: Document): Resource => ({
  uri: `${scheme}documents/${id}`,
  name: filename,
  mimeType,
  size
})

export const makeResources = Effect.gen(function* () {
  const threads = yield* Threads
  const documents = Option.getOrNull(yield* Effect.serviceOption(Documents))

  const threadPage = Effect.fnUntraced(function* (skip: number) {
    const found = yield* threads.list({ page: { skip, limit: pageSize }, includeMessages: false })
    const resources = found.map(({ thread }): Resource => ({
      uri: `${scheme}threads/${thread.id}`,
      name: `Conversation of ${thread.createdAt.toISOString()}`,
      mimeType: "text/markdown"
    }))
    if (found.length === pageSize) return { resources, nextCursor: `threads:${skip + pageSize}` }
    return { resources, ...(documents === null ? {} : { nextCursor: "documents:0" }) }
  })

  const documentPage = Effect.fnUntraced(function* (skip: number) {
    const found = documents === null ? [] : yield* documents.listAll({ skip, limit: pageSize })
    const next = found.length < pageSize ? {} : { nextCursor: `documents:${skip + pageSize}` }
    return { resources: found.map(documentResource), ...next }
  })

  /** Threads first, then documents; null: the cursor is none of ours. */
  const list = (cursor = "threads:0") => {
    const [, kind, skip] = /^(threads|documents):(\d{1,9})$/u.exec(cursor) ?? []
    if (kind === undefined) return Effect.succeed(null)
    return kind === "threads" ? threadPage(Number(skip)) : documentPage(Number(skip))
  }

  const readThread = (uri: string, id: string) =>
    Effect.map(threads.get(ThreadId.make(id)), ({ messages }) => [
      { uri, mimeType: "text/markdown", text: messages.map(inMarkdown).join("\n\n") }
    ])

  const readDocument = Effect.fnUntraced(function* (use: typeof Documents.Service, uri: string, id: string) {
    const { bytes, document } = yield* use.content(DocumentId.make(id))
    const { mimeType, size } = document
    if (size > mostBytes) return null
    const whole = yield* Stream.mkUint8Array(bytes)
    return isText(mimeType)
      ? [{ uri, mimeType, text: new TextDecoder().decode(whole) }]
      : [{ uri, mimeType, blob: Base64.encode(whole) }]
  })

  /** Null: there is no such resource, or it is too large for a message. */
  const read = (uri: string): Effect.Effect<ReadResourceResult["contents"] | null, unknown, Principal> => {
    const [, kind, id = ""] = /^colloquy:\/\/(threads|documents)\/([0-9a-f-]{36})$/iu.exec(uri) ?? []
    const missing = () => Effect.succeed(null)
    if (kind === "threads") return Effect.catchTag(readThread(uri, id.toLowerCase()), "ThreadNotFound", missing)
    if (kind !== "documents" || documents === null) return Effect.succeed(null)
    const found = readDocument(documents, uri, id.toLowerCase())
    return Effect.catchTags(found, { DocumentNotFound: missing, BlobNotFound: missing })
  }

  return { list, read }
})

const inMarkdown = ({ content, createdAt, role }: Message): string =>
  `## ${role}, ${createdAt.toISOString()}\n\n${content ?? ""}`
