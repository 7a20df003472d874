/**
 * Lists of threads write plain messages without making records of them. Whatever a message holds, the text is that of the record, and
 * the record is the one that the API description promises.
 */
import { Message, MessageId, ThreadId } from "@colloquy/core"
import { usualStop } from "@colloquy/core/adapters"
import { toPlain } from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { makeWings, ownWings } from "../src/wings/Wings.ts"
import { messageToWire } from "../src/encoding/Encode.ts"
import { messageText } from "../src/encoding/EncodeList.ts"
import { StoredMessage } from "../src/wire/Records.ts"

const wings = makeWings(ownWings, String, () => {})

/** Any message of which nothing but text was said. */
const { assistant, content, id, metadata, model, provider, role, runId, status, threadId, usage } = Message.fields
const Said = Schema.Struct({ assistant, content, id, metadata, model, provider, role, runId, status, threadId, usage })

const fullMessage = (said: typeof Said.Type, at: number): Message => ({
  ...said,
  fault: null,
  stopReason: usualStop({ ...said, toolCalls: [] }),
  toolCalls: [],
  toolResults: [],
  steps: [],
  supplements: null,
  tokens: 0,
  sequence: 1,
  createdAt: new Date(at)
})

const Moment = Schema.Int.check(Schema.isBetween({ minimum: -1e14, maximum: 1e14 }))
const readPromised = Schema.decodeUnknownSync(Schema.fromJsonString(StoredMessage), { onExcessProperty: "error" })

describe("plain messages of lists", () => {
  it.prop("have the text of their record", { said: Said, at: Moment }, ({ at, said }) => {
    const message = fullMessage(said, at)
    const record = messageToWire(message, wings)
    const text = messageText(toPlain(message), wings)
    assert.strictEqual(text, JSON.stringify(record))
    assert.strictEqual(messageText(message, wings), text)
    assert.deepStrictEqual(JSON.parse(JSON.stringify(readPromised(text))), JSON.parse(text))
  })

  it("have every field of the API description but those of objects", () => {
    const nothing = { assistant: null, metadata: null, model: null, provider: null, runId: null, usage: null }
    const ids = { id: MessageId.make(anId), threadId: ThreadId.make(anId) }
    const message = fullMessage({ content: "Hello", role: "user", status: "COMPLETED", ...nothing, ...ids }, 0)
    const written = Object.keys(JSON.parse(messageText(toPlain(message), wings)))
    const always = Object.keys(StoredMessage.fields).filter((name) => !onlyOfSome.has(name))
    assert.sameMembers(written, always)
  })
})

/** Fields that a message without them leaves out. */
const onlyOfSome = new Set([
  "citations",
  "citations_dropped",
  "helper_runs",
  "imported",
  "output",
  "output_method",
  "retrieved"
])

const anId = "0199a5a0-0000-7000-8000-000000000000"
