/** The turn of a spoken answer, made out of stored messages. */
import { assert, describe, it } from "@effect/vitest"
import { spokenTurn } from "../src/page/lib/spoken.ts"
import { makeChart, makeLanes, shareAt } from "../src/page/lib/waterfall.ts"
import { emptyAnswer, storedAnswer, turnId } from "../src/page/lib/answer.ts"
import type { StoredMessage } from "../src/page/wire.ts"

const message = (patch: Partial<StoredMessage>): StoredMessage => ({
  message_id: "m2",
  role: "assistant",
  content: "Noon.",
  fault: null,
  partial_content: null,
  status: "COMPLETED",
  stop_reason: "stop",
  run_id: null,
  tool_calls: null,
  system_one: null,
  metadata_: null,
  model_provider: "parts",
  model_name: "voice",
  assistant_id: null,
  assistant_version: null,
  input_tokens: 40,
  output_tokens: 5,
  total_tokens: 45,
  retrieved_files: null,
  retrieved_files_count: 0,
  attachments: null,
  generated_media: null,
  memory_operation_id: null,
  retrieved_memories: null,
  voice_records: null,
  reasoning: null,
  created_at: "2026-03-20T10:00:00.000Z",
  ...patch
})

const question = message({ message_id: "m1", role: "user", content: "What time is it?" })
const times = { pause_ms: 300, transcript_ms: 100, first_token_ms: 250, first_sentence_ms: 600, first_sound_ms: 1000 }

const turnWith = (metadata_: StoredMessage["metadata_"]) =>
  spokenTurn("t1", [question, message({ metadata_ }), message({ message_id: "m3", role: "user" })], "m2")

describe("a spoken turn", () => {
  for (const [name, metadata, lanes, mark, sound] of [
    ["all times", { voice_times: times }, { hear: [0, 0.1], model: [0.1, 0.5], speak: [0.6, 0.4] }, 0.25, 1000],
    ["no first sentence", { voice_times: { ...times, first_sentence_ms: null } }, { hear: [0, 1] }, null, 1000],
    ["a voice that tells none", { interrupted: true }, {}, null, null],
    ["no metadata", null, {}, null, null]
  ] as const)
    it(`has the lanes of the known times: ${name}`, () => {
      const turn = turnWith(metadata)
      const stages = turn?.stages ?? []
      const { bars, total } = makeChart(stages, 0)
      const drawn = makeLanes(bars).map(({ bars: own, lane }) => [
        lane,
        own.flatMap(([, bar]) => [bar.left, bar.width])
      ])
      assert.deepStrictEqual(Object.fromEntries(drawn), lanes)
      assert.strictEqual(shareAt(stages, total, turn?.firstTokenAt ?? null), mark)
      assert.strictEqual(turn?.firstSound, sound)
      assert.strictEqual(turn?.heard, "What time is it?")
      assert.strictEqual(turn?.isInterrupted, metadata !== null && "interrupted" in metadata)
    })

  it("has its calls behind the stages, without times, and the tokens at its model", () => {
    const hosted_calls = [
      { tool_call_id: "c1", tool_name: "clock", arguments: "{}", output: "12:00", content_offset: 0 }
    ]
    const called = message({ message_id: "m1b", content: null, metadata_: { hosted_calls } })
    const others = [message({ message_id: "m0", metadata_: { hosted_calls } }), question, called]
    const turn = spokenTurn("t1", [...others, message({ metadata_: { voice_times: times } })], "m2")
    assert.deepStrictEqual(
      turn?.stages.map(({ kind, name, output_tokens, started_at }) => [kind, name, output_tokens, started_at !== null]),
      [
        ["hear", null, null, true],
        ["model", "voice", 5, true],
        ["speak", null, null, true],
        ["tool", "clock", null, false]
      ]
    )
    assert.deepStrictEqual(turn?.calls, [{ id: "c1", name: "clock", given: "{}", output: "12:00" }])
  })

  it("has an address of its own, which imported answers have not; there is none without its message", () => {
    assert.strictEqual(turnId(storedAnswer(message({}))), "spoken-m2")
    assert.strictEqual(turnWith(null)?.runId, "spoken-m2")
    assert.strictEqual(turnId(storedAnswer(message({ run_id: "r1" }))), "r1")
    assert.isNull(turnId(storedAnswer(message({ imported: true }))))
    assert.isNull(turnId(emptyAnswer))
    assert.isNull(spokenTurn("t1", [question], "m2"))
  })
})
