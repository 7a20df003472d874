/** What a scorer sees of stored messages: every leg, every call with its result, documents by name. */
import { judgedReply, judgedTurn } from "@colloquy/core/evals"
import { AssistantId, type Message, MessageId, RunId, ThreadId } from "@colloquy/core"
import { noUsage } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"

const message = (fields: Partial<Message>): Message => ({
  id: MessageId.make("m"),
  threadId: ThreadId.make("t"),
  runId: RunId.make("r"),
  role: "assistant",
  content: null,
  status: "COMPLETED",
  fault: null,
  stopReason: "stop",
  toolCalls: [],
  toolResults: [],
  steps: [],
  provider: "p",
  model: "m",
  assistant: { id: AssistantId.make("a"), version: 3 },
  usage: null,
  metadata: null,
  supplements: null,
  tokens: 1,
  createdAt: new Date(0),
  sequence: 1,
  ...fields
})

const excerpt = (documentId: string, filename: string) => ({
  documentId,
  filename,
  firstOrdinal: 0,
  lastOrdinal: 0,
  place: { heading: null, page: null, slide: null, sheet: null, row: null },
  score: 1,
  lexical: null,
  semantic: null
})

const supplements = {
  documents: {
    value: { excerpts: [excerpt("d1", "terms.pdf"), excerpt("d2", "other.pdf"), excerpt("d1", "terms.pdf")] }
  },
  citations: {
    value: {
      found: [
        { letter: "d", index: 2, start: 0, end: 4 },
        { letter: "m", index: 1, start: 5, end: 9 },
        { letter: "d", index: 9, start: 10, end: 14 }
      ],
      dropped: 0
    }
  },
  outputs: { value: { value: { days: 30 }, method: "native" } }
}

const call = (id: string, name: string) => ({ id, name, arguments: "{}" })

describe("a judged turn", () => {
  const question = message({ role: "user", content: "How long?", assistant: null })
  const first = message({
    content: "Let me look.",
    toolCalls: [call("2", "client")],
    toolResults: [{ toolCallId: "2", toolName: "client", output: "seen", hosted: false }],
    steps: [
      {
        text: "Let me look.",
        toolCalls: [call("1", "hosted"), call("2", "client")],
        hostedResults: [{ toolCallId: "1", toolName: "hosted", output: "found", hosted: true }],
        providerData: null
      }
    ],
    usage: { ...noUsage, inputTokens: 10, costUsd: 0.01 }
  })
  const last = message({ content: "30 days.", supplements, usage: { ...noUsage, inputTokens: 5, costUsd: 0.02 } })

  it("has what all legs said, called and cost", () => {
    const turn = judgedTurn([question, first, last], { millis: 20 }) ?? assert.fail("there is an answer")
    assert.deepInclude(turn, {
      question: "How long?",
      content: "Let me look.\n\n30 days.",
      output: { days: 30 },
      assistantVersion: 3,
      millis: 20,
      promptHash: null
    })
    assert.deepStrictEqual(turn.toolCalls, [
      { name: "hosted", arguments: "{}", result: "found" },
      { name: "client", arguments: "{}", result: "seen" }
    ])
    assert.strictEqual(turn.usage.inputTokens, 15)
    assert.closeTo(turn.costUsd ?? 0, 0.03, 1e-12)
    assert.isNull(judgedTurn([question, last], { millis: 1, costUsd: null })?.costUsd)
    assert.isNull(judgedTurn([question], { millis: 1 }))
  })

  it("names each document once; markers of memories and of nothing cite none", () => {
    const turn = judgedTurn([question, last], { millis: 1 })
    const terms = { documentId: "d1", filename: "terms.pdf" }
    assert.deepStrictEqual(turn?.retrieved, [terms, { documentId: "d2", filename: "other.pdf" }])
    assert.deepStrictEqual(turn?.cited, [terms])
    assert.isNull(judgedTurn([question, first], { millis: 1 })?.cited)
  })

  it("of a reply alone has what the reply tells", () => {
    const turn = judgedReply({
      threadId: ThreadId.make("t"),
      assistantId: AssistantId.make("a"),
      runId: RunId.make("r"),
      messageId: MessageId.make("m"),
      role: "assistant",
      status: "REQUIRES_ACTION",
      content: "Let me look.",
      toolCalls: [call("1", "client")],
      provider: "p",
      model: "m",
      assistantVersion: 3,
      usage: { ...noUsage, costUsd: 0.01 },
      reasoning: null,
      contextUsage: null,
      stopReason: "tools",
      ignored: [],
      supplements: { documents: supplements.documents.value, citations: supplements.citations.value },
      userSupplements: {},
      keptAs: null,
      createdAt: new Date(0)
    })
    assert.deepInclude(turn, { content: "Let me look.", costUsd: 0.01, fault: null, millis: 0 })
    assert.deepStrictEqual(turn.toolCalls, [{ name: "client", arguments: "{}", result: null }])
    assert.deepStrictEqual(turn.cited, [{ documentId: "d1", filename: "terms.pdf" }])
  })
})
