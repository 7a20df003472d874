/** An object from text: the model is held to the schema, and the reply has its type. */
import { Colloquy } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { say, scripted } from "colloquy/testing"
import { z } from "zod"

const Order = z.object({ item: z.string(), count: z.number().int().positive() })

const providers = [scripted([say('{ "item": "tea", "count": 2 }')])]
const colloquy = await Colloquy.open({ store: inMemory(), providers, model: "scripted-model", owner: "ada" })
const { output } = await colloquy.send({ content: "Two teas, please.", output: Order }, { throw: true })
console.log(output?.count, output?.item)
