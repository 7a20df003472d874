/** What the applications of docs/comparison are asked to do, and what is looked for in each: the same for every library. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pdf } from "../../packages/adapters/test/files/MadeFiles.ts"
import { type Library, type Running, startProgram } from "./Program.ts"
import { startVendor } from "./Vendor.ts"

type Findings = Readonly<Record<string, boolean>>

interface Scene {
  readonly vendor: Awaited<ReturnType<typeof startVendor>>
  readonly folder: string
  readonly start: (parameters?: ReadonlyArray<string>, environment?: Readonly<Record<string, string>>) => Running
}

const count = (text: string, words: string): number => text.split(words).length - 1

/** Waits for what happens at the vendor. */
const until = async (holds: () => boolean) => {
  for (let tries = 0; tries < 2400 && !holds(); tries++) await new Promise((resolve) => setTimeout(resolve, 50))
  return holds()
}

const chat = async ({ start, vendor }: Scene): Promise<Findings> => {
  vendor.hold("dear Ada")
  const first = start()
  first.write("I am Ada.")
  const streams = (await first.prints("Hello, d")) && !first.output().includes("Ada.")
  vendor.release()
  await first.prints("Hello, dear Ada.")
  first.write("What is my name?")
  const goesOn = await first.prints("You are Ada.")
  await first.ended()

  const second = start()
  second.write("What is my name?")
  const survivesRestart = await second.prints("You are Ada.")
  await second.ended()

  vendor.hold("dear Bob")
  const third = start()
  third.write("I am Bob.")
  await until(() => vendor.held() > 0)
  await third.prints("Hello, d")
  await third.kill()
  vendor.release()
  const fourth = start()
  fourth.write("What is my name?")
  await fourth.prints("You are")
  const keepsQuestionOfKilledProcess = vendor.requests.at(-1)?.some(({ text }) => text.includes("I am Bob.")) === true
  await fourth.ended()
  return { streams, goesOn, survivesRestart, keepsQuestionOfKilledProcess }
}

const memory = async ({ start }: Scene): Promise<Findings> => {
  const first = start(["I live in Oslo."])
  await first.prints("Nice.")
  await first.ended()
  const second = start(["Where do I live?"])
  const remembers = await second.prints("In Oslo.")
  await second.ended()
  return { remembers }
}

const pdfs = async ({ folder, start }: Scene): Promise<Findings> => {
  const files = {
    "travel.pdf": ["Trains are paid by the office.", "Hotels are booked by the office."],
    "handbook.pdf": ["The office opens at nine o'clock.", "Employees have thirty days of holiday a year."],
    "menu.pdf": ["On Mondays there is soup."]
  }
  const paths = Object.entries(files).map(([name, pages]) => {
    writeFileSync(join(folder, name), pdf(pages.map((text) => [{ text, x: 72, y: 700 }])))
    return join(folder, name)
  })
  const program = start(paths)
  const citesPage = await program.prints("handbook.pdf, page 2")
  await program.ended()
  return { citesPage }
}

const gateway = async ({ start }: Scene): Promise<Findings> => {
  const server = createServer((request, response) => {
    if (request.url === "/down") response.writeHead(503).end("secret words")
    else {
      response.write("Hello, ")
      response.end("Ada.")
    }
  })
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const good = start([], { GATEWAY_URL: url })
  const answers = await good.prints("Hello, Ada.")
  await good.ended()
  const bad = start([], { GATEWAY_URL: `${url}/down` })
  const code = await bad.ended()
  server.close()
  return { answers, tellsThatItRefused: (code === 0 || code === null) && bad.output().trim() !== "" }
}

const test = async ({ start }: Scene): Promise<Findings> => {
  const program = start()
  const passes = await program.prints("✔ answers after the provider was overloaded")
  const scriptsSilence = program.output().includes("after a long silence")
  await program.ended()
  return { passes, scriptsSilence }
}

const loop = async ({ start, vendor }: Scene): Promise<Findings> => {
  const first = start(["What is the key?"])
  await first.prints("It is ")
  await first.ended()
  const before = vendor.requests.length
  const second = start(["Read for ever."])
  const code = await second.ended()
  const asked = vendor.requests.length - before
  return {
    hidesTheKey: first.output().includes("It is [") && !first.output().includes("sk-1234567"),
    endsTheLoop: asked > 0 && asked <= 5,
    endsItWithoutException: code === 0 || code === null
  }
}

const object = async ({ start }: Scene): Promise<Findings> => {
  const program = start()
  const answers = await program.prints("2 tea")
  return { answers, processEnds: (await program.ended()) === 0 }
}

const approval = async ({ start, vendor }: Scene): Promise<Findings> => {
  const asking = start()
  const asks = await asking.prints("Waiting:")
  await asking.ended()
  const approving = start(["yes"])
  const paysAfterRestart = (await approving.prints("It is paid.")) && !asking.output().includes("are paid")
  await approving.ended()
  const again = start(["yes"])
  await again.ended()
  const paysOnceWhenApprovedTwice = count(approving.output() + again.output(), "are paid") === 1

  const scene = start([], { DATA_DIR: "killed" })
  await scene.prints("Waiting:")
  await scene.ended()
  vendor.hold("It is paid.")
  const killed = start(["yes"], { DATA_DIR: "killed" })
  await killed.prints("are paid")
  await until(() => vendor.held() > 0)
  await killed.kill()
  vendor.release()
  const next = start(["yes"], { DATA_DIR: "killed" })
  await next.ended()
  const paysOnceWhenKilled = count(killed.output() + next.output(), "are paid") === 1
  return { asks, paysAfterRestart, paysOnceWhenApprovedTwice, paysOnceWhenKilled }
}

export const applications: Readonly<Record<string, (scene: Scene) => Promise<Findings>>> = {
  chat,
  pdf: pdfs,
  memory,
  gateway,
  test,
  loop,
  object,
  approval
}

/** Runs one application of one library against a vendor and in a folder of its own. */
const inScene = async <A>(library: Library, application: string, use: (scene: Scene) => Promise<A>): Promise<A> => {
  const vendor = await startVendor()
  const folder = mkdtempSync(join(tmpdir(), "colloquy-compare-"))
  const start: Scene["start"] = (parameters = [], { DATA_DIR = "data", ...environment } = {}) =>
    startProgram(library, application, parameters, {
      OPENAI_API_KEY: "sk-none",
      OPENAI_BASE_URL: vendor.url,
      // It would send each run to OpenAI.
      OPENAI_AGENTS_DISABLE_TRACING: "1",
      DATA_DIR: join(folder, DATA_DIR),
      ...environment
    })
  try {
    return await use({ vendor, folder, start })
  } finally {
    await vendor.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

export const findingsOf = (library: Library, application: string): Promise<Findings> =>
  inScene(library, application, applications[application] ?? (async () => ({})))

export interface Usage {
  readonly milliseconds: number
  readonly megabytes: number
}

/** What the program `object` uses until it has printed its answer. */
export const usageOf = (library: Library): Promise<Usage> => {
  const measured = {
    ...library,
    nodeOptions: [...library.nodeOptions, "--import", join(import.meta.dirname, "Usage.ts")]
  }
  return inScene(measured, "object", async ({ folder, start }) => {
    const file = join(folder, "usage.json")
    const program = start([], { USAGE_FILE: file })
    await program.prints("2 tea")
    await program.kill("SIGTERM")
    return JSON.parse(readFileSync(file, "utf8"))
  })
}
