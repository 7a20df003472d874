/** What the terminal says at the start: the key once, the studio with its link, and colours only where they are shown. */
import { assert, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import { welcome } from "../src/Welcome.ts"

const settings = { apiKeys: [], basePath: "/api", defaultModel: null, vendors: new Map() }
const first = {
  url: "http://127.0.0.1:8000",
  defaultModel: "demo/demo-1",
  voiceNotes: [],
  newKey: Redacted.make("cq_secret")
}

it("names the studio with the key, which stands there once, and says how real answers come", () => {
  const text = welcome(first, settings, false)
  assert.include(text, "\nStudio: http://127.0.0.1:8000/#key=cq_secret\n")
  assert.strictEqual(text.split("cq_secret").length, 2)
  assert.include(text, "Set OPENAI_API_KEY")
  const later = welcome({ ...first, newKey: null }, settings, false)
  assert.include(later, "\nStudio: http://127.0.0.1:8000/\n")
  assert.include(later, "npm run key -- make")
})

it("has colours only for a terminal, and the same words", () => {
  const [plain, coloured] = [welcome(first, settings, false), welcome(first, settings, true)]
  assert.notInclude(plain, "\u001B")
  assert.include(coloured, "\u001B[1mStudio:\u001B[0m \u001B[36mhttp://127.0.0.1:8000/#key=cq_secret\u001B[0m")
  assert.strictEqual(coloured.replaceAll(/\u001B\[\d+m/gu, ""), plain)
})
