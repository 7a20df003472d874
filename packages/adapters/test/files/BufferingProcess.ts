/** A reader that takes memory outside of V8's heap, and never pauses. */
import { answerOnce } from "../../src/files/answerOnce.ts"
import { explain } from "../../src/files/readFile.ts"

await answerOnce(() => {
  const all: Array<Buffer> = []
  for (;;) all.push(Buffer.alloc(10_000_000, 1))
}, explain)
