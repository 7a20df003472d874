/** `asyncapi.json` tells of both sockets, is in order, and what the service sends is what it says. */
import type { ServiceEvent } from "@colloquy/core/realtime"
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { assert, describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { socketDescription } from "../src/asyncapi/index.ts"
import { ServiceEvents, serviceEvents } from "../src/asyncapi/ServiceEvents.ts"
import { makeAudioWriter, readText, writeEvent } from "../src/Wire.ts"

const file = join(import.meta.dirname, "../asyncapi.json")
const format = { encoding: "pcm_s16le", sampleRate: 24_000, channels: 1 } as const
const spoken = { itemId: "item_1", role: "assistant" } as const

type Written = Exclude<ServiceEvent, { readonly _tag: "ApprovalNeeded" | "SessionChanged" }>

/** One event of each kind: a new kind does not compile until it stands here. */
const samples: { readonly [Tag in Written["_tag"]]: Extract<Written, { readonly _tag: Tag }> } = {
  SessionBegin: {
    _tag: "SessionBegin",
    sessionId: "s",
    threadId: "t",
    assistantId: "a",
    inputFormat: format,
    outputFormat: format,
    provider: "p",
    model: "m"
  },
  TranscriptStarted: { _tag: "TranscriptStarted", ...spoken },
  TranscriptDelta: { _tag: "TranscriptDelta", ...spoken, text: "Tea" },
  TranscriptFinal: { _tag: "TranscriptFinal", ...spoken, text: "Tea." },
  TranscriptFailed: { _tag: "TranscriptFailed", ...spoken },
  ToolCall: { _tag: "ToolCall", toolCallId: "c", name: "n", arguments: { city: "Paris" }, hosted: false },
  ToolCancelled: { _tag: "ToolCancelled", toolCallIds: ["c"] },
  ToolCompleted: { _tag: "ToolCompleted", toolCallId: "c" },
  MediaGenerated: { _tag: "MediaGenerated", toolCallId: "c", media: [{ kind: "picture" }] },
  ResponseDone: { _tag: "ResponseDone" },
  Interrupted: { _tag: "Interrupted" },
  ProviderEvent: { _tag: "ProviderEvent", json: '{"type":"vendor"}' },
  SessionEnded: { _tag: "SessionEnded", providerCostUsd: 0.5, chargedUsd: null, reconciliationRequired: false },
  Error: { _tag: "Error", code: "idle_timeout", message: "Nothing was said." }
}

describe("the document of sockets", () => {
  it("is the one written down", async () => {
    await expect(`${JSON.stringify(socketDescription(), null, 2)}\n`).toMatchFileSnapshot(file)
  })

  it("passes the linter", async () => {
    const config = await createConfig({ extends: ["recommended"], rules: { "info-license-strict": "off" } })
    const problems = await lintFromString({ source: readFileSync(file, "utf8"), absoluteRef: "asyncapi.json", config })
    assert.deepStrictEqual(
      problems.map(({ location, message, ruleId }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
      []
    )
  })

  it("names no schema that it does not have", () => {
    const { components } = socketDescription()
    const named = [...JSON.stringify(socketDescription()).matchAll(/"\$ref":"#\/components\/schemas\/([^"]*)"/gu)]
    for (const [, name = ""] of named) assert.property(components.schemas, decodeURIComponent(name))
    assert.notInclude(JSON.stringify(socketDescription()), "$defs")
  })

  it("has each event of the service as it is written, with no other field", () => {
    const read = Schema.decodeUnknownSync(ServiceEvents, { onExcessProperty: "error" })
    const audio = makeAudioWriter(format, false)("item_1", Buffer.from("AAAA"))
    const written = [...Object.values(samples).map((event) => writeEvent(event)), String(audio)]
    const types = written.map((text) => read(JSON.parse(text)).type)
    assert.deepStrictEqual(types.toSorted(), serviceEvents.map(({ fields }) => fields.type.literal).toSorted())
  })

  it("has every frame that a client may send, under the path of the host", () => {
    const document = socketDescription("/ai")
    const text = JSON.stringify(document.channels["realtime"])
    assert.include(text, '"address":"/ai/threads/realtime"')
    const refused = readText('{"type":"nothing"}', false)
    const [, list = ""] = /one of (.*)\.$/u.exec(refused._tag === "Malformed" ? refused.message : "") ?? []
    const types = list.split(", ")
    assert.isAbove(types.length, 5)
    for (const type of types) assert.include(text, `"${type}"`)
  })
})
