/** Run (f): turns that stop for the client's tool and go on with its output. A round is two legs, so two turns of the baseline are beside it. */
import { sendJson } from "../Load.ts"
import { compare, compared, type Effort } from "../Measure.ts"
import type { Row } from "../Report.ts"
import { historySize, type Side, type Store, targetOf, text } from "../Side.ts"

const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }]

const round = async (kernel: Side, threadId: string): Promise<void> => {
  const target = targetOf(kernel.process)
  const message = { content: text, model_name: "tools-20", tools }
  const asked = Object(await sendJson(target, "POST", `/api/threads/${threadId}/messages`, message))
  const outputs = { tool_outputs: [{ tool_call_id: asked.tool_calls[0].id, output: text }] }
  await sendJson(target, "POST", `/api/threads/${threadId}/runs/${asked.run_id}/submit-tool-outputs`, outputs)
}

export const toolRounds = async (
  store: Store,
  kernel: Side,
  baseline: Side,
  effort: Effort
): Promise<ReadonlyArray<Row>> => {
  const threads = await Promise.all(Array.from({ length: 16 }, () => kernel.thread(historySize)))
  const others = await Promise.all(Array.from({ length: 16 }, () => baseline.thread(historySize)))
  const turn = { model: "burst-20", stream: false }
  const twoTurns = async (worker: number) => {
    for (let leg = 0; leg < 2; leg++) await baseline.turn(others[worker] ?? "", turn)
  }
  const jobs = [
    { side: kernel, work: (worker: number) => round(kernel, threads[worker] ?? "") },
    { side: baseline, work: twoTurns }
  ]
  const [ours, raw] = await compare(jobs, 16, effort)
  if (ours === undefined || raw === undefined) return []
  const row = { store, what: "rounds with a client's tool, 16 at once", target: null }
  return [
    { ...row, unit: "rounds/s", ...compared(ours, raw, "perSecond") },
    { ...row, unit: "CPU ms/round", ...compared(ours, raw, "cpuMillis") }
  ]
}
