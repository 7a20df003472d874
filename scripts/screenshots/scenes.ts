/** The scenes of the pictures: what a visitor does before each of them. */
import type { Page } from "playwright-core"
import { finished, makeAssistant, newThread, openRoom, say } from "../../packages/studio/test/StudioVisit.ts"

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
      await page.getByText("Settle").waitFor()
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
      await page.getByRole("form", { name: "The assistant waits" }).waitFor()
    }
  },
  {
    name: "approval",
    go: async (page) => {
      await newThread(page)
      await say(page, "Please use tools_echo")
      await page.getByRole("form", { name: "Approve" }).waitFor()
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
      await page.getByLabel("Message 1", { exact: true }).fill("count to 5")
      await page.getByRole("button", { name: "Ask 2 models" }).click()
      await page.getByText("whole").nth(1).waitFor()
    }
  },
  ...["Settings", "Documents", "Memories", "Schedules", "Helpers", "Webhooks", "Usage"].map((pane) => ({
    name: `knowledge-${pane.toLowerCase()}`,
    go: async (page: Page) => {
      await openRoom(page, "Knowledge")
      await page.getByRole("navigation", { name: "What an assistant has" }).getByRole("link", { name: pane }).click()
    }
  }))
]
