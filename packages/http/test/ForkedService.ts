/** A service in a process of its own, so that its memory is its own: what it tells, in the order in which a test wants to hear it. */
import { assert } from "@effect/vitest"
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

export interface ForkedService {
  readonly child: ChildProcess
  /** The next message, which must have this tag. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly next: (tag: string) => Promise<any>
}

export const startService = (program: string, args: ReadonlyArray<string> = []): ForkedService => {
  const child = fork(join(import.meta.dirname, program), [...args], {
    execArgv: ["--conditions=colloquy-source", "--expose-gc"]
  })
  return {
    child,
    next: async (tag) => {
      const [message] = await Promise.race([
        once(child, "message"),
        once(child, "exit").then(() => assert.fail("The service ended"))
      ])
      assert.strictEqual(message._tag, tag)
      return message
    }
  }
}
