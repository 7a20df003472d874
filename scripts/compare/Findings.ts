/** What the applications of docs/comparison are asked to do, and what is looked for in each: the same for every library. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pdf } from "../../packages/adapters/test/files/MadeFiles.ts"
import { type Library, type Running, startProgram } from "./Program.ts"
import { startVendor } from "./Vendor.ts"
import { type Coming, loggedIn, pageVisitor, type Visitor } from "./Visitor.ts"

type Findings = Readonly<Record<string, boolean>>

interface Scene {
  readonly library: string
  /** In seconds. */
  readonly patience: number
  readonly vendor: Awaited<ReturnType<typeof startVendor>>
  readonly folder: string
  readonly start: (parameters?: ReadonlyArray<string>, environment?: Readonly<Record<string, string>>) => Running
}

const count = (text: string, words: string): number => text.split(words).length - 1

/** Waits for what happens at the vendor or in a program. */
const until = async (holds: () => boolean | Promise<boolean>, seconds = 120) => {
  for (let tries = 0; tries < seconds * 20; tries++) {
    if (await holds()) return true
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
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

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready))
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  return port
}

/** Starts a program that serves, and waits until it does. */
const serve = async ({ start }: Scene, environment: Readonly<Record<string, string>> = {}) => {
  const port = await freePort()
  const program = start([], { ...environment, PORT: String(port) })
  const url = `http://127.0.0.1:${port}`
  const isUp = () =>
    fetch(url).then(
      () => true,
      () => false
    )
  if (!(await until(isUp))) throw new Error(`The program does not serve: ${program.output()}`)
  return { url, kill: program.kill }
}

/** The conversation of a program that serves, as its user sees it. */
const served = async (scene: Scene, visit: (url: string, user: string) => Promise<Visitor>): Promise<Findings> => {
  const { vendor } = scene
  const server = await serve(scene)
  const ada = await visit(server.url, "ada")
  const thread = await ada.begin()
  vendor.hold("dear Ada")
  const first = ada.ask(thread, "I am Ada.")
  const streams = (await first.shows("Hello, d")) && !first.text().includes("Ada.")
  first.leave()
  const again = ada.follow(thread, first)
  await again.shows("Hello, d")
  vendor.release()
  const goesOnAfterReload = await again.shows("Hello, dear Ada.")
  await again.ended

  vendor.hold("You are")
  const left = ada.ask(thread, "What is my name?")
  await left.shows("You a")
  left.leave()
  vendor.release()
  const keepsAnswerThatNobodyReads = await until(
    async () => (await ada.read(thread)).includes("You are Ada."),
    scene.patience
  )
  const bob = await visit(server.url, "bob")
  const hidesFromOthers = !(await bob.read(thread)).includes("Ada")

  const killed = await ada.begin()
  vendor.hold("dear Carl")
  const cut = ada.ask(killed, "I am Carl.")
  await cut.shows("Hello, d")
  await server.kill()
  vendor.release()
  const next = await serve(scene)
  const back = await visit(next.url, "ada")
  const survivesRestart = (await back.read(thread)).includes("Hello, dear Ada.")
  const keepsQuestionOfKilledProcess = (await back.read(killed)).includes("I am Carl.")
  await next.kill()
  return {
    streams,
    goesOnAfterReload,
    keepsAnswerThatNobodyReads,
    hidesFromOthers,
    survivesRestart,
    keepsQuestionOfKilledProcess
  }
}

/** Two questions of one conversation, the second while the first is answered. */
const atOnce = async ({ vendor }: Scene, visitor: Visitor): Promise<boolean> => {
  const thread = await visitor.begin()
  vendor.hold("dear")
  const first = visitor.ask(thread, "I am Ada.")
  await first.shows("Hello, d")
  const second = visitor.ask(thread, "I am Bob.")
  // The second is answered too, or waits for its turn and says so.
  await until(() => vendor.held() === 2 || second.body() !== "")
  vendor.release()
  await Promise.all([first, second].map(({ ended }: Coming) => ended))
  const conversation = await visitor.read(thread)
  return ["I am Ada.", "Hello, dear Ada.", "I am Bob.", "Hello, dear Bob."].every((words) =>
    conversation.includes(words)
  )
}

const express = async (scene: Scene): Promise<Findings> => {
  const visit = (url: string, user: string) => loggedIn(url, user, scene.library === "colloquy")
  const findings = await served(scene, visit)
  const server = await serve(scene)
  const { status } = await fetch(`${server.url}/ai/threads/${crypto.randomUUID()}`)
  const keepsBothAtOnce = await atOnce(scene, await visit(server.url, "ada"))
  await server.kill()
  return { ...findings, refusesStrangers: status === 401, keepsBothAtOnce }
}

const useChat = (scene: Scene): Promise<Findings> => served(scene, async (url, user) => pageVisitor(url, user))

export const applications: Readonly<Record<string, (scene: Scene) => Promise<Findings>>> = {
  chat,
  express,
  pdf: pdfs,
  memory,
  gateway,
  test,
  "use-chat": useChat,
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
    return await use({ library: library.name, patience: library.patience / 1000, vendor, folder, start })
  } finally {
    await vendor.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

export const applicationFindings = (library: Library, application: string): Promise<Findings> =>
  inScene(library, application, applications[application] ?? (async () => ({})))

export interface Usage {
  readonly milliseconds: number
  readonly megabytes: number
}

/** The library, with a file `usage.json` in the folder of the scene when its program has ended by SIGTERM. */
const measured = (library: Library): Library => ({
  ...library,
  nodeOptions: [...library.nodeOptions, "--import", join(import.meta.dirname, "Usage.ts")]
})

/** What the program `object` uses until it has printed its answer. */
export const measureUsage = (library: Library): Promise<Usage> =>
  inScene(measured(library), "object", async ({ folder, start }) => {
    const file = join(folder, "usage.json")
    const program = start([], { USAGE_FILE: file })
    await program.prints("2 tea")
    await program.kill("SIGTERM")
    return JSON.parse(readFileSync(file, "utf8"))
  })

/** The CPU of the Express program until it has answered so many questions, each of a conversation of its own, one after the other. */
const cpuOfAnswers = (library: Library, answers: number): Promise<number> =>
  inScene(measured(library), "express", async (scene) => {
    const file = join(scene.folder, "usage.json")
    const server = await serve(scene, { USAGE_FILE: file })
    const ada = await loggedIn(server.url, "ada", scene.library === "colloquy")
    for (let answer = 0; answer < answers; answer++) {
      const coming = ada.ask(await ada.begin(), "I am Ada.")
      if (!(await coming.shows("Hello, dear Ada."))) throw new Error(`No answer: ${coming.body()}`)
      await coming.ended
    }
    await server.kill("SIGTERM")
    const usage: Usage = JSON.parse(readFileSync(file, "utf8"))
    return usage.milliseconds
  })

/** The CPU of one more answer of the Express program, in milliseconds, when it has answered many. */
export const cpuOfAnAnswer = async (library: Library): Promise<number> => {
  const few = await cpuOfAnswers(library, 50)
  return ((await cpuOfAnswers(library, 250)) - few) / 200
}
