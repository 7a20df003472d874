/** The rooms that look at runs in a real browser: the list as it changes, what waits for a person, and the film of a turn. */
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { fileURLToPath } from "node:url"
import type { Browser, Page } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import { caller, serverKey, startDemo } from "../../server/test/TestServer.ts"
import { choose, faults, openRoom, pageWork, soon, visit } from "./StudioVisit.ts"

/** A tool server whose echo waits for an approval. */
const desk = {
  command: process.execPath,
  args: [
    "--conditions=colloquy-source",
    fileURLToPath(new URL("../../adapters/test/mcp/ToolServerProcess.ts", import.meta.url))
  ],
  approval: ["echo"]
}

const weather = { type: "function", function: { name: "get_weather", description: "the weather of a city" } }

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let address = ""
  let assistantId = ""
  let call: ReturnType<typeof caller>
  beforeAll(async () => {
    server = await startDemo({ MCP_SERVERS: JSON.stringify({ desk }) })
    browser = await launch()
    address = `${server.url}/#key=${serverKey(server)}`
    call = caller(server)
    assistantId = (await call("POST", "/assistants", { name: "Ada", tools: [weather] })).assistant_id
  })
  afterAll(async () => {
    await browser.close()
    await server.stop()
  })

  /** A turn of another client, on a thread of its own. */
  const ask = async (title: string, content: string, more: object = {}) => {
    const { thread_id } = await call("POST", `/assistants/${assistantId}/threads`, { metadata: { title } })
    return call("POST", `/threads/${thread_id}/messages`, { content, ...more })
  }
  const row = (page: Page, title: string) => page.getByRole("row").filter({ hasText: title })

  describe("runs", () => {
    it("appear and change while one looks, are filtered, summed, and opened beside the list; Back closes", async () => {
      await ask("Counting", "count to 3")
      await using visitor = await visit(browser, address, { viewport: { width: 1440, height: 900 } })
      const { page } = visitor
      await openRoom(page, "Runs")
      await row(page, "Counting").getByText("done").waitFor()
      await soon(page, async () => assert.include(await page.title(), "Runs"))
      const long = ask("Long", "count to 300")
      await row(page, "Long").getByText("at work").waitFor()
      await row(page, "Long").getByRole("button", { name: "Cancel the run of Long" }).click()
      await row(page, "Long").getByText("cancelled").waitFor()
      assert.strictEqual((await long).status, "CANCELLED")

      await page.getByLabel("State", { exact: true }).selectOption("cancelled")
      await row(page, "Counting").waitFor({ state: "detached" })
      await row(page, "Long").getByText("cancelled").waitFor()
      await soon(page, async () =>
        assert.strictEqual(await page.locator(".figures div").first().innerText(), "Runs\n1")
      )
      await page.getByLabel("Words, model or id").fill("nowhere")
      await page.getByText("No run fits these filters.").waitFor()
      await page.reload()
      await page.getByText("No run fits these filters.").waitFor()
      await page.getByRole("link", { name: "Show all of this week" }).click()
      await page.getByRole("list", { name: "Runs by day" }).waitFor()

      await row(page, "Counting").getByRole("link").click()
      await page.getByRole("list", { name: "Steps of the turn" }).getByText("Settle").waitFor()
      assert.deepStrictEqual(await faults(page), [], "runs beside the inspector")
      await page.getByRole("button", { name: "Close the panel" }).click()
      await page.locator("tr.current").waitFor({ state: "detached" })
      await row(page, "Counting").getByText("demo-1").click()
      await page.locator("tr.current", { hasText: "Counting" }).waitFor()
      await page.goBack()
      await page.locator("tr.current").waitFor({ state: "detached" })
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("that wait for a person stand first: approved with other arguments, rejected with a reason, answered by hand", async () => {
      await ask("Approve me", "Please use desk_echo")
      await ask("Reject me", "Please use desk_echo")
      await ask("Answer me", "Please get_weather for Oslo")
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await openRoom(page, "Runs")
      await page.getByRole("heading", { name: "3 runs wait for you" }).waitFor()
      assert.deepStrictEqual(await faults(page), [], "inbox")
      // Two at once, so that the list of all runs is not pushed away.
      await soon(page, async () => assert.strictEqual(await page.getByRole("article", { name: /^Run of/ }).count(), 2))
      await page.getByRole("button", { name: "Show all 3" }).click()
      const approved = page.getByRole("article", { name: "Run of Approve me" })
      await approved.getByRole("button", { name: "Change the arguments" }).click()
      await approved.getByRole("textbox", { name: "Arguments of desk_echo" }).fill("{ not JSON")
      await approved.getByText("The arguments must be a JSON object.").waitFor()
      await soon(page, async () => assert.isTrue(await approved.getByRole("button", { name: "Approve" }).isDisabled()))
      await approved.getByRole("textbox", { name: "Arguments of desk_echo" }).fill('{ "text": "hello from a person" }')
      await approved.getByRole("button", { name: "Approve as changed" }).click()
      await approved.waitFor({ state: "detached" })
      const rejected = page.getByRole("article", { name: "Run of Reject me" })
      await rejected.getByRole("button", { name: "Reject", exact: true }).click()
      await rejected.getByLabel("Reason, which the model reads").fill("not today")
      await rejected.getByRole("button", { name: "Reject it" }).click()
      await rejected.waitFor({ state: "detached" })
      const answered = page.getByRole("article", { name: "Run of Answer me" })
      await answered.getByRole("textbox", { name: "Result of get_weather" }).fill("It rains.")
      await answered.getByRole("button", { name: "Send the results" }).click()
      await answered.waitFor({ state: "detached" })
      const { runs } = await call("GET", "/runs")
      const read = async (title: string): Promise<string> => {
        const threads: ReadonlyArray<{ readonly thread_id: string; readonly metadata_: { readonly title: string } }> =
          await call("GET", "/threads?include_messages=false")
        const thread = threads.find(({ metadata_ }) => metadata_.title === title)
        return JSON.stringify((await call("GET", `/threads/${thread?.thread_id}`)).messages)
      }
      assert.include(await read("Approve me"), "hello from a person")
      assert.include(await read("Reject me"), "not today")
      assert.include(await read("Answer me"), "It rains.")
      assert.isTrue(runs.every(({ status }: { readonly status: string }) => status !== "REQUIRES_ACTION"))
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })

  describe("the film of a turn", () => {
    it("is dragged through the conversation, and each step has what was sent and received, with a request to copy", async () => {
      const { run_id, thread_id } = await ask("Film", "What time is it?")
      await using visitor = await visit(browser, address, { viewport: { width: 1440, height: 900 } })
      const { page } = visitor
      await openRoom(page, "Runs")
      await page.goto(`${server.url}/#/runs/${run_id}/${thread_id}`)
      const steps = page.getByRole("list", { name: "Steps of the turn" })
      await steps.getByText("Settle").waitFor()
      const instant = page.getByRole("slider", { name: "Instant of the turn" })
      const moment = page.getByRole("region", { name: "The conversation at this instant" })
      await instant.focus()
      await page.keyboard.press("Home")
      await moment.getByText("What time is it?").waitFor()
      await soon(page, async () => assert.strictEqual(await moment.locator(".moment-answer").count(), 0))
      await page.keyboard.press("End")
      await moment.getByText("server_clock says").waitFor()
      const strip = await page.locator(".film-lanes").boundingBox()
      assert.isNotNull(strip)
      const { height, width, x, y } = strip ?? { x: 0, y: 0, width: 0, height: 0 }
      // A drag that begins beside a step: below the lanes there is none.
      await page.mouse.move(x + width - 2, y + height - 4)
      await page.mouse.down()
      await page.mouse.move(x + 1, y + height - 4, { steps: 4 })
      await page.mouse.up()
      await moment.getByText("server_clock says").waitFor({ state: "detached" })
      await instant.focus()
      await page.keyboard.press("End")
      await moment.getByText("server_clock says").waitFor()
      // One that begins on the last call of the model moves the head too, and chooses no step at its end.
      const frames = page.locator(".lane-model .frame")
      const last = await frames.last().boundingBox()
      assert.isNotNull(last)
      const { x: left, y: top } = last ?? { x: 0, y: 0 }
      await page.mouse.move(left + 4, top + 3)
      await page.mouse.down()
      await page.mouse.move(x + 1, top + 3, { steps: 6 })
      await moment.getByText("server_clock says").waitFor({ state: "detached" })
      await page.mouse.up()
      await soon(page, async () => assert.strictEqual(await moment.locator(".moment-answer").count(), 0))
      // A press that hardly moves is a click: it chooses the step.
      await page.mouse.move(left + 4, top + 3)
      await page.mouse.down()
      await page.mouse.move(left + 6, top + 3)
      await page.mouse.up()
      await page.getByRole("region", { name: "Step 4" }).waitFor()
      await moment.getByText("server_clock says").waitFor()

      await steps.getByText("Tool").click()
      const detail = page.getByRole("region", { name: "Step 3" })
      await detail.getByText("Received from server_clock").waitFor()
      await detail.getByText("(UTC)").waitFor()
      await detail.getByText("Raw events").click()
      await detail.getByText("tool_call_ready").waitFor()
      assert.deepStrictEqual(await faults(page), [], "tool step")
      await page.keyboard.press("Escape")
      await steps.getByRole("button", { name: "Tool" }).focus()
      await page.keyboard.press("ArrowDown")
      const model = page.getByRole("region", { name: "Step 4" })
      await model.getByText("by the provider").waitFor()
      await model.getByText("As a request").click()
      await model.getByText("$COLLOQUY_API_KEY").first().waitFor()
      await soon(page, async () => assert.include(await model.innerText(), "$COLLOQUY_API_KEY"))
      await soon(page, async () => assert.notInclude(await model.innerText(), serverKey(server)))
      await model.getByRole("button", { name: /All .* messages of the prompt/u }).click()
      const panel = page.getByRole("tabpanel")
      await panel.getByLabel("Model call").waitFor()
      await soon(page, async () => assert.strictEqual(await panel.getByLabel("Model call").inputValue(), "1"))
      await panel.getByText("2 new").waitFor()
      await panel.getByText("The provider counted").waitFor()
      assert.deepStrictEqual(await faults(page), [], "prompt")
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("follows a turn that is under way", async () => {
      await using visitor = await visit(browser, address, { viewport: { width: 1440, height: 900 } })
      const { page } = visitor
      await openRoom(page, "Runs")
      const answer = ask("Under way", "count to 900")
      await row(page, "Under way").getByRole("link").click()
      const panel = page.getByRole("tabpanel")
      await panel.getByText("in progress").waitFor()
      await panel.getByText("under way").waitFor()
      await row(page, "Under way").getByRole("button", { name: "Cancel the run of Under way" }).click()
      await panel.getByText("cancelled", { exact: true }).waitFor()
      assert.strictEqual((await answer).status, "CANCELLED")
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("of two hundred steps answers each key within 100 ms", async () => {
      await using visitor = await visit(browser, address, { viewport: { width: 1440, height: 900 } })
      const { page } = visitor
      await page.locator("main .composer").waitFor()
      const [chooser] = await Promise.all([page.waitForEvent("filechooser"), choose(page, "Open a shared turn")])
      await chooser.setFiles({ name: "turn.json", mimeType: "application/json", buffer: Buffer.from(longTurn(200)) })
      await page.getByRole("button", { name: "Look inside" }).first().click()
      const steps = page.getByRole("list", { name: "Steps of the turn" })
      await steps.getByRole("button").nth(199).waitFor()
      await soon(page, async () => assert.strictEqual(await steps.getByRole("button").count(), 200))
      await steps.getByRole("button").first().focus()
      const work = await pageWork(page, () => page.evaluate(pressKeys))
      assert.isBelow(work / 20, 100)
    })
  })
})

/** Presses the key 20 times, each after the frame of the one before. Runs in the page. */
const pressKeys = `(async () => {
  for (let key = 0; key < 20; key++) {
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true, cancelable: true }))
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
  }
})()`

/** A shared turn in which a model calls a tool again and again. */
const longTurn = (length: number): string => {
  const at = (step: number) => new Date(Date.parse("2026-03-20T10:00:00.000Z") + step * 100).toISOString()
  const place = { thread_id: "t", assistant_id: "a", run_id: "r" }
  const steps = Array.from({ length }, (_, index) => ({
    kind: index % 2 === 0 ? "model" : "tool",
    name: index % 2 === 0 ? "demo-1" : "clock",
    tool_call_id: index % 2 === 0 ? null : `call-${index}`,
    started_at: at(index),
    ended_at: at(index + 1),
    input_tokens: index % 2 === 0 ? 100 : null,
    output_tokens: index % 2 === 0 ? 10 : null,
    cost_usd: null
  }))
  const events: Array<object> = [
    { type: "user_message", message_id: "m0", content: "Work on it.", role: "user" },
    { type: "run_started", message_id: "m1", model_provider: "demo", model_name: "demo-1" }
  ]
  for (let index = 0; index < length; index += 2) {
    for (let word = 0; word < 20; word++) events.push({ type: "content_streaming", content: `word ${word} ` })
    const tool_call = { id: `call-${index + 1}`, type: "function", function: { name: "clock", arguments: "{}" } }
    events.push({ type: "tool_call_ready", tool_call })
  }
  const message = (index: number) => ({
    role: index % 2 === 0 ? "assistant" : "tool",
    text: `message ${index} `.repeat(20)
  })
  const prompts = Array.from({ length: length / 2 }, (_, call) => ({
    estimated_tokens: call * 50,
    input_tokens: call * 50,
    parts: [
      {
        part: "turn",
        estimated_tokens: call * 50,
        messages: Array.from({ length: call * 2 }, (_each, index) => message(index))
      }
    ]
  }))
  const run = {
    ...place,
    status: "COMPLETED",
    model_provider: "demo",
    model_name: "demo-1",
    sequence: events.length,
    input_tokens: 1,
    output_tokens: 1,
    total_tokens: 2,
    cost_usd: null,
    usage_estimated: false,
    error: null,
    ignored_options: [],
    prompt: null,
    created_at: at(0),
    started_at: at(0),
    ended_at: at(length)
  }
  return JSON.stringify({
    kind: "colloquy-turn",
    version: 1,
    saved_at: at(0),
    assistant: { name: "Ada", system_prompt: null, llm_provider: null, model_name: null, tools: null },
    messages: [
      { message_id: "m0", role: "user", content: "Work on it.", status: "COMPLETED", run_id: "r", created_at: at(0) }
    ],
    turn: {
      threadId: "t",
      runId: "r",
      run,
      inspection: { run_id: "r", steps, failures: [], charges: [], prompts, helpers: [] },
      log: events.map((event, index) => ({ at: null, event: { ...event, ...place, sequence: index + 1 } }))
    }
  })
}
