/** Every chat provider with a server of ours behind it, as the contract of chat drivers wants it. */
import type { ChatAnswer, ChatVendor } from "@colloquy/testing/contracts"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as FakeVendor from "./FakeVendor.ts"
import { model } from "./Scenarios.ts"
import type { Vendor } from "./Vendor.ts"

export const setUp = (vendor: Vendor) =>
  Effect.map(FakeVendor.make, (fake) => {
    const provider = vendor.provider({ server: fake.baseUrl, apiKey: Redacted.make("sk-of-the-host") })
    assert.isDefined(provider.chat)
    return { fake, id: provider.id, chat: provider.chat }
  })

export const vendorReply = (vendor: Vendor, answer: ChatAnswer): FakeVendor.Reply => {
  if ("refusesWith" in answer) {
    const { status, body } = vendor.refuse(answer.refusesWith)
    // The words of our vendors are "no".
    const words = JSON.stringify(body).replaceAll('"no"', '"sk-of-the-host wrote a secret"')
    return FakeVendor.json(words, status, answer.headers)
  }
  const frames = vendor.render(answer.says)
  if (answer.breaksAfter !== undefined)
    return FakeVendor.sse([...frames.slice(0, answer.breaksAfter), FakeVendor.closed])
  return FakeVendor.sse(answer.pieces === undefined ? frames : cut(frames.join(""), answer.pieces))
}

const cut = (text: string, size: number): ReadonlyArray<Uint8Array> => {
  const bytes = new TextEncoder().encode(text)
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size)
  )
}

export const chatVendor = (vendor: Vendor) =>
  Effect.map(setUp(vendor), ({ chat, fake }): ChatVendor => ({
    driver: chat,
    model,
    answers: (answer) => fake.script(vendor.path, vendorReply(vendor, answer)),
    hangs: (says) => {
      fake.script(vendor.path, FakeVendor.sse([...vendor.render(says), new FakeVendor.Gate()]))
      return FakeVendor.firstRequest(fake)
    },
    requests: () => fake.requests.length,
    seen: () => fake.requests.map(({ body, path }) => ({ path, body })),
    ...(vendor.needsBack === undefined ? {} : { needsBack: vendor.needsBack }),
    wire: {
      keys: () => fake.requests.map(({ headers }) => String(headers[vendor.keyHeader[0]])),
      sends: (contentType, body) =>
        fake.script(vendor.path, { headers: { "content-type": contentType }, body: [body] }),
      ...(vendor.readByLibrary === true
        ? {}
        : { neverEnds: () => fake.script(vendor.path, FakeVendor.sse([{ forever: "x".repeat(65_536) }])) })
    }
  }))
