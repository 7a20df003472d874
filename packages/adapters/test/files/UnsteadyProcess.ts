/** A reader that asks the port that its file names whether it is to read or to die of a fault in native code. */
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import { answerOnce } from "../../src/files/answerOnce.ts"
import { explain } from "../../src/files/readFile.ts"

await answerOnce(async (_, bytes) => {
  const order = await text(connect(Number(new TextDecoder().decode(bytes)), "127.0.0.1"))
  if (order === "die") process.kill(process.pid, "SIGSEGV")
  return [{ form: "prose", text: `It was told to ${order}.` }]
}, explain)
