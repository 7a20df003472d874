/** Acting on a conversation in the studio: other answers, other questions, forks, rewinds, decisions about calls, and excerpts. */
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { fileURLToPath } from "node:url"
import type { Browser, Page } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import { answers, faults, finished, lastAnswer, lastText, makeAssistant, say, soon, visit } from "./StudioVisit.ts"
import { caller, serverKey, startDemo } from "../../server/test/TestServer.ts"

/** A tool server whose every call waits for an approval. */
const toolServer = {
  tools: {
    command: process.execPath,
    args: [
      "--conditions=colloquy-source",
      fileURLToPath(new URL("../../adapters/test/mcp/ToolServerProcess.ts", import.meta.url))
    ],
    approval: true
  }
}

const shownThread = (page: Page): string => new URL(page.url()).hash.split("/")[2] ?? ""

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let address = ""
  beforeAll(async () => {
    server = await startDemo({ MCP_SERVERS: JSON.stringify(toolServer) })
    browser = await launch()
    address = `${server.url}/#key=${serverKey(server)}`
  })
  afterAll(async () => {
    await browser.close()
    await server.stop()
  })

  const open = async (name: string) => {
    const visitor = await visit(browser, address)
    await makeAssistant(visitor.page, { name })
    return visitor
  }

  it("tells under an answer what its run took, which opens the run", async () => {
    await using visitor = await open("Facts")
    const { page } = visitor
    await say(page, "count to 3")
    await finished(page)
    const facts = lastAnswer(page).getByRole("button", { name: "Look inside" })
    await facts.filter({ hasText: /^\s*\d[\d.]* m?s · \d+ tokens( · \$[\d.]+)?\s*$/ }).waitFor()
    await page.reload()
    await facts.filter({ hasText: /^\s*\d[\d.]* m?s · \d+ tokens/ }).click()
    await page.getByRole("list", { name: "Steps of the turn" }).waitFor()
    assert.deepStrictEqual(visitor.complaints, [])
  })

  describe("another answer", () => {
    it("takes the place of the first one, which is kept as a thread that is one click away", async () => {
      await using visitor = await open("Again")
      const { page } = visitor
      await say(page, "What time is it?")
      await finished(page)
      const first = (await lastText(page).last().textContent()) ?? "?"
      const thread = shownThread(page)
      await lastAnswer(page).getByRole("button", { name: "Try again" }).click()
      await page.getByText("What was here before is kept").waitFor()
      await finished(page)
      await soon(page, async () => assert.strictEqual(await answers(page).count(), 1))
      await soon(page, async () => assert.strictEqual(await page.locator(".question").count(), 1))
      await soon(page, async () => assert.notStrictEqual(await lastText(page).last().textContent(), first))
      await soon(page, async () => assert.strictEqual(shownThread(page), thread))
      assert.deepStrictEqual(await faults(page), [], "kept")
      await page.getByRole("link", { name: "open it as it was" }).click()
      await lastText(page).last().filter({ hasText: first }).waitFor()
      await soon(page, async () => assert.notStrictEqual(shownThread(page), thread))
      await page.goBack()
      await answers(page).getByText(first).waitFor({ state: "detached" })
      assert.strictEqual((await caller(server)("GET", `/threads/${thread}`)).messages.length, 2)
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("is asked of another model", async () => {
      await using visitor = await open("Other")
      const { page } = visitor
      await say(page, "count to 5")
      await finished(page)
      await lastAnswer(page).getByRole("button", { name: "Other model" }).click()
      await page.getByRole("combobox", { name: "Another model" }).click()
      await page.getByRole("option", { name: "demo/demo-1" }).click()
      assert.deepStrictEqual(await faults(page), [], "other model")
      const [request] = await Promise.all([
        page.waitForRequest("**/regenerate"),
        page.getByRole("button", { name: "Ask it" }).click()
      ])
      assert.deepInclude(request.postDataJSON(), { llm_provider: "demo", model_name: "demo-1", stream: true })
      assert.isString(request.headers()["idempotency-key"])
      await page.getByText("What was here before is kept").waitFor()
      await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), "1 2 3 4 5"))
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("that the server refuses leaves the conversation as it was", async () => {
      await using visitor = await open("Refused")
      const { page } = visitor
      await say(page, "count to 2")
      await finished(page)
      await page.route("**/regenerate", (route) =>
        route.fulfill({ status: 409, contentType: "application/json", body: '{"detail":"A run is under way."}' })
      )
      await lastAnswer(page).getByRole("button", { name: "Try again" }).click()
      await page.getByRole("alert").getByText("A run is under way.").waitFor()
      await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), "1 2"))
      await soon(page, async () => assert.strictEqual(await page.locator(".question").count(), 1))
    })
  })

  it("sends an edited question in its place, with all that came after it kept", async () => {
    await using visitor = await open("Edit")
    const { page } = visitor
    await say(page, "count to 2")
    await finished(page)
    await say(page, "count to 3")
    await finished(page, 2)
    await page.locator(".question").first().hover()
    await page.getByRole("button", { name: "Edit your message" }).first().click()
    const field = page.getByRole("textbox", { name: "Text of your message" })
    await field.and(page.locator(":focus")).press("Escape")
    await field.waitFor({ state: "detached" })
    await page.getByRole("button", { name: "Edit your message" }).first().click()
    await field.fill("count to 7")
    assert.deepStrictEqual(await faults(page), [], "edit")
    await page.keyboard.press("Enter")
    await page.getByText("What was here before is kept").waitFor()
    await soon(page, async () =>
      assert.deepStrictEqual(await page.locator(".question p").allTextContents(), ["count to 7"])
    )
    await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), "1 2 3 4 5 6 7"))
    await page.reload()
    await finished(page)
    await soon(page, async () =>
      assert.deepStrictEqual(await page.locator(".question p").allTextContents(), ["count to 7"])
    )
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("forks at a message, names what it is a fork of, and rewinds with what follows kept", async () => {
    await using visitor = await open("Fork")
    const { page } = visitor
    for (const [index, to] of [2, 3, 4].entries()) {
      await say(page, `count to ${to}`)
      await finished(page, index + 1)
    }
    const thread = shownThread(page)
    await answers(page).first().hover()
    await answers(page).first().getByRole("button", { name: "Fork the conversation here" }).click()
    await page.getByRole("link", { name: "a fork of “count to 2”" }).waitFor()
    await soon(page, async () => assert.strictEqual(await answers(page).count(), 1))
    await soon(page, async () => assert.notStrictEqual(shownThread(page), thread))
    await page.getByRole("link", { name: "a fork of “count to 2”" }).click()
    await answers(page).nth(2).waitFor()
    await soon(page, async () => assert.strictEqual(shownThread(page), thread))
    await answers(page).nth(1).hover()
    await answers(page).nth(1).getByRole("button", { name: "Rewind to this answer" }).click()
    await page.getByText("What was here before is kept").waitFor()
    await soon(page, async () => assert.strictEqual(await answers(page).count(), 2))
    await page.getByRole("link", { name: "open it as it was" }).click()
    await answers(page).nth(2).waitFor()
    assert.deepStrictEqual(visitor.complaints, [])
  })

  describe("a call that needs an approval", () => {
    const approval = (page: Page) => page.getByRole("group", { name: "Approve" })

    it("stands in the conversation, is changed and approved, also after a reload", async () => {
      await using visitor = await open("Approver")
      const { page } = visitor
      await say(page, "Please use tools_echo")
      await approval(page).waitFor()
      await page.reload()
      await approval(page).waitFor()
      assert.deepStrictEqual(await faults(page), [], "approval")
      await approval(page).getByRole("button", { name: "Change the arguments" }).click()
      const field = approval(page).getByRole("textbox", { name: "Arguments of" })
      await field.and(page.locator(":focus")).fill("no object")
      await approval(page).getByRole("alert").getByText("must be a JSON object").waitFor()
      await soon(page, async () =>
        assert.isTrue(await approval(page).getByRole("button", { name: "Approve as changed" }).isDisabled())
      )
      await field.fill('{"text":"changed by hand"}')
      await approval(page).getByRole("button", { name: "Approve as changed" }).click()
      await lastText(page).last().filter({ hasText: "changed by hand" }).waitFor()
      await soon(page, async () => assert.strictEqual(await approval(page).count(), 0))
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("is rejected with a reason, which the model reads", async () => {
      await using visitor = await open("Rejecter")
      const { page } = visitor
      await say(page, "Please use tools_echo")
      await approval(page).getByRole("button", { name: "Reject" }).click()
      await approval(page).getByRole("textbox", { name: "Reason" }).fill("Ask the customer first")
      assert.deepStrictEqual(await faults(page), [], "reason")
      await page.keyboard.press("Enter")
      await lastText(page).last().filter({ hasText: "Ask the customer first" }).waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("that asks in its middle has a form for the answer", async () => {
      await using visitor = await open("Asked")
      const { page } = visitor
      await say(page, "Please use tools_echo")
      await approval(page).waitFor()
      const question = {
        message: "How many seats?",
        schema: {
          type: "object",
          properties: {
            seats: { type: "integer", title: "Seats" },
            window: { type: "boolean", title: "At the window" }
          },
          required: ["seats"]
        }
      }
      await page.route(`**/threads/${shownThread(page)}`, async (route) => {
        const answer = await route.fetch()
        const thread = await answer.json()
        for (const call of thread.messages.at(-1).tool_calls) call.question = question
        await route.fulfill({ response: answer, json: thread })
      })
      await page.reload()
      await approval(page).getByText("asks: How many seats?").waitFor()
      assert.deepStrictEqual(await faults(page), [], "question")
      await approval(page).getByRole("button", { name: "Answer" }).click()
      await approval(page).getByRole("alert").getByText("“Seats” is missing.").waitFor()
      await approval(page).getByLabel("Seats").fill("2")
      await approval(page).getByRole("checkbox", { name: "At the window" }).check()
      const [request] = await Promise.all([
        page.waitForRequest("**/approvals?*"),
        approval(page).getByRole("button", { name: "Answer" }).click()
      ])
      const [decision] = request.postDataJSON().approvals
      assert.deepInclude(decision, { decision: "approve", arguments: { seats: 2, window: true } })
    })

    it("that somebody else has decided is told truthfully, and the conversation is shown as it is", async () => {
      await using visitor = await open("Second")
      const { page } = visitor
      await say(page, "Please use tools_echo")
      await approval(page).waitFor()
      const call = caller(server)
      const { messages } = await call("GET", `/threads/${shownThread(page)}`)
      const { run_id, tool_calls } = messages.at(-1)
      const approvals = [{ tool_call_id: tool_calls[0].id, decision: "reject", reason: "too late" }]
      await call("POST", `/threads/${shownThread(page)}/runs/${run_id}/approvals`, { approvals })
      await approval(page).getByRole("button", { name: "Approve" }).click()
      const alert = page.getByRole("alert")
      await alert.getByText("Somebody else was first.").waitFor()
      await soon(page, async () =>
        assert.include(await alert.textContent(), "was rejected already. The first decision stands.")
      )
      await lastText(page).last().filter({ hasText: "too late" }).waitFor()
      await soon(page, async () => assert.strictEqual(await approval(page).count(), 0))
    })
  })

  it("numbers the excerpts of an answer, and opens the document at the place of each", async () => {
    await using visitor = await open("Reader")
    const { page } = visitor
    await page.getByRole("button", { name: "Who keeps the lighthouse?" }).click()
    await finished(page)
    const marker = lastText(page).getByRole("button", { name: "Excerpt 1: lighthouse.md" })
    await marker.waitFor()
    await soon(page, async () => assert.notInclude(await lastText(page).textContent(), "[d1]"))
    await page.getByRole("list", { name: "Excerpts" }).getByText("lighthouse.md").waitFor()
    await page.reload()
    await marker.click()
    const dialog = page.getByRole("dialog", { name: "lighthouse.md" })
    await dialog.locator("mark", { hasText: "Marguerite" }).waitFor()
    assert.deepStrictEqual(await faults(page), [], "document")
    await dialog.getByRole("button", { name: "Open the file" }).waitFor()
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "detached" })
    assert.deepStrictEqual(visitor.complaints, [])
  })
})
