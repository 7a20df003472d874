/** Tests of answers in the studio: from a stored turn to a case, an experiment with two variants, its comparison, and back to the turn. */
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { once } from "node:events"
import * as Http from "node:http"
import type { Browser, Page } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import { caller, serverKey, startDemo } from "../../server/test/TestServer.ts"
import { faults, finished, lastAnswer, makeAssistant, openRoom, say, soon, visit } from "./StudioVisit.ts"

/** A vendor whose answers follow the instructions: with "Look it up" it knows days, with "Wait" it answers when it is let go. */
const openVendor = async () => {
  const waiting: Array<() => void> = []
  const server = Http.createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece))
    request.on("end", () => {
      if (request.url !== "/chat/completions") {
        response.writeHead(404, { "content-type": "application/json" }).end("{}")
        return
      }
      const system = /Look it up|Wait/.exec(text)?.[0]
      const answer = () => {
        const content = system === "Look it up" ? "It arrives on Friday." : "I do not know when it arrives."
        response.writeHead(200, { "content-type": "text/event-stream" })
        const write = (body: object) =>
          response.write(`data: ${JSON.stringify({ id: "c", model: "acme/talk", ...body })}\n\n`)
        write({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })
        write({
          choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
          usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.01 }
        })
        response.end("data: [DONE]\n\n")
      }
      if (system === "Wait") waiting.push(answer)
      else answer()
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    baseUrl: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    letGo: () => {
      for (const answer of waiting.splice(0)) answer()
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let vendor: Awaited<ReturnType<typeof openVendor>>
  let address = ""
  let call: ReturnType<typeof caller>
  beforeAll(async () => {
    vendor = await openVendor()
    server = await startDemo({
      OPENROUTER_API_KEY: "sk-or",
      OPENROUTER_BASE_URL: vendor.baseUrl,
      ONLINE_SCORING: JSON.stringify({ share: 1, expectations: [{ kind: "contains", text: "2" }] })
    })
    browser = await launch()
    address = `${server.url}/#key=${serverKey(server)}`
    call = caller(server)
  })
  afterAll(async () => {
    await browser.close()
    await server.stop()
    await vendor.close()
  })

  const dialog = (page: Page) => page.getByRole("dialog")

  it("keeps a turn as a case, whose expectations are changed, and copies it as a test", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Kept" })
    await say(page, "count to 3")
    await finished(page)
    await lastAnswer(page).getByRole("button", { name: "Keep as test" }).click()
    await dialog(page).getByLabel("Name", { exact: true }).fill("counts")
    await dialog(page).getByLabel("Tags").fill("numbers, short")
    await dialog(page).getByRole("button", { name: "Keep", exact: true }).click()
    await dialog(page).getByRole("alert").getByText("“Text” is missing.").waitFor()
    await dialog(page).getByLabel("Text").fill("1 2 3")
    assert.deepStrictEqual(await faults(page), [], "keep as test")
    await dialog(page).getByRole("button", { name: "Keep", exact: true }).click()
    await dialog(page).getByRole("link", { name: "Open it in Tests" }).click()

    const form = page.getByRole("form", { name: "Case" })
    await form.getByRole("group", { name: "Expectation 1" }).getByLabel("Text").waitFor()
    await soon(page, async () => assert.match(new URL(page.url()).hash, /^#\/tests\/cases\/[0-9a-f-]{36}$/))
    await form.getByRole("button", { name: "Expect something more" }).click()
    await form.getByRole("combobox", { name: "Kind of expectation 2" }).selectOption("calls_none")
    await form.getByRole("button", { name: "Save" }).click()
    await form.getByText("Saved").waitFor()
    const { cases } = await call("GET", "/evals/cases?tag=numbers")
    assert.deepStrictEqual(
      cases.map(({ expectations, name, question, tags }: Record<string, unknown>) => ({
        expectations,
        name,
        question,
        tags
      })),
      [
        {
          name: "counts",
          question: "count to 3",
          tags: ["numbers", "short"],
          expectations: [{ text: "1 2 3", kind: "contains" }, { kind: "calls_none" }]
        }
      ]
    )
    await form.getByRole("button", { name: "Copy as Vitest" }).click()
    await form.getByText("1 2 3").first().waitFor()
    await soon(page, async () => assert.match((await form.locator("pre").textContent()) ?? "", /from "vitest"/))
    assert.deepStrictEqual(await faults(page), [], "case")
    await page.getByRole("link", { name: "numbers" }).first().click()
    await page.getByText("With the tag").waitFor()
    await page.goBack()
    await form.waitFor()
    await form.getByRole("button", { name: "Delete" }).click()
    await dialog(page).getByRole("button", { name: "Delete case" }).click()
    await form.waitFor({ state: "detached" })
    assert.deepStrictEqual((await call("GET", "/evals/cases")).cases, [])
    assert.deepStrictEqual(visitor.complaints, [])
  })

  describe("an experiment", () => {
    it("answers cases by two variants, and shows the worst first, the words that differ, and the comparison", async () => {
      const { assistant_id } = await call("POST", "/assistants", {
        name: "Shop",
        llm_provider: "router",
        model_name: "acme/talk",
        system_prompt: "Look it up."
      })
      const expectations = [{ kind: "contains", text: "Friday" }]
      for (let order = 1; order <= 7; order++) {
        await call("POST", "/evals/cases", {
          question: `Where is order ${order}?`,
          name: `order ${order}`,
          assistant_id,
          tags: ["shop"],
          expectations
        })
      }
      await call("POST", "/evals/cases", {
        question: "متى يصل الطلب؟",
        name: "تحية",
        assistant_id,
        tags: ["shop"],
        expectations: [{ kind: "contains", text: "arrives" }]
      })
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await openRoom(page, "Tests")
      await page.getByRole("link", { name: "shop" }).first().click()
      await page.getByRole("link", { name: "Try them" }).click()
      const form = page.getByRole("form", { name: "New experiment" })
      await form.getByText("It tries 8 cases with the tag “shop”").waitFor()
      await form.getByRole("group", { name: "Variant 2" }).getByLabel("Instructions").fill("Guess.")
      assert.deepStrictEqual(await faults(page), [], "new experiment")
      await form.getByRole("button", { name: "Begin" }).click()

      await page.getByText("16 of 16 attempts").waitFor()
      const comparison = page.getByRole("region", { name: "Comparison" })
      await comparison.getByText("likely not chance").waitFor()
      const variants = page.getByRole("list", { name: "Variants" })
      await variants.getByText("100 % passed, 68 % to 100 %").waitFor()
      await variants.getByText("13 % passed").waitFor()
      const lines = page.getByRole("group", { name: "Cases by variant" }).getByRole("row")
      await soon(page, async () =>
        assert.deepStrictEqual(
          (await lines.getByRole("rowheader").allTextContents()).slice(-2),
          ["order 7", "تحية"],
          "the worst first"
        )
      )
      await lines.getByRole("link", { name: "order 3" }).click()
      const both = page.getByRole("region", { name: "Answers to order 3" })
      await both.locator("ins", { hasText: "I do not know when" }).waitFor()
      await both.locator("del", { hasText: "on Friday." }).waitFor()
      await both.getByText("Where is order 3?").waitFor()
      assert.deepStrictEqual(await faults(page), [], "experiment")
      for (const { height, what, width } of [
        { what: "zoomed", width: 640, height: 400 },
        { what: "phone", width: 390, height: 844 }
      ]) {
        await page.setViewportSize({ width, height })
        await page.emulateMedia({ colorScheme: "dark" })
        await soon(page, async () =>
          assert.isAtMost(await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth"), 0, what)
        )
        assert.deepStrictEqual(await faults(page), [], what)
      }
      const direction = `getComputedStyle([...document.querySelectorAll(".matrix th[scope=row]")].at(-1)).direction`
      await soon(page, async () => assert.strictEqual(await page.evaluate<string>(direction), "rtl"))
      const there = page.url()
      await page.goto("about:blank")
      await page.goto(there)
      await both.getByText("Where is order 3?").waitFor()
      await both.getByRole("button", { name: "Close the answers" }).click()
      await both.waitFor({ state: "detached" })
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("asks a judge, of whose answers a person tells the truth, from which its calibration is made", async () => {
      const { assistant_id } = await call("POST", "/assistants", { name: "Judged" })
      const { case_id } = await call("POST", "/evals/cases", {
        assistant_id,
        question: "count to 3",
        name: "counting",
        expectations: [{ kind: "judge", question: "Is it urgent?", at_least: 0 }]
      })
      const { experiment_id } = await call("POST", "/evals/experiments", {
        case_ids: [case_id],
        variants: [{ name: "now" }]
      })
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await page.locator("main .composer").waitFor()
      await page.goto(`${server.url}/#/tests/experiments/${experiment_id}`)
      await page.getByText("1 of 1 attempt").waitFor()
      const judges = page.getByRole("region", { name: "Judges" })
      await judges.getByText("Nobody has said yet what is true.").waitFor()
      await page.getByRole("link", { name: "counting" }).click()
      const scores = page.getByRole("list", { name: "Scores of now" })
      const truth = scores.getByRole("group", { name: /^What turned out for .*Is it urgent\?/ })
      await truth.getByRole("button", { name: "No", exact: true }).click()
      await truth.getByText("Told").waitFor()
      assert.deepStrictEqual(await faults(page), [], "judge")
      await judges.getByText("Against 1 outcome that persons told").waitFor()
      const came = judges.getByRole("row").last().getByRole("cell")
      await soon(page, async () => assert.match((await came.nth(1).textContent()) ?? "", /\b0 %/))
      // A second word replaces the first one.
      await truth.getByRole("button", { name: "Yes", exact: true }).click()
      await judges.getByRole("row").last().getByText("100 %").waitFor()
      await judges.getByText("Against 1 outcome that persons told").waitFor()
      // What was told is read back.
      await page.reload()
      await truth.getByRole("button", { name: "Yes", exact: true, pressed: true }).waitFor()
      await truth.getByText("Told").waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("tells how far it is, is cancelled, and goes on", async () => {
      const { assistant_id } = await call("POST", "/assistants", {
        name: "Slow",
        llm_provider: "router",
        model_name: "acme/talk",
        system_prompt: "Wait."
      })
      for (const question of ["One?", "Two?"])
        await call("POST", "/evals/cases", { question, assistant_id, tags: ["slow"] })
      await using visitor = await visit(browser, `${server.url}/#/tests/experiments/new/slow`)
      const { page } = visitor
      await page.evaluate(`localStorage.setItem("colloquy-key", ${JSON.stringify(serverKey(server))})`)
      await page.reload()
      const form = page.getByRole("form", { name: "New experiment" })
      await form.getByRole("button", { name: "Remove variant 2" }).click()
      await form.getByRole("button", { name: "Begin" }).click()
      await page.getByText("0 of 2 attempts").waitFor()
      await page.getByRole("button", { name: "Cancel", exact: true }).click()
      await page.getByText("cancelled", { exact: true }).waitFor()
      await page.getByRole("button", { name: "Go on" }).click()
      await page.getByText("runs", { exact: true }).waitFor()
      await soon(page, async () => {
        vendor.letGo()
        assert.isTrue(await page.getByText("2 of 2 attempts").isVisible())
      })
      await page.getByText("done", { exact: true }).waitFor()
      await page.getByRole("link", { name: "All experiments" }).click()
      await page.getByRole("list", { name: "Experiments" }).getByText("2 of 2 attempts").waitFor()
      assert.deepStrictEqual(await faults(page), [], "experiments")
    })
  })

  it("takes thumbs with a reason, which lead from the list to the turn and to a test", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Judged" })
    await say(page, "count to 2")
    await finished(page)
    const bad = lastAnswer(page).getByRole("button", { name: "Bad answer" })
    await bad.click()
    await lastAnswer(page).getByLabel("What was wrong?").fill("It stops too early.")
    await lastAnswer(page).getByRole("button", { name: "Tell" }).click()
    await lastAnswer(page).getByLabel("What was wrong?").waitFor({ state: "detached" })
    assert.deepStrictEqual(await faults(page), [], "thumbs")
    await page.reload()
    await lastAnswer(page).locator("[aria-label='Bad answer'][aria-pressed=true]").waitFor()
    const { feedback } = await call("GET", "/evals/feedback")
    assert.deepInclude(feedback[0], { score: -1, comment: "It stops too early." })
    await openRoom(page, "Tests")
    await page.getByRole("link", { name: "Feedback" }).click()
    const list = page.getByRole("list", { name: "Feedback" })
    await list.getByText("It stops too early.").waitFor()
    assert.deepStrictEqual(await faults(page), [], "feedback")
    await list.getByRole("button", { name: "Keep as test" }).click()
    await dialog(page).getByLabel("Text").fill("3")
    await dialog(page).getByRole("button", { name: "Keep", exact: true }).click()
    await dialog(page).getByText("Kept as a case.").waitFor()
    await dialog(page).getByRole("button", { name: "Done" }).click()
    await list.getByRole("link", { name: "Open the conversation" }).click()
    await lastAnswer(page).getByText("1 2").waitFor()
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("shows how turns were scored when they had ended, by version and by day", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Sampled" })
    await say(page, "count to 2")
    await finished(page)
    const isScored = async () => {
      const { versions } = await call("GET", "/evals/online")
      const { assistant_id } = (await call("GET", "/assistants")).find(
        ({ name }: { readonly name: string }) => name === "Sampled"
      )
      return versions.some((each: { readonly assistant_id: string }) => each.assistant_id === assistant_id)
    }
    await soon(page, async () => assert.isTrue(await isScored()))
    await openRoom(page, "Tests")
    await page.getByRole("link", { name: "Online" }).click()
    await page.getByText("100 % of all turns are scored when they have ended: contains a text “2”.").waitFor()
    const versions = page.getByRole("group", { name: "By version" })
    await versions.getByRole("row").filter({ hasText: "Sampled, version 1" }).getByText("100 %").first().waitFor()
    await page.getByRole("group", { name: "By day" }).getByText("Sampled").waitFor()
    assert.deepStrictEqual(await faults(page), [], "online")
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("tells what typed answers came true, question by question", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Sure" })
    await page.getByRole("button", { name: "Options" }).click()
    await page.getByLabel("Ask typed questions").check()
    await say(page, "My parcel is late and I need it today!")
    const urgent = page.getByRole("group", { name: "What turned out for urgent" })
    await urgent.getByRole("button", { name: "Yes" }).click()
    await urgent.getByText("Told").waitFor()
    assert.deepStrictEqual(await faults(page), [], "outcome")
    await page.reload()
    await urgent.getByRole("button", { name: "Yes", pressed: true }).waitFor()
    await urgent.getByText("Told").waitFor()
    await openRoom(page, "Tests")
    await page.getByRole("link", { name: "Calibration" }).click()
    const questions = page.getByRole("list", { name: "Questions" })
    await questions.getByRole("heading", { name: "urgent" }).waitFor()
    await questions.getByText("of 1 case").waitFor()
    assert.deepStrictEqual(await faults(page), [], "calibration")
    assert.deepStrictEqual(visitor.complaints, [])
  })
})
