/** What a request leaves to a full garbage collection. Objects that young collections do not free are copied, and stay for a long time. */
import { assert, describe, it } from "@effect/vitest"
import { startService } from "./ForkedService.ts"

/** Bytes a request. A turn leaves some of what is in work at each collection. */
const limits: Readonly<Record<string, number>> = { plain: 8000, streamed: 19_000, refused: 1000, list: 1000 }

describe("a request that has ended", () => {
  it("leaves little that only a full garbage collection frees", { timeout: 120_000 }, async () => {
    const { child, next } = startService("GarbageProcess.ts")
    try {
      const { found } = await next("Left")
      for (const [kind, limit] of Object.entries(limits)) assert.isBelow(found[kind], limit, kind)
    } finally {
      child.kill("SIGKILL")
    }
  })
})
