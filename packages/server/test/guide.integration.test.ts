/** The guide as the server shows it: every page, every link and every anchor; its search; and its accessibility in a browser. */
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../src/Server.ts"
import { faults, soon, visit } from "../../studio/test/StudioVisit.ts"
import { startDemo } from "./TestServer.ts"

/** Questions as a person types them, by the page that must be found first. */
const questions: Readonly<Record<string, ReadonlyArray<string>>> = {
  express: [
    "express streaming",
    "how to stream an answer into express",
    "add ai chat to my express server",
    "sse express middleware"
  ],
  cookbook: ["example app to copy"],
  "without-effect": ["use without effect promises"],
  testing: [
    "unit test with a fake model",
    "how do I test a conversation",
    "mock the llm in tests",
    "vitest fake timers conversation"
  ],
  migration: [
    "openai assistants api migration",
    "import threads from assistants api",
    "move from assistants api",
    "import chat history from openai"
  ],
  http: ["mount in fastify", "cors origins", "idempotency key"],
  "use-chat": ["usechat react", "next.js chat page", "vercel ai sdk react hook", "resume stream after page reload"],
  conversations: ["edit a message and regenerate", "branch a conversation", "regenerate an answer"],
  providers: ["anthropic api key", "set temperature", "switch to claude", "use ollama locally"],
  "own-model": ["custom model provider", "bring my own llm", "vllm custom endpoint"],
  tools: ["function calling", "let the model call my function", "connect an mcp server"],
  approvals: ["human approval before a tool runs", "refund approval", "human in the loop", "ask before sending money"],
  objects: ["structured output zod", "json schema response", "parse answer with zod"],
  documents: ["rag", "upload a file", "search in my files", "vector search of documents"],
  citations: ["cite pdf page", "footnotes with page numbers", "show sources of an answer"],
  memory: ["remember user preferences", "long term memory", "forget what the assistant learned"],
  "web-search": ["web search", "search the internet"],
  realtime: ["live voice session websocket", "talk to the assistant"],
  voice: ["text to speech", "read the answer aloud", "transcribe speech"],
  helpers: ["multi agent handoff", "sub agents", "one assistant asks another"],
  background: [
    "cron schedule",
    "webhook signature",
    "run without waiting",
    "cron job every morning",
    "notify my server when a run ends"
  ],
  guards: ["redact personal data moderation", "block secrets in output", "content moderation"],
  evals: ["evaluate prompts in ci", "regression test for prompts", "llm as judge"],
  complaint: ["turn a wrong answer into a test"],
  "mcp-server": ["expose assistants as mcp tools", "use my assistant from claude desktop"],
  storage: [
    "which database postgres or pglite",
    "pgvector",
    "sqlite alternative embedded database",
    "postgres schema migrations"
  ],
  operations: ["deploy with docker", "kubernetes health check", "graceful shutdown"],
  costs: ["limit cost per user", "token budget", "daily budget per user", "rate limit tokens"],
  "delete-a-user": ["delete all data of a user", "gdpr erase", "right to be forgotten"],
  backup: ["restore a backup", "pg_dump"],
  telemetry: ["opentelemetry traces", "prometheus metrics", "otel"],
  settings: ["environment variables", "which env vars are there"],
  studio: ["debug a turn", "see the prompt that was sent", "admin ui"],
  errors: ["error code thread_busy", "what does 409 mean", "429 too many requests", "ThreadBusy"],
  versioning: ["semver breaking changes", "deprecation policy"],
  files: ["which file types can be read", "ocr scanned pdf"],
  versions: ["roll back an assistant prompt"],
  scale: ["pgbouncer"],
  "openai-realtime": ["openai realtime api client", "webrtc voice"],
  media: ["generate an image", "picture input"],
  video: ["make a video clip"],
  openai: ["openai compatible endpoint", "use the openai sdk with colloquy"],
  "ag-ui": ["copilotkit"],
  answers: ["yes or no question with probability", "classification with confidence"],
  comparison: ["comparison with langgraph", "colloquy vs mastra"]
}

const root = join(import.meta.dirname, "../../..")

let server: RunningServer
beforeAll(async () => {
  server = await startDemo()
})
afterAll(() => server.stop())

const get = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(new URL(path, server.url), { redirect: "manual", ...init })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const unescaped = (text: string) =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")

const linksIn = (html: string) => [...html.matchAll(/<a [^>]*href="([^"]*)"/gu)].map(([, href = ""]) => unescaped(href))
const placesIn = (html: string) => new Set([...html.matchAll(/ id="([^"]*)"/gu)].map(([, id = ""]) => unescaped(id)))

describe("the guide", () => {
  it("has every page of docs/, beside the API and at the root", async () => {
    const names = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md") && name !== "README.md")
    assert.isAbove(names.length, 15)
    for (const name of names) {
      const text = readFileSync(join(root, "docs", name), "utf8")
      const title = /^# (.*)$/mu.exec(text)?.[1]?.replaceAll("`", "") ?? ""
      for (const prefix of ["/docs/guide", "/api/docs/guide"]) {
        const page = await get(`${prefix}/${name.replace(".md", "")}`)
        assert.strictEqual(page.status, 200, name)
        assert.include(unescaped(page.text), `<title>${title} · Colloquy</title>`)
        // The page about the reference goes on with its list, where that was made.
        assert.isTrue((await get(`${prefix}/${name}`)).text.startsWith(text))
      }
    }
  })

  it("has no link that leads nowhere, and no place that is not there", async () => {
    const begin = new URL("/api/docs/guide", server.url).href
    const seen = new Map<string, ReadonlySet<string>>()
    const wanted = [begin]
    const asked: Array<{ readonly from: string; readonly to: string; readonly place: string }> = []
    for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
      if (seen.has(next)) continue
      const { headers, status, text } = await get(next)
      assert.strictEqual(status, 200, next)
      assert.match(headers.get("content-type") ?? "", /^text\/html/u, next)
      seen.set(next, placesIn(text))
      for (const link of linksIn(text)) {
        const to = new URL(link, next)
        if (to.origin !== server.url) continue
        asked.push({ from: next, to: to.href.replace(to.hash, ""), place: decodeURIComponent(to.hash.slice(1)) })
        wanted.push(to.href.replace(to.hash, ""))
      }
    }
    assert.isAbove(seen.size, 40)
    const lost = asked.filter(({ place, to }) => place !== "" && seen.get(to)?.has(place) !== true)
    assert.deepStrictEqual(lost, [])
  })

  it("shows what a page links to and nothing else of the machine", async () => {
    assert.include((await get("/docs/guide/examples/hosted-tool/main.ts")).text, "hosted")
    const others = [
      "package.json",
      "../package.json",
      "..%2f..%2fpackage.json",
      "%2e%2e/package.json",
      "%",
      ".env",
      "packages/core/package.json"
    ]
    for (const path of [...others, "/etc/passwd", "constructor", "no-such-page"]) {
      assert.strictEqual((await get(`/docs/guide/${path}`)).status, 404, path)
    }
  })

  it("runs its own script alone and stands in no frame", async () => {
    const { headers, text } = await get("/docs/guide/http")
    const policy = headers.get("content-security-policy") ?? ""
    assert.include(policy, "default-src 'none'")
    assert.include(policy, "script-src 'self';")
    assert.notInclude(policy, "unsafe-inline")
    assert.include(policy, "frame-ancestors 'none'")
    assert.deepStrictEqual(text.match(/<script[^>]*>/gu), ['<script type="module" src="./guide.js">'])
    assert.match((await get("/docs/guide/guide.js")).headers.get("content-type") ?? "", /^text\/javascript/u)
    assert.notInclude(text, "style=")
    assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
  })

  it("is asked for like a file: HEAD, a tag, packed; and takes nothing", async () => {
    const first = await get("/docs/guide/storage", { headers: { "accept-encoding": "gzip" } })
    assert.strictEqual(first.headers.get("content-encoding"), "gzip")
    const tag = first.headers.get("etag") ?? ""
    assert.strictEqual((await get("/docs/guide/storage", { headers: { "if-none-match": tag } })).status, 304)
    assert.strictEqual((await get("/docs/guide/storage", { method: "HEAD" })).text, "")
    const refused = await get("/docs/guide", { method: "POST", body: "x" })
    assert.strictEqual(refused.status, 405)
    assert.strictEqual(refused.headers.get("allow"), "GET, HEAD")
  })

  it("answers a wrong address with a page that searches for its words", async () => {
    const { headers, status, text } = await get("/docs/guide/delete-user")
    assert.strictEqual(status, 404)
    assert.match(headers.get("content-type") ?? "", /^text\/html/u)
    assert.include(text, "<h1>There is no such page</h1>")
    assert.include(text, 'value="delete user"')
    assert.match(text, /<ol class="hits"><li><h2><a href="\.\/delete-a-user[#"]/u)
    assert.notInclude((await get("/docs/guide/%3Cimg%20src=x%3E")).text, "<img")
  })

  it("lists its pages in four parts, and the sections of a long page", async () => {
    const { text } = await get("/docs/guide/storage")
    const [, contents = ""] = text.split('<nav id="contents"')
    assert.deepStrictEqual(
      [...contents.matchAll(/<p>(\w+)<\/p>/gu)].map(([, name]) => name),
      ["Start", "Build", "Run", "Understand"]
    )
    assert.match(text, /<nav class="places" aria-label="On this page"><ul><li><a href="#with-effect">/u)
  })

  it("stands beside a description of the streams and the sockets", async () => {
    const { status, text } = await get("/api/asyncapi.json")
    assert.strictEqual(status, 200)
    const { channels, components } = JSON.parse(text)
    assert.strictEqual(channels.messages_send.address, "/api/threads/{thread_id}/messages")
    assert.strictEqual(channels.realtime.address, "/api/threads/realtime")
    assert.strictEqual(channels.openai_realtime.address, "/api/v1/realtime")
    const named = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]*)"/gu)].map(([, name = ""]) => name)
    for (const name of named) assert.property(components.schemas, name)
  })

  it("tells programs where its pages are", async () => {
    const { status, text } = await get("/llms.txt")
    assert.strictEqual(status, 200)
    const links = [...text.matchAll(/\]\(([^)]*)\)/gu)].map(([, link = ""]) => link)
    assert.isAbove(links.length, 20)
    for (const link of links) {
      const page = await get(new URL(link, `${server.url}/llms.txt`).href)
      assert.strictEqual(page.status, 200, link)
      assert.match(page.headers.get("content-type") ?? "", /^text\/markdown/u, link)
    }
  })
})

describe("its search", () => {
  const hits = async (query: string) => {
    const { status, text } = await get(`/docs/guide?q=${encodeURIComponent(query)}`)
    assert.strictEqual(status, 200)
    return { text, links: [...text.matchAll(/<li><h2><a href="([^"]*)"/gu)].map(([, href = ""]) => href) }
  }

  it("finds the place that answers a question, first", async () => {
    for (const [query, place] of [
      ["prepare false PgBouncer", "guide/scale#pgbouncer"],
      ["assistants api status requires_action", "guide/migration#call-by-call"],
      ["mcp servers tools", "guide/tools#tools-of-mcp-servers"],
      ["rolling restart drain sigterm", "guide/operations#starting-and-stopping"],
      ["DATABASE_URL", "guide/settings"]
    ] as const) {
      const { links } = await hits(query)
      assert.include(links.slice(0, 3), place, query)
    }
  })

  for (const [page, queries] of Object.entries(questions)) {
    it(`finds the page ${page} first`, async () => {
      for (const query of queries) {
        const [first = ""] = (await hits(query)).links
        assert.strictEqual(first.replace(/#.*$/u, "").replace("guide/", ""), page, query)
      }
    })
  }

  it("finds words by their stems and by how they begin", async () => {
    assert.include((await hits("migrate")).links.join(" "), "guide/storage#migrations")
    assert.include((await hits("idempot")).links.join(" "), "guide/http")
  })

  it("shows the words that were found, and what was asked as text", async () => {
    assert.match((await hits("fencing token")).text, /<mark>fencing<\/mark>/u)
    const odd = await hits(`<img src=x onerror="alert(1)">zzqq`)
    assert.notInclude(odd.text, "<img")
    assert.include(odd.text, "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;zzqq")
  })

  it("says so when there is nothing, and bears what is no question", async () => {
    const none = await hits("xylophonequark")
    assert.include(none.text, "Nothing in the guide has")
    assert.deepStrictEqual(none.links, [])
    await hits("a ".repeat(3000))
    await hits("[object](*+?")
    assert.include((await get("/docs/guide?q=%20")).text, '<h1 id="the-guide">')
  })
})

inChromium((launch) => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser.close())

  for (const width of [1280, 390]) {
    for (const colorScheme of ["light", "dark"] as const) {
      it(`is in order for axe, ${width} wide and ${colorScheme}, and its search works by the keyboard`, async () => {
        const options = { viewport: { width, height: 844 }, colorScheme }
        await using visitor = await visit(browser, `${server.url}/api/docs/guide`, options)
        const { complaints, page } = visitor
        const inOrder = async () => assert.deepStrictEqual(await faults(page), [])
        await inOrder()
        await page
          .getByRole("navigation", { name: "Contents" })
          .getByRole("link", { name: "Choose a database" })
          .click()
        await page.getByRole("heading", { level: 1, name: "Choose a database" }).waitFor()
        // The page's script adds the buttons: there are at least six.
        await page.getByRole("button", { name: "Copy" }).nth(5).waitFor()
        await inOrder()
        await soon(page, async () => {
          const wide = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")
          assert.isAtMost(wide, 0, "only code and tables are scrolled sideways")
        })
        await page.getByLabel("Search the guide").focus()
        await page.keyboard.type("idempotency key")
        await page.keyboard.press("Enter")
        await page.getByRole("status").waitFor()
        await inOrder()
        await page.locator(".hits a").first().click()
        await page.getByRole("heading", { level: 1 }).first().waitFor()
        assert.deepStrictEqual(complaints, [])
      })
    }
  }
})
