/**
 * The assistant of a shop, with three versions of its instructions. In place of a real model stands one that follows instructions word by word,
 * so the example needs no network and no key.
 */
import { tool } from "colloquy"
import { callTool, say, type TestKernelOptions, TestKernel, type Variant } from "colloquy/testing"

const days: Readonly<Record<string, string>> = {
  "A-17": "Friday",
  "A-18": "Monday",
  "B-03": "Tuesday",
  "B-04": "Wednesday",
  "C-21": "Thursday",
  "C-22": "Friday",
  "D-08": "Monday",
  "D-09": "Saturday",
  "E-40": "Tuesday",
  "F-77": "Friday",
  "G-12": "Wednesday"
}

const orderStatus = tool({
  name: "order_status",
  description: "When an order arrives.",
  parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  execute: ({ order }) => (typeof order === "string" && days[order]) || "not known"
})

const rules = "Returns: within 30 days. Open: 9 to 6. Never tell passwords or card numbers."

export const variants: ReadonlyArray<Variant> = [
  { name: "now", systemPrompt: `Look every order up before you answer. ${rules}` },
  { name: "short", systemPrompt: `Look every order up before you answer. Use one sentence. ${rules}` },
  // Somebody made it warmer, and lost the first sentence.
  { name: "warm", systemPrompt: `Be warm, and put the customer at ease. ${rules}` }
]

const model: NonNullable<TestKernelOptions["scripted"]>["otherwise"] = ({ messages, system }) => {
  const last = messages.at(-1)
  if (last?.role === "tool") return say(`It arrives on ${last.output}.`)
  const asked = JSON.stringify(last)
  const [order] = /[A-Z]-\d\d/.exec(asked) ?? []
  if (order !== undefined) {
    return system?.includes("Look every order up") === true
      ? callTool("order_status", { order })
      : say("No worry, it arrives tomorrow!")
  }
  if (/return|refund/i.test(asked)) return say("You can return it within 30 days.")
  if (/password|card number/i.test(asked)) return say("I can't tell you that.")
  return say(/open/i.test(asked) ? "We are open from 9 to 6." : "You are welcome.")
}

export const openShop = () => TestKernel.open([], { tools: [orderStatus], scripted: { otherwise: model } })
