/** A reader that does what its file says: is busy for ever, grows by 400 MB before it answers, or answers at once. */
import { setTimeout } from "node:timers/promises"
import { answerOnce } from "../../src/files/answerOnce.ts"
import { explain } from "../../src/files/readFile.ts"

await answerOnce(async (_, bytes) => {
  const text = new TextDecoder().decode(bytes)
  if (text === "busy") for (;;) performance.now()
  const kept = text === "grow" ? Buffer.alloc(400_000_000, 1) : Buffer.alloc(0)
  // The watcher looks every 50 milliseconds.
  if (kept.length > 0) await setTimeout(500)
  return [{ form: "prose", text: `${text} ${kept.length}` }]
}, explain)
