/** One owner sends two hundred requests at once; another owner's request is answered among the first, and the event loop is never held. */
import { Pglite } from "@colloquy/adapters/pglite"
import { assert, it } from "@effect/vitest"
import { onEmbedded } from "../../../test/databases.ts"
import { longestStretch, onThisMachine } from "../../../test/LongestStretch.ts"
import { keys, openEndless, type Service } from "./Service.ts"

const crowd = 200

/** How many of the crowd's requests were answered before one of another owner, which came after them. */
const answeredBefore = async (service: Service, send: (each: number) => Promise<{ readonly status: number }>) => {
  let answered = 0
  const others = Array.from({ length: crowd }, async (_, each) => {
    const { status } = await send(each)
    assert.strictEqual(status, 200)
    answered++
  })
  const { status } = await service.call("GET", "/threads?limit=1", undefined, { key: keys.bob })
  assert.strictEqual(status, 200)
  const before = answered
  await Promise.all(others)
  return before
}

onEmbedded("PGlite", () => {
  it("turns, lists and new threads of one owner do not delay another owner", { timeout: 120_000 }, async () => {
    await using service = await openEndless(Pglite.layer())
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const message = { content: "hello", assistant_id }
    // Statements are planned and code is compiled before it is measured.
    await service.call("POST", "/threads/messages", message)
    await service.call("GET", "/threads?limit=100")
    await service.call("GET", "/threads?limit=1", undefined, { key: keys.bob })

    const requests: Readonly<Record<string, (each: number) => Promise<{ readonly status: number }>>> = {
      turns: () => service.call("POST", "/threads/messages", message),
      lists: () => service.call("GET", "/threads?limit=100"),
      threads: () => service.call("POST", `/assistants/${assistant_id}/threads`)
    }
    for (const [name, send] of Object.entries(requests)) {
      const stretch = longestStretch()
      const before = await answeredBefore(service, send)
      // The others are so short that many of them fit between two turns of the loop.
      if (name === "lists") assert.isBelow(before, crowd * 0.7)
      assert.isBelow(stretch.end(), onThisMachine(150), name)
    }
  })
})
