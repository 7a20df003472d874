/** The studio's other rooms in a real browser: memories, voice sessions with a file as microphone, and features that the server lacks. */
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import {
  faults,
  finished,
  lastAnswer,
  makeAssistant,
  newThread,
  openRoom,
  say,
  soon,
  speakInto,
  visit
} from "./StudioVisit.ts"
import { caller, serverKey, startDemo } from "../../server/test/TestServer.ts"

/** A second of silence: frames of MPEG 1, layer 3, 128 kbit/s at 44.1 kHz. */
const silentMp3 = Buffer.concat(
  Array.from({ length: 40 }, () => Buffer.concat([Buffer.of(0xff, 0xfb, 0x90, 0x64), Buffer.alloc(413)]))
)

/** Waits until the meter of the voice room shows what is expected of the user (`heard`) or the assistant (`said`). */
const meter = async (page: Page, of: "heard" | "said", isSo: (loudness: number) => boolean): Promise<void> => {
  const read = `Number(document.querySelector(".disc").style.getPropertyValue("--${of}"))`
  await soon(page, async () => assert.isTrue(isSo(await page.evaluate<number>(read)), of))
}

const threadIn = (page: Page): string => new URL(page.url()).hash.split("/")[2] ?? ""

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let address = ""
  let folder = ""
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "studio-voice-"))
    server = await startDemo()
    browser = await launch([...(await speakInto(folder)), "--autoplay-policy=no-user-gesture-required"])
    address = `${server.url}/#key=${serverKey(server)}`
  })
  afterAll(async () => {
    await browser.close()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })

  describe("memories", () => {
    it("are learned and recalled in turns, and shown with where they come from; edited, searched, written and forgotten", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page, { name: "Ada" })
      await page.getByRole("button", { name: "Options" }).click()
      await page.getByRole("combobox", { name: "Memory" }).selectOption("Auto")
      await say(page, "I live in Oslo.")
      await finished(page)
      await page.getByRole("button", { name: "Look inside" }).click()
      const panel = page.getByRole("tabpanel")
      await panel.getByRole("heading", { name: "Learned" }).waitFor()
      await panel.getByText("The user lives in Oslo.").waitFor()
      await panel.getByText("new", { exact: true }).waitFor()
      await say(page, "Where do I live?")
      await finished(page, 2)
      await lastAnswer(page).getByText("1 memory").waitFor()
      await page.getByRole("button", { name: "Look inside" }).last().click()
      await panel.getByRole("heading", { name: "Recalled from memory" }).waitFor()
      await panel.getByText("The user lives in Oslo.").waitFor()

      await newThread(page)
      await openRoom(page, "Knowledge")
      await page.getByRole("link", { name: "Memories" }).click()
      const known = page.getByRole("region", { name: "Memories" })
      await known.getByRole("listitem").filter({ hasText: "The user lives in Oslo." }).waitFor()
      await known.getByRole("heading", { name: "Today" }).waitFor()
      await known.getByRole("link", { name: "learned in a turn" }).click()
      await page.locator(".question", { hasText: "I live in Oslo." }).waitFor()
      await panel.getByRole("heading", { name: "Learned" }).waitFor()
      await page.goBack()
      await known.getByRole("button", { name: "Edit memory The user lives in Oslo." }).click()
      await known.getByLabel("Text of the memory").fill("The user lives in Bergen.")
      await known.getByRole("button", { name: "Save", exact: true }).click()
      await known.getByText("The user lives in Bergen.").waitFor()
      await known.getByLabel("New memory").fill("The user plays chess.")
      await known.getByRole("button", { name: "Add" }).click()
      const chess = known.getByRole("listitem").filter({ hasText: "The user plays chess." })
      await chess.getByText("written by hand").waitFor()
      assert.deepStrictEqual(await faults(page), [], "memories")
      await known.getByLabel("Search memories").fill("chess")
      await known.getByText("The user lives in Bergen.").waitFor({ state: "detached" })
      await chess.getByRole("button", { name: "Forget memory" }).click()
      await known.getByLabel("Search memories").fill("")
      await known.getByRole("button", { name: "Forget everything" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Forget everything" }).click()
      await known.getByText("Nothing is remembered yet.").waitFor()
      const call = caller(server)
      const [assistant] = await call("GET", "/assistants")
      assert.strictEqual((await call("GET", `/assistants/${assistant.assistant_id}/memories`)).total_count, 0)
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("name the turns that said them again, each with the way to it", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page, { name: "Twice" })
      await page.getByRole("button", { name: "Options" }).click()
      await page.getByRole("combobox", { name: "Memory" }).selectOption("Auto")
      const panel = page.getByRole("tabpanel")
      for (const turn of [1, 2]) {
        await say(page, "I live in Lima.")
        await finished(page, turn)
        await page.getByRole("button", { name: "Look inside" }).last().click()
        await panel.getByRole("heading", { name: "Learned" }).waitFor()
        await panel.getByText(turn === 1 ? "The user lives in Lima." : "Nothing new.").waitFor()
      }
      await openRoom(page, "Knowledge")
      await page.getByRole("link", { name: "Memories" }).click()
      const memory = page.getByRole("region", { name: "Memories" }).getByRole("listitem")
      await memory.getByText("said again 1 time").waitFor()
      assert.deepStrictEqual(await faults(page), [], "said again")
      await memory.getByRole("link", { name: "Turn 1 that said it again" }).click()
      await page.locator(".question").nth(1).waitFor()
      const [, second] = (await caller(server)("GET", `/threads/${threadIn(page)}`)).messages.filter(
        ({ role }: { readonly role: string }) => role === "assistant"
      )
      await soon(page, async () => assert.strictEqual(new URL(page.url()).hash.split("/")[3], second.run_id))
      await panel.getByText("Nothing new.").waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })

  describe("documents", () => {
    const guide = "The lighthouse keeper of Fanø is called Marguerite.\n\nShe waters her tulips on Tuesdays."

    it("are attached by drop and by choice, read while one writes, and the excerpts that a turn used have file and place", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page, { name: "Reader" })
      const transfer = await page.evaluateHandle(
        `(() => { const data = new DataTransfer(); data.items.add(new File([${JSON.stringify(guide)}], "guide.md", { type: "text/markdown" })); return data })()`
      )
      await page.dispatchEvent(".talk", "drop", { dataTransfer: transfer })
      const attached = page.getByRole("list", { name: "Attached files" })
      await attached.getByText("guide.md").waitFor()
      const [chooser] = await Promise.all([
        page.waitForEvent("filechooser"),
        page.getByRole("button", { name: "Attach files" }).click()
      ])
      await chooser.setFiles({ name: "empty.txt", mimeType: "text/plain", buffer: Buffer.alloc(0) })
      await attached.getByRole("alert").waitFor()
      await attached.getByRole("button", { name: "Remove empty.txt" }).click()
      await attached.getByText("empty.txt").waitFor({ state: "detached" })
      await page.getByLabel("Message", { exact: true }).fill("Who keeps the lighthouse?")
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await finished(page)
      await page.locator(".question", { hasText: "guide.md" }).waitFor()
      await lastAnswer(page).locator(".chip", { hasText: "guide.md" }).waitFor()
      await page.getByRole("button", { name: "Look inside" }).click()
      const panel = page.getByRole("tabpanel")
      await panel.locator(".excerpts summary", { hasText: "guide.md" }).first().click()
      await panel.getByText("called Marguerite").waitFor()
      await page.reload()
      await page.locator(".question", { hasText: "guide.md" }).waitFor()
      assert.deepStrictEqual(
        visitor.complaints.filter((each) => !each.includes("422")),
        []
      )
    })

    it("of an assistant are added, shown with their status, and deleted", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page, { name: "Librarian" })
      await openRoom(page, "Knowledge")
      await page.getByRole("link", { name: "Documents" }).click()
      const list = page.getByRole("region", { name: "Of Librarian, for all its threads" })
      const add = async (name: string, mimeType: string, buffer: Buffer) => {
        const [chooser] = await Promise.all([
          page.waitForEvent("filechooser"),
          list.getByRole("button", { name: "Add files" }).click()
        ])
        await chooser.setFiles({ name, mimeType, buffer })
      }
      let isHeld = true
      await page.route("**/documents/*/status", async (route) => {
        if (!isHeld) return route.fallback()
        const answer = await route.fetch()
        const reading = { status: "processing", status_message: "Embedded 5 of 10 parts.", chunk_count: 10 }
        return route.fulfill({ response: answer, json: { ...(await answer.json()), ...reading } })
      })
      await add("guide.md", "text/markdown", Buffer.from(guide))
      await list.locator("[aria-current=step]", { hasText: "Vectors made" }).waitFor()
      await soon(page, async () =>
        assert.closeTo(Number(await list.getByRole("progressbar").getAttribute("value")), 2 / 3, 0.01)
      )
      assert.deepStrictEqual(await faults(page), [], "reading")
      isHeld = false
      await list.getByText("is read,").waitFor()
      await list.getByRole("button", { name: "Pieces of guide.md" }).click()
      await page.getByRole("dialog").getByText("Piece 1").waitFor()
      await page.getByRole("dialog").getByText("called Marguerite").waitFor()
      assert.deepStrictEqual(await faults(page), [], "pieces")
      await page.keyboard.press("Escape")
      await add("broken.pdf", "application/pdf", Buffer.from("%PDF-1.7 this is no PDF"))
      await list.getByText("could not be read").waitFor()
      assert.deepStrictEqual(await faults(page), [], "documents")
      await list.getByRole("button", { name: "Delete document broken.pdf" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Delete document" }).click()
      await list.getByText("broken.pdf").waitFor({ state: "detached" })
      const call = caller(server)
      const assistants: ReadonlyArray<{ readonly name: string; readonly assistant_id: string }> = await call(
        "GET",
        "/assistants"
      )
      const id = assistants.find(({ name }) => name === "Librarian")?.assistant_id ?? ""
      const kept: ReadonlyArray<{ readonly filename: string }> = await call("GET", `/assistants/${id}/documents`)
      assert.deepStrictEqual(
        kept.map(({ filename }) => filename),
        ["guide.md"]
      )
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })

  it("a picture that a tool made is shown from the service itself, also after a reload", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Painter" })
    await page.getByRole("button", { name: "Options" }).click()
    await page.getByRole("combobox", { name: "May make pictures with" }).click()
    await page.getByRole("listbox").getByRole("option").first().click()
    await say(page, "Please generate_image of a lighthouse")
    await finished(page)
    const isShown = async () =>
      assert.isAbove(await page.evaluate<number>(`document.querySelector(".media img")?.naturalWidth ?? 0`), 0)
    await soon(page, isShown)
    await page.reload()
    await soon(page, isShown)
    await soon(page, async () =>
      assert.match((await page.locator(".media img").getAttribute("src")) ?? "", /^\/api\/documents\//)
    )
    assert.deepStrictEqual(await faults(page), [])
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("a message is spoken while a button is held, and the answer is heard", async () => {
    const heard: Array<Buffer> = []
    const vendor = createServer((request, response) => {
      const pieces: Array<Buffer> = []
      request.on("data", (piece: Buffer) => pieces.push(piece))
      request.on("end", () => {
        if (request.url?.endsWith("/audio/transcriptions")) {
          heard.push(Buffer.concat(pieces))
          response.setHeader("content-type", "application/json").end(JSON.stringify({ text: "count to 3" }))
        } else if (request.url?.endsWith("/audio/speech")) {
          response.setHeader("content-type", "audio/mpeg").end(silentMp3)
        } else if (request.url?.endsWith("/embeddings")) {
          const embedding = Array.from({ length: 3072 }, () => 0.1)
          const answer = { data: [{ index: 0, embedding }], usage: { prompt_tokens: 1, total_tokens: 1 } }
          response.setHeader("content-type", "application/json").end(JSON.stringify(answer))
        } else {
          const models = ["gpt-4o-mini-transcribe", "gpt-4o-mini-tts"]
          const data = models.map((id) => ({ id, object: "model", created: 0, owned_by: "test" }))
          response.setHeader("content-type", "application/json").end(JSON.stringify({ object: "list", data }))
        }
      })
    })
    await new Promise<void>((resolve) => vendor.listen(0, "127.0.0.1", resolve))
    const bound = vendor.address()
    const port = typeof bound === "object" && bound !== null ? bound.port : 0
    const own = await startDemo({
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
      OPENAI_API_KEY: "key-of-the-test",
      DEFAULT_LLM_PROVIDER: "demo",
      DEFAULT_MODEL_NAME: "demo-1"
    })
    try {
      await using visitor = await visit(browser, `${own.url}/#key=${serverKey(own)}`)
      const { page } = visitor
      await makeAssistant(page, { name: "Ada" })
      await page.getByRole("button", { name: "Options" }).click()
      await page.getByLabel("Read answers aloud").check()
      const button = page.getByRole("button", { name: "Hold to talk" })
      // A file that is still on its way goes with what is said.
      let mayArrive: () => void = () => {}
      const isHeld = new Promise<void>((resolve) => (mayArrive = resolve))
      await page.route("**/documents", async (route) => {
        await isHeld
        await route.continue()
      })
      const [chooser] = await Promise.all([
        page.waitForEvent("filechooser"),
        page.getByRole("button", { name: "Attach files" }).click()
      ])
      await chooser.setFiles({ name: "guide.md", mimeType: "text/markdown", buffer: Buffer.from("Numbers.") })
      await page.getByRole("list", { name: "Attached files" }).getByText("guide.md").waitFor()
      await button.focus()
      const begun = page.evaluate(`new Promise((resolve) => {
        const { start } = MediaRecorder.prototype
        MediaRecorder.prototype.start = function () {
          this.addEventListener("start", () => resolve())
          start.call(this)
        }
      })`)
      await page.keyboard.down("Space")
      await begun
      // The microphone is heard in real time, and on a busy machine with gaps.
      await page.waitForTimeout(2000)
      const played = page.waitForResponse((response) => response.url().includes("/content"))
      await page.keyboard.up("Space")
      await page.getByRole("list", { name: "Waiting messages" }).getByText("Spoken message").waitFor()
      mayArrive()
      await page.locator(".question", { hasText: "count to 3" }).getByText("guide.md").waitFor()
      await finished(page)
      await soon(page, async () => assert.strictEqual(await lastAnswer(page).locator(".text").textContent(), "1 2 3"))
      assert.isTrue(heard.some((body) => body.includes("RIFF") && body.includes("WAVEfmt") && body.length > 16_000))
      assert.include([200, 206], (await played).status())
      await lastAnswer(page).getByRole("button", { name: "Hear it" }).waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    } finally {
      await own.stop()
      vendor.close()
    }
  })

  describe("a voice session", () => {
    it("hears the microphone with a ticket, speaks, can be interrupted, calls tools, and leaves messages on the thread", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      const keys: Array<string> = []
      page.on("websocket", (socket) => keys.push(socket.url()))
      await makeAssistant(page, { name: "Speaker" })
      await newThread(page)
      await openRoom(page, "Voice")
      await page.getByRole("button", { name: "Begin" }).click()
      const said = page.getByRole("list", { name: "What was said" })
      await said
        .getByText(/seconds of sound\)/u)
        .first()
        .waitFor()
      await said.getByText("Here it is again.").first().waitFor()
      await meter(page, "heard", (loudness) => loudness > 0.01)
      await meter(page, "said", (loudness) => loudness > 0.01)
      await page.getByRole("status").getByText("It speaks").waitFor()
      await page.getByText(/^\d.* m?s from the end of your words to its first sound/u).waitFor()
      await page.getByRole("button", { name: "Microphone is on" }).click()
      await page.getByRole("button", { name: "Microphone is off" }).waitFor()
      await page.getByLabel("Write instead of speaking").fill("What time is it?")
      await page.keyboard.press("Enter")
      await page.getByRole("list", { name: "Tool calls" }).getByText("server_clock").waitFor()
      await said.getByText("server_clock says:").waitFor()
      assert.deepStrictEqual(await faults(page), [], "voice")
      await page.getByRole("button", { name: "Interrupt" }).click()
      await meter(page, "said", (loudness) => loudness < 0.01)
      await page.getByRole("status").getByText("It listens").waitFor()
      await page.getByRole("button", { name: "End", exact: true }).click()
      await page.getByText("What was said is on the thread.").waitFor()
      await page.getByRole("button", { name: "Back to the thread" }).click()
      await page.locator(".question", { hasText: "What time is it?" }).waitFor()
      await page.locator(".question", { hasText: "seconds of sound" }).first().waitFor()
      // A session is no run, and has the inspector of one. The demo's voice tells no times.
      const spoken = page.locator(".answer", { hasText: "server_clock" }).last()
      const inside = page.getByRole("complementary", { name: "Inside the turn" })
      await spoken.getByRole("button", { name: "Look inside" }).click()
      await inside.getByText("The voice of this answer tells no times.").waitFor()
      assert.strictEqual(await inside.locator(".film").count(), 0)
      await page.goBack()
      await inside.waitFor({ state: "detached" })
      await page.route("**/threads/*", async (route) => {
        const answer = await route.fetch()
        const thread = await answer.json()
        const times = {
          pause_ms: 300,
          transcript_ms: 120,
          first_token_ms: 240,
          first_sentence_ms: 920,
          first_sound_ms: 1840
        }
        for (const message of thread.messages ?? [])
          if (message.role === "assistant") message.metadata_ = { ...message.metadata_, voice_times: times }
        await route.fulfill({ response: answer, json: thread })
      })
      await page.reload()
      await spoken.getByRole("button", { name: "Look inside: 1.8 s" }).click()
      await soon(page, async () =>
        assert.deepStrictEqual(await inside.locator(".film .lane-name").allTextContents(), ["hear", "model", "speak"])
      )
      assert.deepStrictEqual(await inside.getByRole("tab").allInnerTexts(), ["Turn"])
      const mark = await inside.locator(".film .first-token").getAttribute("style")
      assert.match(mark ?? "", /left: 13\.0/u)
      await inside.locator(".facts div", { hasText: "First sound" }).getByText("1.84 s").waitFor()
      const steps = inside.getByRole("list", { name: "Steps of the turn" })
      await steps.getByRole("button", { name: "Hear" }).click()
      await inside.getByRole("region", { name: "Step 1" }).getByText("What time is it?").waitFor()
      await inside.locator(".film .lane-speak .frame").click()
      await inside.getByRole("region", { name: "Step 3" }).getByText("server_clock says:").waitFor()
      await steps.getByRole("button", { name: "server_clock" }).click()
      await inside.getByText("Received from server_clock").waitFor()
      // The time of a call is not known: it has no bar.
      assert.strictEqual(await steps.locator(".track").count(), 3)
      assert.deepStrictEqual(await faults(page), [], "inside a spoken turn")
      await page.reload()
      await inside.getByText("Received from server_clock").waitFor()
      await page.goBack()
      await inside.waitFor({ state: "detached" })
      assert.isAtLeast(keys.length, 1)
      for (const each of keys) {
        assert.include(each, "?ticket=")
        assert.notInclude(each, serverKey(server))
      }
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })
})
