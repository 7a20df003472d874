/** A tool that runs on the server: a function with typed and checked arguments. For invalid arguments the model gets an explanation. */
import { HostedToolFailed, tool } from "colloquy"
import * as z from "zod"

const orders = new Map([["A-17", { status: "on its way", arrives: "Friday" }]])

export const orderStatus = tool({
  name: "order_status",
  description: "Tells where an order is.",
  parameters: z.object({ order: z.string().regex(/^[A-Z]-\d+$/u) }),
  execute: ({ order }) => {
    const found = orders.get(order)
    if (found === undefined)
      throw new HostedToolFailed({ message: "There is no such order. Ask for the number again." })
    return found
  }
})
