/** What a turn costs more that recalls memories: turns with `memory` against turns without, of one process, with the same assistant and questions. */
import { inRounds } from "../Figures.ts"
import { hammer, send, sendJson } from "../Load.ts"
import { compare, type Effort } from "../Measure.ts"
import type { Row } from "../Report.ts"
import { processTarget, type Side } from "../Side.ts"
import { random, zipfianWord } from "./Random.ts"
import { threadsFor } from "../ThreadTurns.ts"

const concurrency = 16

/** What a recall may add to a turn among this many memories, in milliseconds. */
const among = 100
const goals = { cpuMillis: 0.4, databaseMillis: 0.6 }

export const recallInTurns = async (side: Side, warmMillis: number, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const target = processTarget(side.process)
  const threads = await threadsFor(side, concurrency)
  const { assistant_id: id } = Object(await sendJson(target, "GET", `/api/threads/${threads[0]}`, null))
  const next = random(7)
  const word = () => zipfianWord(next)
  for (let count = 0; count < among; count++) {
    const content = `Likes ${word()} with ${word()}, went to ${word()} and saw a ${word()} ${word()} near the ${word()} of ${word()}.`
    await sendJson(target, "POST", `/api/assistants/${id}/memories`, { content })
  }
  const ask = (options: object, expected: RegExp) => async (worker: number) => {
    const content = `Before we go on with the plan of yesterday: what did I tell you about ${word()}, and about ${word()} with the ${word()} of ${word()}?`
    let answer = ""
    await send(target, "POST", `/api/threads/${threads[worker]}/messages`, { content, ...options }, (piece) => {
      answer += piece
    })
    if (!expected.test(answer)) throw new Error(`A turn was answered otherwise: ${answer.slice(0, 500)}`)
  }
  const recalls = { side, work: ask({ memory: "Readonly" }, /"retrieved_memories":\[/u) }
  const plain = { side, work: ask({}, /"retrieved_memories":null/u) }
  for (const { work } of [recalls, plain]) await hammer(concurrency, warmMillis / 2, work)
  const [ours, theirs] = await compare([recalls, plain], concurrency, effort)
  if (ours === undefined || theirs === undefined) return []
  const added = (unit: string, key: keyof typeof goals): Row => ({
    store: "postgres",
    what: `what a recall among ${among} memories adds to a turn, ${concurrency} at once`,
    unit,
    ...inRounds(
      ours.rounds.map((round, index) => round[key] - (theirs.rounds[index]?.[key] ?? Number.NaN)),
      null
    ),
    target: { of: "value", sense: "at most", bound: goals[key] }
  })
  return [added("CPU ms/turn", "cpuMillis"), added("database CPU ms/turn", "databaseMillis")]
}
