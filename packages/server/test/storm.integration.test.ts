/**
 * A storm: three servers on one database, which are killed (-9) and started again while clients send, fork, rewind, edit and regenerate, ask
 * helpers, wait for tools, work in the background, while schedules have their times and webhooks are told. Afterwards the clients' own books are
 * held against the database and against what the receiver of the webhooks got: nothing is lost, doubled or charged twice.
 *
 * `STORM_SEED` repeats the choices of a storm; the moments at which processes die are those of the machine.
 */
import { assert, it } from "@effect/vitest"
import { randomInt, randomUUID } from "node:crypto"
import pg from "pg"
import { onCitus, onPostgres } from "../../../test/databases.ts"
import { openReceiver } from "../../http/test/WebhookReceiver.ts"
import { distributedDatabase, scratchDatabase } from "./ScratchDatabase.ts"
import { type ServerProcess, spawnServer } from "./ServerProcess.ts"
import { costOfCall, openVendor } from "./StormVendor.ts"
import type { Answer } from "./TestServer.ts"

const key = "storm-key-0123456789"
const stormMillis = 16_000
const clients = 5

/** Numbers from 0 to 1 that follow from the seed. */
const drawing = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

interface Running {
  readonly api: string
  readonly server: ServerProcess
}

const start = async (databaseUrl: string, vendorUrl: string): Promise<Running> => {
  const server = spawnServer({
    DATABASE_URL: databaseUrl,
    PORT: "0",
    LIMITS: "off",
    COLLOQUY_API_KEYS: `${key}=ada`,
    OPENROUTER_BASE_URL: vendorUrl,
    OPENROUTER_API_KEY: "sk-storm",
    DEFAULT_LLM_PROVIDER: "router",
    DEFAULT_MODEL_NAME: "acme/talk",
    RUN_LEASE_SECONDS: "3",
    SWEEP_SECONDS: "1",
    WEBHOOK_PRIVATE_ADDRESSES: "true"
  })
  const api = /listens on (\S+),/.exec(await server.printed(/Documentation/))?.[1] ?? assert.fail(server.output())
  return { api, server }
}

type Call = (method: string, path: string, body?: object) => Promise<Answer>

const terminal: Readonly<Record<string, string>> = {
  run_ended: "COMPLETED",
  run_failed: "FAILED",
  run_cancelled: "CANCELLED",
  tool_submit_required: "REQUIRES_ACTION"
}

/** A record, or a stream that came to its end, as one record. */
const read = (text: string): Answer["body"] => {
  if (text.startsWith("{")) return JSON.parse(text)
  const events = text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6))] : []))
  const status = terminal[events.at(-1)?.type]
  if (status === undefined) throw new Error("The stream was cut.")
  return Object.assign({}, ...events, { status })
}

/**
 * One request of a client: as long as no server has answered it, it is sent again with the same key. 409 here means that a run holds the
 * thread, at the latest until its lease ends.
 */
const callThrough =
  (servers: ReadonlyArray<Running>, draw: () => number): Call =>
  async (method, path, body) => {
    const headers = { "x-api-key": key, "content-type": "application/json", "idempotency-key": randomUUID() }
    for (let attempt = 0; ; attempt++) {
      const { api } = servers[Math.floor(draw() * servers.length)] ?? assert.fail()
      const sent = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      const answer = await fetch(`${api}${path}`, sent)
        .then(async (response) => ({ status: response.status, body: read(await response.text()) }))
        .catch(() => null)
      if (answer !== null && answer.status !== 503 && answer.status !== 409) return answer
      if (attempt > 300) assert.fail(`${method} ${path}: ${JSON.stringify(answer)}`)
      await pause(50)
    }
  }

/** What the clients know to be true. */
interface Books {
  /** The questions of each thread, in their order. */
  readonly threads: Map<string, ReadonlyArray<string>>
  /** Each run that was accepted. */
  readonly runs: Set<string>
  /** Runs that waited for their client. */
  readonly waited: Set<string>
  /** Runs that a client began from a schedule. */
  readonly manual: Set<string>
  readonly acts: Map<string, number>
}

interface Shown {
  readonly message_id: string
  readonly role: string
  readonly content: string
  readonly status: string
  readonly tool_calls: ReadonlyArray<object> | null
}

const oneClient = async (
  call: Call,
  draw: () => number,
  isOver: () => boolean,
  books: Books,
  {
    assistant,
    schedule,
    thread: first
  }: { readonly assistant: string; readonly schedule: string; readonly thread: string }
) => {
  const { acts, manual, runs, threads, waited } = books
  const own = [first]
  threads.set(first, [])
  const done = (act: string) => acts.set(act, (acts.get(act) ?? 0) + 1)
  const good = async (answer: Promise<Answer>, ...statuses: ReadonlyArray<number>) => {
    const { body, status } = await answer
    assert.include(statuses, status, JSON.stringify(body))
    return body
  }
  const shown = async (thread: string): Promise<ReadonlyArray<Shown>> =>
    (await good(call("GET", `/threads/${thread}`), 200)).messages
  /** Waits for a run that nobody waits for. */
  const settled = async (thread: string, run: string) => {
    while (true) {
      const { status } = await good(call("GET", `/threads/${thread}/runs/${run}`), 200)
      if (status !== "IN_PROGRESS" && status !== "QUEUED") return
      await pause(100)
    }
  }
  /** The thread that keeps what an act took back, and the questions in it. */
  const kept = (body: Answer["body"], questions: ReadonlyArray<string>) => {
    assert.isString(body.kept_as, JSON.stringify(body))
    threads.set(body.kept_as, questions)
  }

  while (!isOver()) {
    const thread = own[Math.floor(draw() * own.length)] ?? first
    const questions = threads.get(thread) ?? []
    const choice = draw()
    const messages = choice < 0.45 ? [] : await shown(thread)
    const asked = messages.filter(({ role }) => role === "user")
    const index = Math.floor(draw() * asked.length)
    const question = asked[index]
    const path = `/threads/${thread}/messages`
    if (choice < 0.45 || question === undefined) {
      const verb = draw() < 0.4 ? "help" : draw() < 0.4 ? "wait" : "say"
      const content = `${verb} ${randomUUID()}`
      const background = draw() < 0.3
      const stream = !background && draw() < 0.5
      const look = {
        type: "function",
        function: { name: "look", description: "Looks", parameters: { type: "object" } }
      }
      const tools = verb === "wait" ? { tools: [look] } : {}
      const body = await good(
        call("POST", path, { content, ...tools, ...(background ? { background } : {}), ...(stream ? { stream } : {}) }),
        200,
        202
      )
      threads.set(thread, [...questions, content])
      runs.add(body.run_id)
      if (background) await settled(thread, body.run_id)
      done(background ? `${verb} in the background` : verb)
      if (body.status === "REQUIRES_ACTION") waited.add(body.run_id)
      const open: ReadonlyArray<{ readonly id: string }> = body.status === "REQUIRES_ACTION" ? body.tool_calls : []
      if (open.length > 0 && draw() < 0.6) {
        const tool_outputs = open.map(({ id }) => ({ tool_call_id: id, output: "sun" }))
        await good(call("POST", `/threads/${thread}/runs/${body.run_id}/submit-tool-outputs`, { tool_outputs }), 200)
        done("tool outputs")
      }
      continue
    }
    if (choice < 0.55) {
      const { message_id } = messages[Math.floor(draw() * messages.length)] ?? question
      const until = messages.findIndex((each) => each.message_id === message_id)
      const body = await good(call("POST", `/threads/${thread}/fork`, { message_id }), 201)
      const copied = messages.slice(0, until + 1).filter(({ role }) => role === "user").length
      threads.set(body.thread_id, questions.slice(0, copied))
      own.push(body.thread_id)
      done("fork")
    } else if (choice < 0.7) {
      const { message_id } = messages[Math.floor(draw() * messages.length)] ?? question
      const until = messages.findIndex((each) => each.message_id === message_id)
      const body = await good(call("POST", `/threads/${thread}/rewind`, { message_id }), 200)
      const left = messages.slice(0, until + 1).filter(({ role }) => role === "user").length
      threads.set(thread, questions.slice(0, left))
      if (until < messages.length - 1) kept(body, questions)
      else assert.isNull(body.kept_as)
      done("rewind")
    } else if (choice < 0.95) {
      const isEdit = choice < 0.82
      const isFork = draw() < 0.3
      const content = isEdit ? `say ${randomUUID()}` : (questions[index] ?? assert.fail())
      const place = isFork ? { in: "fork" } : {}
      const act = isEdit ? "edit" : "regenerate"
      const body = await good(
        call("POST", `${path}/${question.message_id}/${act}`, { ...place, ...(isEdit ? { content } : {}) }),
        200
      )
      runs.add(body.run_id)
      const after = [...questions.slice(0, index), content]
      threads.set(isFork ? body.thread_id : thread, after)
      if (isFork) own.push(body.thread_id)
      else kept(body, questions)
      done(isFork ? `${act} on a fork` : act)
    } else {
      const body = await good(call("POST", `/assistants/${assistant}/schedules/${schedule}/run`), 202)
      manual.add(body.run_id)
      done("schedule now")
    }
  }
}

/** `patience` is how long the work that is under way at the end may take, in milliseconds. */
const storm = (open: () => ReturnType<typeof scratchDatabase>, patience: number) => {
  it(
    "a storm over three servers loses nothing, doubles nothing and charges nothing twice",
    { timeout: 95_000 + patience },
    async () => {
      const seed = Number(process.env["STORM_SEED"] ?? randomInt(1_000_000))
      process.stdout.write(`storm: STORM_SEED=${seed}\n`)
      const draw = drawing(seed)
      await using database = await open()
      await using vendor = await openVendor(drawing(seed + 1))
      // The first attempt of some deliveries fails: by a status, or by a connection that ends.
      const tried = new Map<string, boolean>()
      const drawFailure = drawing(seed + 2)
      await using receiver = await openReceiver((response, place) => {
        const id = String(receiver.received[place]?.headers["webhook-id"])
        const fails = !tried.has(id) && drawFailure() < 0.3
        tried.set(id, true)
        if (!fails) return void response.writeHead(204).end()
        if (drawFailure() < 0.5) response.writeHead(500).end()
        else response.destroy()
      })
      const servers = [await start(database.url, vendor.baseUrl)]
      const direct: Call = callThrough(servers, draw)
      const sql = new pg.Client({ connectionString: database.url })
      await sql.connect()
      const rows = async <Row extends pg.QueryResultRow>(text: string, values: ReadonlyArray<unknown> = []) =>
        (await sql.query<Row>(text, [...values])).rows
      try {
        // ------ before the storm
        const events = ["run.completed", "run.failed", "run.requires_action"]
        const hook = await direct("POST", "/webhooks", { url: `http://127.0.0.1:${receiver.port}/`, events })
        assert.strictEqual(hook.status, 201)
        const poet = (await direct("POST", "/assistants", { name: "Poet" })).body.assistant_id
        const helpers = [{ assistant_id: poet, name: "poet", description: "Rhymes" }]
        const assistant = (await direct("POST", "/assistants", { name: "Chief", helpers })).body.assistant_id
        const shared = (await direct("POST", `/assistants/${assistant}/threads`)).body.thread_id
        const schedules: Array<string> = []
        for (const thread of ["new", "new", { thread_id: shared }]) {
          // Its times are those that the storm sets.
          const yearly = { cron: "0 0 29 2 *", timezone: "UTC", content: `say ${randomUUID()}`, thread }
          schedules.push((await direct("POST", `/assistants/${assistant}/schedules`, yearly)).body.schedule_id)
        }
        const threads: Array<string> = []
        for (let index = 0; index < clients; index++)
          threads.push((await direct("POST", `/assistants/${assistant}/threads`)).body.thread_id)
        servers.push(...(await Promise.all([start(database.url, vendor.baseUrl), start(database.url, vendor.baseUrl)])))

        // ------ the storm
        const weather = { isOver: false }
        const books: Books = {
          threads: new Map(),
          runs: new Set(),
          waited: new Set(),
          manual: new Set(),
          acts: new Map()
        }
        const everybody = threads.map((thread, index) => {
          const own = drawing(seed + 10 + index)
          const place = { assistant, schedule: schedules[0] ?? assert.fail(), thread }
          return oneClient(callThrough(servers, own), own, () => weather.isOver, books, place)
        })
        const times: Array<{ readonly id: string; readonly at: Date }> = []
        const clock = (async () => {
          while (!weather.isOver) {
            await pause(300 + draw() * 400)
            const [id] = schedules.toSorted(() => draw() - 0.5)
            const [set] = await rows<{ at: Date }>(
              `update colloquy.schedules set next_at = $2::timestamptz
             where id = $1 and next_at > $2::timestamptz + interval '1 hour' returning next_at as at`,
              [id, new Date()]
            )
            if (set !== undefined) times.push({ id: id ?? "", at: set.at })
          }
        })()
        const down = new Set<number>()
        const killing = async () => {
          let killed = 0
          while (!weather.isOver) {
            await pause(500 + draw() * 1500)
            const places = [0, 1, 2].filter((each) => !down.has(each))
            const place = places[Math.floor(draw() * places.length)] ?? assert.fail()
            down.add(place)
            const old = servers[place] ?? assert.fail()
            old.server.child.kill("SIGKILL")
            await old.server.ended
            killed++
            servers[place] = await start(database.url, vendor.baseUrl)
            down.delete(place)
          }
          return killed
        }
        // Two of the three may be away at once.
        const killers = Promise.all([killing(), killing()])

        const ended = Promise.all([...everybody, clock])
        await Promise.race([pause(stormMillis), ended, killers])
        weather.isOver = true
        await ended
        const killed = (await killers).reduce((sum, each) => sum + each, 0)

        // ------ the calm: what is under way ends
        const under = async () => {
          const [found] = await rows<{ count: string }>(
            `select (select count(*) from colloquy.runs where status in ('IN_PROGRESS', 'QUEUED'))
             + (select count(*) from colloquy.active_runs)
             + (select count(*) from colloquy.schedules where next_at < clock_timestamp())
             + (select count(*) from colloquy.webhook_deliveries where not at_rest)
             + (select count(*) from colloquy.follow_ups where status in ('pending', 'running')) as count`
          )
          return Number(found?.count)
        }
        const end = Date.now() + patience
        while ((await under()) > 0 && Date.now() < end) await pause(200)
        process.stdout.write(
          `storm: ${killed} processes killed, ${times.length} times, ${receiver.received.length} deliveries, ${JSON.stringify([...books.acts])}\n`
        )
        assert.deepStrictEqual(
          await rows(
            "select kind, status, count(*) from colloquy.follow_ups where status <> 'done' group by kind, status"
          ),
          []
        )
        assert.strictEqual(await under(), 0)

        // ------ each accepted message stands once, where the clients expect it
        for (const [thread, questions] of books.threads) {
          const { body, status } = await direct("GET", `/threads/${thread}`)
          assert.strictEqual(status, 200, thread)
          const messages: ReadonlyArray<Shown> = body.messages
          assert.deepStrictEqual(
            messages.filter(({ role }) => role === "user").map(({ content }) => content),
            questions,
            `questions of ${thread}`
          )
          for (const [index, { content, role, status: state, tool_calls: called }] of messages.entries()) {
            if (role !== "assistant") continue
            assert.notInclude(["IN_PROGRESS", "QUEUED"], state)
            const before = messages.slice(0, index).findLast((each) => each.role === "user")
            const id = before?.content.split(" ")[1] ?? assert.fail("an answer without a question")
            // The answer that called a tool is the last one where a rewind took back the rest.
            if (state === "COMPLETED" && content !== null) assert.strictEqual(content, `echo ${id}`)
            else if (state === "COMPLETED") assert.isNotEmpty(called, JSON.stringify(messages[index]))
          }
        }
        const stored = new Set((await rows<{ id: string }>("select id from colloquy.runs")).map(({ id }) => id))
        assert.deepStrictEqual(
          [...books.runs, ...books.manual].filter((id) => !stored.has(id)),
          []
        )

        // ------ each time of a schedule began one turn
        const all: Array<{ readonly [field: string]: unknown; readonly run_id: string; readonly status: string }> = []
        for (let cursor: string | null = ""; cursor !== null;) {
          const { body } = await direct("GET", `/runs?limit=100${cursor === "" ? "" : `&cursor=${cursor}`}`)
          all.push(...body.runs)
          cursor = body.next_cursor
        }
        assert.strictEqual(all.length, stored.size)
        assert.strictEqual(new Set(all.map(({ run_id }) => run_id)).size, stored.size)
        for (const id of schedules) {
          const begun = all.filter((run) => run["schedule_id"] === id && !books.manual.has(run.run_id))
          const expected = times.filter((time) => time.id === id)
          assert.strictEqual(begun.length, expected.length, `turns of schedule ${id}`)
        }
        const byHand = all.filter((run) => run["schedule_id"] !== null && books.manual.has(run.run_id))
        assert.strictEqual(byHand.length, books.manual.size)

        // ------ helpers: a run below another one has ended, and the run above tells the same of it
        for (const child of all.filter((run) => run["parent_run_id"] !== null)) {
          const parent = all.find(({ run_id }) => run_id === child["parent_run_id"])
          assert.isDefined(parent, `the parent of ${child.run_id}`)
          assert.include(["COMPLETED", "FAILED", "CANCELLED"], child.status)
          if (parent?.status === "COMPLETED") assert.strictEqual(child.status, "COMPLETED")
        }

        // ------ each event arrived, always with the same id
        const ids = new Map<string, string>()
        const about = new Map<string, string>()
        const waiting = new Set<string>()
        for (const { headers, text } of receiver.received) {
          const { data, type } = JSON.parse(text)
          const id = String(headers["webhook-id"])
          assert.strictEqual(about.get(id) ?? text, text)
          about.set(id, text)
          if (type === "run.requires_action") {
            waiting.add(data.run_id)
            continue
          }
          const name = `${type} ${data.run_id}`
          assert.strictEqual(ids.get(name) ?? id, id, name)
          ids.set(name, id)
        }
        assert.deepStrictEqual(
          [...books.waited].filter((id) => !waiting.has(id)),
          []
        )
        const told = { COMPLETED: "run.completed", FAILED: "run.failed" }
        const missing = all.filter(
          ({ run_id, status }) =>
            (status === "COMPLETED" || status === "FAILED") && !ids.has(`${told[status]} ${run_id}`)
        )
        assert.deepStrictEqual(
          missing.map(({ parent_run_id, run_id, schedule_id, status }) => ({
            run_id,
            status,
            parent_run_id,
            schedule_id
          })),
          [],
          "events that never arrived"
        )
        assert.strictEqual(ids.size, all.filter(({ status }) => status === "COMPLETED" || status === "FAILED").length)

        // ------ money: the ledger has the cost of each run once, and no more than the vendor charged
        const [ledger] = await rows<{ cost: number }>(
          "select coalesce(sum(cost_usd), 0) as cost from colloquy.usage_days"
        )
        // What a run has used includes what its helpers have.
        const above = all.filter((run) => run["parent_run_id"] === null)
        const ofRuns = above.reduce((sum, run) => sum + Number(run["cost_usd"]), 0)
        for (const parent of above) {
          const below = all.filter((run) => run["parent_run_id"] === parent.run_id)
          const sum = below.reduce((total, run) => total + Number(run["cost_usd"]), 0)
          assert.isAtLeast(Number(parent["cost_usd"]) + 1e-6, sum, `the cost of ${parent.run_id}`)
        }
        assert.approximately(Number(ledger?.cost), ofRuns, 1e-6)
        assert.isAtMost(Number(ledger?.cost), vendor.answered() * costOfCall + 1e-6)
        for (const run of all.filter(({ status }) => status === "COMPLETED"))
          assert.isAbove(Number(run["cost_usd"]), 0, `the cost of ${run.run_id}`)
      } finally {
        await sql.end()
        for (const { server } of servers) await server[Symbol.asyncDispose]()
      }
    }
  )
}

onPostgres((url) => storm(() => scratchDatabase(url), 25_000))
// Three servers look for work in every shard, so a step of it takes several times as long.
onCitus((url) => storm(() => distributedDatabase(url), 120_000))
