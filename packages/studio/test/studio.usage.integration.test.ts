/** What the studio says of limits, keys and errors: what was used of each limit, a budget that is used up, and what a vendor refused. */
import { assert, it } from "@effect/vitest"
import { createServer } from "node:http"
import { inChromium } from "../../../test/browser.ts"
import { choose, faults, finished, lastAnswer, makeAssistant, say, soon, visit } from "./StudioVisit.ts"
import { serverKey, startDemo } from "../../server/test/TestServer.ts"

inChromium((launch) => {
  it("shows usage and limits, and says where there is none", async () => {
    const server = await startDemo({ LIMITS: '{"documents": 7, "usd_per_day": null}' })
    const browser = await launch([])
    try {
      await using visitor = await visit(browser, `${server.url}/#key=${serverKey(server)}`)
      const { page } = visitor
      await choose(page, "Usage and limits")
      const shown = page.locator("dl.usage")
      await soon(page, async () => {
        const text = (await shown.innerText()).replaceAll(/\s+/gu, " ")
        assert.match(text, /Documents 0 of 7/u)
        assert.match(text, /Cost today \$0 no limit/u)
        assert.match(text, /Turns this minute 0 of 60/u)
      })
      assert.deepStrictEqual(await faults(page), [])
      await page.getByRole("link", { name: "Keys", exact: true }).click()
      const item = page.getByRole("list", { name: "Keys" }).getByRole("listitem")
      await item.getByText("used by this page").waitFor()
      await soon(page, async () =>
        assert.match(await item.innerText(), /^first start may do everything.*, without an end$/su)
      )
      assert.deepStrictEqual(await faults(page), [])
      await item.getByRole("button", { name: "Revoke first start" }).click()
      const sure = page.getByRole("dialog", { name: "Revoke the key" })
      await soon(page, async () => assert.include(await sure.innerText(), "It is the key of this page"))
      await sure.getByRole("button", { name: "Keep it" }).click()
    } finally {
      await browser.close()
      await server.stop()
    }
  })

  it("says in Talk that a budget is used up, which one, and until when", async () => {
    const server = await startDemo({ LIMITS: '{"tokens_per_day": 60}' })
    const browser = await launch([])
    try {
      await using visitor = await visit(browser, `${server.url}/#key=${serverKey(server)}`)
      const { page } = visitor
      await makeAssistant(page, { name: "Frugal" })
      await say(page, "count to 40")
      const alert = page.getByRole("alert")
      await soon(page, async () => assert.match(await alert.first().innerText(), /tokens.*day/isu))
      assert.deepStrictEqual(await faults(page), [])
    } finally {
      await browser.close()
      await server.stop()
    }
  })

  it("shows what a vendor said of a failed call at its step, without the key that the vendor repeats", async () => {
    const secret = "sk-proj-4f9d0c7ab1e24c8f9a7712345678abcd"
    const vendor = createServer((request, response) => {
      response.setHeader("content-type", "application/json")
      if (request.method === "GET") {
        response.end(JSON.stringify({ object: "list", data: [{ id: "gpt-5", object: "model" }] }))
        return
      }
      response.statusCode = 401
      const message = `Incorrect API key provided: ${secret}. It was sent as Bearer ${secret}.`
      response.end(JSON.stringify({ error: { message, type: "invalid_request_error", code: "invalid_api_key" } }))
    })
    const port = await new Promise<number>((resolve) => {
      vendor.listen(0, "127.0.0.1", () => {
        const address = vendor.address()
        resolve(typeof address === "object" && address !== null ? address.port : 0)
      })
    })
    const server = await startDemo({
      OPENAI_API_KEY: secret,
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
      DEFAULT_LLM_PROVIDER: "openai",
      DEFAULT_MODEL_NAME: "gpt-5"
    })
    const browser = await launch([])
    try {
      await using visitor = await visit(browser, `${server.url}/#key=${serverKey(server)}`)
      const { page } = visitor
      const heard: Array<string> = []
      page.on("response", (response) => {
        response.text().then(
          (text) => heard.push(text),
          () => {}
        )
      })
      await makeAssistant(page, { name: "Refused" })
      await say(page, "Hello")
      await finished(page)
      await lastAnswer(page).getByText("This answer failed.").waitFor()
      await page.getByRole("button", { name: "Look inside" }).last().click()
      await page.getByRole("list", { name: "Steps of the turn" }).getByText("Model").first().click()
      const step = page.locator(".step-detail")
      await step.getByText("invalid_api_key").waitFor()
      await step.getByText("Incorrect API key provided").waitFor()
      await page.getByRole("heading", { name: "Errors of the provider" }).waitFor()
      assert.deepStrictEqual(await faults(page), [])
      assert.isFalse((await page.content()).includes(secret))
      assert.isNotEmpty(heard)
      for (const text of heard) assert.isFalse(text.includes(secret), "an answer of the server has the key")
    } finally {
      await browser.close()
      await server.stop()
      vendor.closeAllConnections()
      vendor.close()
    }
  })
})
