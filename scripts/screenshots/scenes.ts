/** The scenes of the pictures: what a visitor does before each of them. */
import type { Page } from "playwright-core"
import {
  choose,
  finished,
  makeAssistant,
  newThread,
  openLists,
  openRoom,
  say
} from "../../packages/studio/test/StudioVisit.ts"

interface Host {
  readonly url: string
  readonly key: string
}

interface Scene {
  readonly name: string
  readonly go: (page: Page, host: Host) => Promise<void>
}

const weather = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather of a city",
    parameters: {
      type: "object",
      properties: { city: { type: "string", title: "City" }, days: { type: "integer" } },
      required: ["city"]
    }
  }
}

/** Asks the API as the visitor's key. */
const ask = async (
  { key, url }: Host,
  path: string,
  body: object,
  method: "POST" | "PUT" = "POST"
): Promise<Readonly<Record<string, unknown>>> => {
  const response = await fetch(`${url}/api${path}`, {
    method,
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  const made: unknown = await response.json()
  return typeof made === "object" && made !== null ? { ...made } : {}
}

let tags = 0

/** Six cases, tried by two assistants, of which one lacks its tool. Each picture has its own. */
const tried = async (page: Page, host: Host): Promise<void> => {
  const tag = `weather ${++tags}`
  const { assistant_id } = await ask(host, "/assistants", { name: "Weather", tools: [weather] })
  const { assistant_id: plain } = await ask(host, "/assistants", { name: "No tools" })
  const tools = [{ name: "get_weather", arguments: '{"city":"example"}', output: "Rain until the evening, 9 degrees." }]
  for (const city of ["Oslo", "Lima", "Rome"]) {
    const question = `How is the weather in ${city}? Use get_weather.`
    const expectations = [
      { kind: "calls", tool: "get_weather" },
      { kind: "contains", text: "Rain" }
    ]
    await ask(host, "/evals/cases", { assistant_id, question, name: city, tags: [tag], tools, expectations })
  }
  for (const most of [3, 12, 20]) {
    const expectations = [
      { kind: "contains", text: String(most) },
      { kind: "time_under", ms: 400 }
    ]
    await ask(host, "/evals/cases", { assistant_id, question: `count to ${most}`, tags: [tag], expectations })
  }
  const { experiment_id } = await ask(host, "/evals/experiments", {
    name: "With and without the tool",
    tags: [tag],
    repeats: 2,
    variants: [{ name: "now" }, { name: "without its tool", assistant_id: plain }]
  })
  await page.goto(`${host.url}/#/tests/experiments/${String(experiment_id)}`)
  await page.getByText("24 of 24 attempts").waitFor()
}

let knownId: Promise<string> | null = null

/** An assistant that has one of everything. */
const known = (host: Host): Promise<string> => (knownId ??= makeKnown(host))

const makeKnown = async (host: Host): Promise<string> => {
  const { assistant_id: helper } = await ask(host, "/assistants", { name: "Librarian" })
  const made = await ask(host, "/assistants", {
    name: "Marguerite",
    system_prompt: "You keep the lighthouse of Fanø. Answer in one sentence.",
    helpers: [{ assistant_id: helper, name: "librarian", description: "Knows where things stand" }]
  })
  const id = String(made["assistant_id"])
  for (const content of ["The user lives in Oslo.", "The user plays chess on Tuesdays, mostly with a neighbour."])
    await ask(host, `/assistants/${id}/memories`, { content })
  const times = { timezone: "Europe/Oslo", thread: "new" }
  await ask(host, `/assistants/${id}/schedules`, {
    ...times,
    cron: "0 9 * * 1-5",
    content: "What came in since yesterday?"
  })
  await ask(host, "/webhooks", { url: "https://example.com/hooks/colloquy", events: ["run.completed", "run.failed"] })
  const form = new FormData()
  const story = "# The lighthouse of Fanø\n\nThe keeper is called Marguerite.\n\nShe waters her tulips on Tuesdays.\n"
  form.append("file", new Blob([story], { type: "text/markdown" }), "lighthouse.md")
  await fetch(`${host.url}/api/assistants/${id}/documents`, {
    method: "POST",
    headers: { "x-api-key": host.key },
    body: form
  })
  return id
}

/** What a turn would find. */
const searched = async (page: Page): Promise<void> => {
  await page.getByText("is read").first().waitFor()
  await page.getByLabel("Words to search documents for").fill("Who waters the tulips?")
  await page.getByRole("button", { name: "Search", exact: true }).click()
  await page.getByRole("list", { name: "What was found" }).waitFor()
}

/** Each width talks to an assistant of its own, so that the lists do not grow. */
const talk = async (page: Page): Promise<void> => {
  await newThread(page)
  await say(page, "What time is it?")
  await finished(page)
  await say(page, "Show me some markdown")
  await finished(page, 2)
}

export const scenes: ReadonlyArray<Scene> = [
  { name: "first", go: async () => {} },
  { name: "talk", go: talk },
  {
    name: "inside",
    go: async (page) => {
      await talk(page)
      await page.getByRole("button", { name: "Look inside" }).first().click()
      await page.getByRole("button", { name: /^Settle/ }).waitFor()
    }
  },
  {
    name: "palette",
    go: async (page) => {
      await talk(page)
      await page.keyboard.press("Control+k")
      await page.getByRole("combobox", { name: "Find anything" }).waitFor()
    }
  },
  {
    name: "waiting",
    go: async (page) => {
      await makeAssistant(page, { name: "Bob", tools: JSON.stringify([weather]) })
      await say(page, "get_weather, please")
      await page.getByRole("group", { name: "The assistant waits" }).waitFor()
    }
  },
  {
    name: "approval",
    go: async (page) => {
      await newThread(page)
      await say(page, "Please use tools_echo")
      await page.getByRole("group", { name: "Approve" }).waitFor()
    }
  },
  {
    name: "again",
    go: async (page) => {
      await newThread(page)
      await say(page, "count to 12")
      await finished(page)
      await page.getByRole("button", { name: "Try again" }).last().click()
      await page.getByText("What was here before is kept").waitFor()
      await page.locator(".question").last().hover()
      await page.getByRole("button", { name: "Other model" }).last().click()
    }
  },
  {
    name: "edit",
    go: async (page) => {
      await newThread(page)
      await say(page, "count to 12")
      await finished(page)
      await page.locator(".question").last().hover()
      await page.getByRole("button", { name: "Edit your message" }).last().click()
    }
  },
  {
    name: "excerpts",
    go: async (page) => {
      await newThread(page)
      await page.getByRole("button", { name: "A document Who keeps" }).click()
      await finished(page)
      await page.getByRole("button", { name: "Excerpt 1" }).first().waitFor()
    }
  },
  {
    name: "document",
    go: async (page) => {
      await newThread(page)
      await page.getByRole("button", { name: "A document Who keeps" }).click()
      await finished(page)
      await page.getByRole("button", { name: "Excerpt 1" }).first().click()
      await page.getByRole("dialog").locator("mark").waitFor()
    }
  },
  {
    name: "you",
    go: async (page) => {
      await page.getByRole("button", { name: "You", exact: true }).click()
    }
  },
  { name: "compare", go: async (page) => page.getByRole("button", { name: "Compare two models" }).click() },
  { name: "voice", go: (page) => openRoom(page, "Voice") },
  {
    name: "voice-on",
    go: async (page) => {
      await newThread(page)
      await openRoom(page, "Voice")
      await page.getByRole("button", { name: "Begin" }).click()
      await page.getByLabel("Write instead of speaking").fill("What time is it?")
      await page.keyboard.press("Enter")
      await page.getByText("server_clock says:").waitFor()
    }
  },
  {
    name: "runs",
    go: async (page) => {
      await talk(page)
      await openRoom(page, "Runs")
      await page.locator(".run-table tbody tr").nth(1).waitFor()
    }
  },
  {
    name: "film",
    go: async (page) => {
      await talk(page)
      await openRoom(page, "Runs")
      await page.locator(".run-table tbody a").nth(1).click()
      await page.getByRole("list", { name: "Steps of the turn" }).getByText("Tool").click()
      await page.getByText("Received from server_clock").waitFor()
    }
  },
  {
    name: "playground",
    go: async (page) => {
      await openRoom(page, "Playground")
      const form = page.getByRole("form", { name: "What is asked" })
      await form.getByLabel("Instructions").fill("You are brief. Look up what you do not know.")
      await form.getByLabel("Message 1", { exact: true }).fill("Please get_weather for Oslo")
      const tools = form.getByLabel("Tools that you answer by hand")
      // They are open where the assistant has some.
      if (!(await tools.isVisible())) await form.getByText("Tools", { exact: true }).click()
      await tools.fill("get_weather: the weather of a city")
      await form.getByText("Model options").click()
      await form.getByLabel("Temperature").fill("0.2")
      await page.getByRole("button", { name: "Ask 2 models" }).click()
      await page.getByText("whole").nth(1).waitFor()
    }
  },
  {
    name: "keep",
    go: async (page) => {
      await talk(page)
      await page.getByRole("button", { name: "Keep as test" }).last().click()
      await page.getByRole("dialog").getByLabel("Text").waitFor()
    }
  },
  {
    name: "thumbs",
    go: async (page) => {
      await talk(page)
      await page.getByRole("button", { name: "Bad answer" }).last().click()
      await page.getByLabel("What was wrong?").waitFor()
    }
  },
  {
    name: "tests-cases",
    go: async (page, host) => {
      await tried(page, host)
      await openRoom(page, "Tests")
      await page.getByRole("list", { name: "Cases" }).getByRole("link", { name: "Rome" }).first().click()
      await page.getByRole("form", { name: "Case" }).waitFor()
    }
  },
  { name: "tests-experiment", go: tried },
  {
    name: "tests-answers",
    go: async (page, host) => {
      await tried(page, host)
      await page.getByRole("link", { name: "Lima" }).click()
      await page.getByText("Question:").waitFor()
    }
  },
  {
    name: "tests-new",
    go: async (page, host) => {
      await tried(page, host)
      await page.goto(`${host.url}/#/tests/experiments/new/${encodeURIComponent(`weather ${tags}`)}`)
      await page.getByText("It tries").waitFor()
    }
  },
  {
    name: "tests-calibration",
    go: async (page) => {
      await newThread(page)
      await page.getByRole("button", { name: "Options" }).click()
      await page.getByLabel("Ask typed questions").check()
      await say(page, "My parcel is late and I need it today!")
      await page.getByRole("group", { name: "urgent" }).getByRole("button", { name: "Yes" }).click()
      await page.getByText("Told").waitFor()
      await openRoom(page, "Tests")
      await page.getByRole("link", { name: "Calibration" }).click()
      await page.getByRole("list", { name: "Questions" }).getByRole("heading").first().waitFor()
    }
  },
  {
    name: "options",
    go: async (page) => {
      await talk(page)
      await page.getByRole("button", { name: "Options" }).click()
      await page.getByLabel("Reasoning").selectOption("high")
      await page.getByLabel("Memory").selectOption("Auto")
    }
  },
  {
    name: "questions",
    go: async (page) => {
      await newThread(page)
      await page.getByRole("button", { name: "Options" }).click()
      await page.getByLabel("Ask typed questions").check()
    }
  },
  {
    name: "assistant",
    go: async (page) => {
      await openLists(page)
      await page.getByRole("button", { name: "New assistant" }).click()
      await page.getByRole("combobox", { name: "Model" }).click()
    }
  },
  {
    name: "delete",
    go: async (page) => {
      await talk(page)
      await openLists(page)
      await page.locator(".threads .item").first().hover()
      await page
        .getByRole("button", { name: /^Delete thread/ })
        .first()
        .click()
      await page.getByRole("dialog").waitFor()
    }
  },
  {
    name: "failed",
    go: async (page) => {
      await newThread(page)
      await page.getByRole("button", { name: "Options" }).click()
      await page.getByRole("combobox", { name: "Model" }).first().fill("nobody/nothing")
      await page.getByRole("alert").first().waitFor()
    }
  },
  ...["Prompt", "Log"].map((tab) => ({
    name: `inside-${tab.toLowerCase()}`,
    go: async (page: Page) => {
      await talk(page)
      await page.getByRole("button", { name: "Look inside" }).last().click()
      await page.getByRole("tab", { name: tab }).click()
    }
  })),
  {
    name: "shared",
    go: async (page) => {
      await talk(page)
      const saved = page.waitForEvent("download")
      await page.getByRole("button", { name: "Share" }).first().click()
      const file = await (await saved).path()
      const choosing = page.waitForEvent("filechooser")
      await choose(page, "Open a shared turn")
      await (await choosing).setFiles(file)
      await page.getByText("that was shared on").waitFor()
    }
  },
  {
    name: "key",
    go: async (page) => {
      await choose(page, "API key")
      await page.getByRole("dialog").waitFor()
    }
  },
  {
    name: "offline",
    go: async (page) => {
      await talk(page)
      await page.context().setOffline(true)
      await say(page, "Are you there?")
      await page.getByRole("alert").waitFor()
    }
  },
  {
    name: "missing",
    go: async (page, { url }) => {
      await page.goto(`${url}/#/talk/00000000-0000-4000-8000-000000000000`)
      await page.getByRole("alert").waitFor()
    }
  },
  ...["Experiments", "Feedback", "Online"].map((pane) => ({
    name: `tests-${pane.toLowerCase()}`,
    go: async (page: Page) => {
      await openRoom(page, "Tests")
      await page.getByRole("navigation", { name: "Tests of answers" }).getByRole("link", { name: pane }).click()
    }
  })),
  {
    name: "versions",
    go: async (page, host) => {
      const { assistant_id: id } = await ask(host, "/assistants", { name: "Kind", system_prompt: "Be kind and brief." })
      await ask(host, `/assistants/${String(id)}`, { system_prompt: "Be kind, and quote your sources." }, "PUT")
      await page.goto(`${host.url}/#/knowledge/${String(id)}/settings`)
      await page.reload()
      await page.getByRole("button", { name: "Compare version 1 with now" }).click()
      await page.locator("ins").first().waitFor()
    }
  },
  ...["Settings", "Documents", "Memories", "Schedules", "Helpers", "Webhooks", "Keys", "Usage"].map((pane) => ({
    name: `knowledge-${pane.toLowerCase()}`,
    go: async (page: Page, host: Host) => {
      await page.goto(`${host.url}/#/knowledge/${await known(host)}/${pane.toLowerCase()}`)
      await page.reload()
      await page.locator("main .panes [aria-current=page]", { hasText: pane }).waitFor()
      if (pane === "Documents") await searched(page)
    }
  }))
]
