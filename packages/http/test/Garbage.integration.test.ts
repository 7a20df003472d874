/** What a request leaves to a full garbage collection. Objects that young collections do not free are copied, and stay for a long time. */
import { assert, describe, it } from "@effect/vitest"
import { startService } from "./ForkedService.ts"

describe("a request that has ended", () => {
  it("leaves little that only a full garbage collection frees", { timeout: 120_000 }, async () => {
    const { child, next } = startService("GarbageProcess.ts")
    try {
      const { found } = await next("Left")
      for (const [kind, bytes] of Object.entries(found)) assert.isBelow(Number(bytes), 16_000, kind)
      console.log(found)
    } finally {
      child.kill("SIGKILL")
    }
  })
})
