/**
 * Videos on servers that are killed, over one database: at the order, at a status request, in the middle of the video and when it is
 * stored. At most one job is ordered, no stored video is lost, no cost is charged twice; if jobs are continued after their turn, another
 * server does it.
 */
import { assert, it } from "@effect/vitest"
import pg from "pg"
import { onPostgres } from "../../../test/databases.ts"
import { scratchDatabase } from "./ScratchDatabase.ts"
import { spawnServer } from "./ServerProcess.ts"
import { callApi } from "./TestServer.ts"
import { clip, cost, jobId, modelName, openVendor, type Stage, stages } from "./VideoVendor.ts"

const key = "key-of-ada-0123456"

/** The name of the process is its key at the vendor. */
const open = async (name: string, databaseUrl: string, vendorUrl: string, settings: Record<string, string> = {}) => {
  const server = spawnServer({
    DATABASE_URL: databaseUrl,
    PORT: "0",
    COLLOQUY_API_KEYS: `${key}=ada`,
    OPENROUTER_BASE_URL: vendorUrl,
    OPENROUTER_API_KEY: name,
    RUN_LEASE_SECONDS: "3",
    VIDEO_POLL_SECONDS: "1",
    ...settings
  })
  const api = /listens on (\S+),/.exec(await server.printed(/Documentation/))?.[1] ?? assert.fail(server.output())
  const get = async (path: string) => (await callApi({ api, key }, "GET", path)).body
  return {
    name,
    api,
    get,
    /** Begins a turn that orders a video, and returns its place. */
    begin: async (stage: Stage) => {
      const response = await fetch(`${api}/threads/messages`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify({
          content: `A video, ${stage}`,
          stream: true,
          llm_provider: "router",
          model_name: "acme/talk",
          video_generation: "auto",
          video_model_provider: "router",
          video_model_name: modelName
        })
      })
      const reader = (response.body ?? assert.fail()).getReader()
      let text = ""
      while (true) {
        const place = /"thread_id":"([^"]+)".*"run_id":"([^"]+)"/u.exec(text)
        if (place !== null) return { stage, threadId: place[1] ?? "", runId: place[2] ?? "" }
        const { done, value } = await reader.read()
        if (done) assert.fail(text)
        text += new TextDecoder().decode(value)
      }
    },
    /** The last event of a run, as soon as there is one. */
    end: async (threadId: string, runId: string) => {
      const response = await fetch(`${api}/threads/${threadId}/runs/${runId}/events`, { headers: { "x-api-key": key } })
      const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: "))
      return JSON.parse(lines.at(-1)?.slice(6) ?? "null")
    },
    bytes: async (documentId: string) => {
      const response = await fetch(`${api}/documents/${documentId}/content`, { headers: { "x-api-key": key } })
      return new Uint8Array(await response.arrayBuffer())
    },
    videoCosts: async () => {
      const { data } = await get("/billing/usage/recent")
      return data.flatMap((row: { purpose: string; amount_deducted_usd: number | null }) =>
        row.purpose === "video" ? [row.amount_deducted_usd] : []
      )
    },
    kill: async () => {
      server.child.kill("SIGKILL")
      await server.ended
    },
    [Symbol.asyncDispose]: server[Symbol.asyncDispose]
  }
}

/** Waits until the follow-ups of videos have ended, as the database shows it. */
const followUpsDone = async (databaseUrl: string, count: number) => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    while (true) {
      const { rows } = await client.query(
        "select status from colloquy.follow_ups where kind = 'media.video' and status <> 'pending'"
      )
      const ended = rows.filter(({ status }) => status !== "running")
      assert.isEmpty(ended.filter(({ status }) => status !== "done"))
      if (ended.length === count) return
      await client.query("select pg_sleep(0.2)")
    }
  } finally {
    await client.end()
  }
}

onPostgres((url) => {
  it(
    "kill -9 at submit, at polling, in the middle of the clip and when it is stored: one order each, each clip stored once, each cost charged once",
    { timeout: 240_000 },
    async () => {
      await using database = await scratchDatabase(url)
      await using vendor = await openVendor()
      const goOn = { VIDEO_REATTACH: "true" }
      await using first = await open("sk-first", database.url, vendor.baseUrl, goOn)
      const places = await Promise.all(stages.map((stage) => first.begin(stage)))
      for (const stage of stages) assert.strictEqual(await vendor.held(stage), first.name)
      const stageDocuments = async (server: typeof first, stage: Stage) =>
        server.get(`/threads/${places.find((place) => place.stage === stage)?.threadId}/documents`)
      const [stored] = await stageDocuments(first, "stored")
      await first.kill()

      vendor.release("submit", "polling", "stored")
      await using second = await open("sk-second", database.url, vendor.baseUrl, goOn)
      await using third = await open("sk-third", database.url, vendor.baseUrl, goOn)
      // A failed turn must not be sent again without a look at the thread.
      for (const { runId, threadId } of places) {
        const end = await third.end(threadId, runId)
        assert.deepInclude(end, { type: "run_failed", code: "interrupted", retryable: false })
      }
      // One server continues the interrupted video, and is killed in the middle of it too.
      const [doomed, last] = (await vendor.held("storing", 2)) === second.name ? [second, third] : [third, second]
      await doomed.kill()
      vendor.release("storing")

      await followUpsDone(database.url, 3)
      for (const stage of stages) {
        const documents = await stageDocuments(last, stage)
        const { metadata_: metadata } = await last.get(
          `/threads/${places.find((place) => place.stage === stage)?.threadId}`
        )
        if (stage === "submit") {
          // The job's id is unknown, so no server can continue it. Its row says that it was being ordered.
          assert.deepStrictEqual(documents, [])
          assert.deepInclude(metadata.video_jobs, {
            job_id: null,
            run_id: places.find((place) => place.stage === stage)?.runId,
            model: metadata.video_jobs[0].model,
            tool_call_id: metadata.video_jobs[0].tool_call_id,
            status: "ordering",
            cost_usd: null
          })
          continue
        }
        assert.lengthOf(documents, 1, stage)
        assert.deepStrictEqual(await last.bytes(documents[0].document_id), clip)
        assert.lengthOf(metadata.video_jobs, 1)
        assert.deepInclude(metadata.video_jobs[0], { job_id: jobId(stage), status: "completed", cost_usd: cost })
      }
      assert.strictEqual((await stageDocuments(last, "stored"))[0].document_id, stored.document_id)
      assert.sameMembers(
        vendor.orders.map(({ at, key: by }) => `${at} ${by}`),
        stages.map((stage) => `${stage} ${first.name}`)
      )
      const costs: ReadonlyArray<number> = await last.videoCosts()
      assert.lengthOf(costs, 1)
      assert.closeTo(costs[0] ?? 0, 3 * cost, 1e-9)
    }
  )

  it(
    "a process interruption does not cancel the upstream job, and there is no automatic recovery: the thread says which job it was",
    { timeout: 120_000 },
    async () => {
      await using database = await scratchDatabase(url)
      await using vendor = await openVendor()
      await using first = await open("sk-first", database.url, vendor.baseUrl)
      const { runId, threadId } = await first.begin("polling")
      await vendor.held("polling")
      await first.kill()
      vendor.release("polling")
      await using second = await open("sk-second", database.url, vendor.baseUrl)
      const end = await second.end(threadId, runId)
      assert.deepInclude(end, { type: "run_failed", code: "interrupted", retryable: false })
      assert.match(end.error, /Look at the thread before you send the message again/u)
      const { metadata_: metadata } = await second.get(`/threads/${threadId}`)
      assert.deepStrictEqual(metadata.video_jobs, [
        { job_id: jobId("polling"), run_id: runId, model: modelName, status: "pending", cost_usd: null }
      ])
      assert.deepStrictEqual(await second.get(`/threads/${threadId}/documents`), [])
      assert.lengthOf(vendor.orders, 1)
      // The order was sent and nobody heard what it costs: it is in the account without an amount.
      assert.deepStrictEqual(await second.videoCosts(), [null])
    }
  )
})
