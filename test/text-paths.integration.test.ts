/**
 * Whatever a client, a file, a vendor or a tool server sends: the work for it grows in line with its length. Each path of text gets every
 * pattern below, and those that cost it the most once, twice and four times.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { doc, docx, paragraph, pptx, shape, xlsx } from "../packages/adapters/test/files/MadeFiles.ts"
import {
  end as endAnswer,
  start as startAnswer,
  step as readChunk
} from "../packages/adapters/src/protocols/OpenAiChat.ts"
import { plainDialect } from "../packages/adapters/src/protocols/OpenAiDialect.ts"
import { makeSseReader } from "../packages/adapters/src/protocols/Sse.ts"
import { makeTagSplitter } from "../packages/adapters/src/protocols/ThinkTags.ts"
import { hasWords } from "../packages/adapters/src/protocols/Lowering.ts"
import { isUsableSchema } from "../packages/adapters/src/protocols/UsableSchema.ts"
import { asSentence } from "../packages/adapters/src/mcp/McpTools.ts"
import { literalAddress, isPublicAddress } from "../packages/adapters/src/webhooks/Addresses.ts"
import { readListing } from "../packages/adapters/src/blobs/S3Xml.ts"
import { readFile } from "../packages/adapters/src/files/readFile.ts"
import { checkTypedAsk } from "../packages/core/src/answers/CheckQuestions.ts"
import { readStated } from "../packages/core/src/answers/StatedAnswers.ts"
import { Colleague, handoffName } from "../packages/core/src/assistants/Colleague.ts"
import { readExtension } from "../packages/core/src/documents/FileType.ts"
import type { PlainExpectation } from "../packages/core/src/evals/Expectation.ts"
import { scorePlain } from "../packages/core/src/evals/Scorers.ts"
import { readOperations } from "../packages/core/src/memory/Extraction.ts"
import { isInstruction } from "../packages/core/src/memory/Instructions.ts"
import { readDate } from "../packages/core/src/memory/MemoryDates.ts"
import { readingLines } from "../packages/core/src/memory/MemoryLines.ts"
import { memoryKey } from "../packages/core/src/memory/MemoryRecord.ts"
import { readOrder } from "../packages/core/src/retrieval/Reranker.ts"
import { hasSecret } from "../packages/core/src/memory/Secrets.ts"
import { estimateTokens } from "../packages/core/src/models/EstimateTokens.ts"
import { operatorDetail } from "../packages/core/src/models/OperatorDetail.ts"
import { jsonIn } from "../packages/core/src/outputs/OutputText.ts"
import { PartialJson } from "../packages/core/src/outputs/PartialJson.ts"
import { noUsage } from "../packages/core/src/primitives/Usage.ts"
import { runSteps } from "../packages/core/src/primitives/Steps.ts"
import { framed, newFrameWord, onOneLine } from "../packages/core/src/prompts/Frame.ts"
import { spokenDates } from "../packages/core/src/retrieval/Dates.ts"
import { detectLanguage } from "../packages/core/src/retrieval/Language.ts"
import { noteOnQuery, splitTerms, termsByLanguage } from "../packages/core/src/retrieval/Terms.ts"
import { cut } from "../packages/core/src/summaries/SummaryPrompt.ts"
import { checkedSchema } from "../packages/core/src/tools/CheckedSchema.ts"
import { makeSpokenText } from "../packages/core/src/voice/SpokenText.ts"
import { ThreadId } from "../packages/core/src/primitives/Ids.ts"
import { readTimes } from "../packages/core/src/schedules/ScheduleTimes.ts"
import { readImport } from "../packages/core/src/turns/Import.ts"
import { defaultImportLimits } from "../packages/core/src/turns/ImportLimits.ts"
import { newSecret, signedHeaders } from "../packages/core/src/webhooks/Signature.ts"
import { textOfResults } from "../packages/core/src/web-search/Sources.ts"
import { runBody } from "../packages/http/src/ag-ui/RunInput.ts"
import { casesBody } from "../packages/http/src/bodies/CasesBody.ts"
import { importBody } from "../packages/http/src/bodies/ImportBody.ts"
import { conversationBodies } from "../packages/http/src/endpoints/ConversationsApi.ts"
import { Cursor } from "../packages/http/src/endpoints/InboxApi.ts"
import { LastEventId, runBodies } from "../packages/http/src/endpoints/RunsApi.ts"
import { versionsIn } from "../packages/http/src/handlers/AssistantsHandlers.ts"
import { ScheduleRequest } from "../packages/http/src/wire/ScheduleRecords.ts"
import { WebhookRequest } from "../packages/http/src/wire/WebhookRecords.ts"
import { FormParts } from "../packages/http/src/bodies/FormParts.ts"
import { MediaLifter } from "../packages/http/src/bodies/LiftedMedia.ts"
import { decodingFormText } from "../packages/http/src/bodies/Text.ts"
import { inOneSegment } from "../packages/http/src/endpoints/SlashedNames.ts"
import { withoutLineEnds } from "../packages/http/src/streams/LineEnds.ts"
import { parseJson } from "../packages/http/src/wire/Json.ts"
import { growsInLine, repeated } from "./growth.ts"

/** Names have at most 1,024 characters, and headers 16 KB. */
const longestName = 16_384

/** The work of a path on one text. */
type Work = (text: string) => unknown

const word = Effect.runSync(newFrameWord)
const utf8Bytes = (text: string) => new TextEncoder().encode(text)

/** In the smallest pieces in which a text may come. */
const inPieces = (text: string, feed: (piece: string) => void): void => {
  for (let at = 0; at < text.length; at += 4) feed(text.slice(at, at + 4))
}

const spoken = (text: string, feedAll: (text: string, feed: (piece: string) => void) => void) => {
  const reader = makeSpokenText()
  feedAll(text, reader.feed)
  reader.end()
}

const form = (text: string) => {
  const headers = { "content-type": "multipart/form-data; boundary=B" }
  const megabyte = 1024 * 1024
  const limits = {
    text: megabyte,
    body: 8 * megabyte,
    file: 50 * megabyte,
    upload: 200 * megabyte,
    files: 20,
    parts: 200
  }
  const parts = new FormParts(headers, limits)
  const bytes = utf8Bytes(text)
  for (let at = 0; at < bytes.length; at += 65_536) {
    parts.write(bytes.subarray(at, at + 65_536))
    while (parts.take() !== undefined);
  }
  parts.end()
}

const named = (disposition: string) => `--B\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`

const lifted = (text: string) => {
  const lifter = new MediaLifter({ text: 1e9, media: 1e9 })
  lifter.write(utf8Bytes(text))
  lifter.end()
}

const asJson = (text: string): unknown => {
  const parsed = parseJson(text)
  return Result.isSuccess(parsed) ? parsed.success : null
}

const read = (extension: string) => (text: string) =>
  readFile({ extension, tables: null }, utf8Bytes(text)).catch(() => null)

/** As XML, without the characters that XML does not have. */
const inXml = (text: string): string =>
  text
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/gu, "?")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")

const readMade = (extension: string, made: (text: string) => Uint8Array) => (text: string) =>
  readFile({ extension, tables: null }, Uint8Array.from(made(text))).catch(() => null)

/** The arguments of a call, in the chunks of a vendor. */
const calling = (text: string) => {
  const dialect = { ...plainDialect }
  const request = { tools: [], messages: [] }
  const state = startAnswer(request as unknown as Parameters<typeof startAnswer>[0], dialect, () => "call", 1000)
  const call = (more: object) => ({ choices: [{ delta: { tool_calls: [{ index: 0, ...more }] } }] })
  readChunk(state, call({ id: "1", function: { name: "f", arguments: "" } }), [])
  inPieces(text, (piece) => readChunk(state, call({ function: { arguments: piece } }), []))
  endAnswer(state, [], true)
}

const importing = {
  threadId: ThreadId.make("01a20a9f-d675-7941-b795-9d37a882ac23"),
  at: new Date(0),
  limits: defaultImportLimits
}
const counter = { count: estimateTokens }
const webhookSecret = Effect.runSync(newSecret)

/** A body of messages, in pieces that are shorter than its lines. */
const imported = async (value: unknown) => {
  const body = importBody.decode({ value, files: [], problems: [] }, noParts)
  if (Result.isFailure(body)) return
  await Effect.runPromise(Effect.ignore(readImport(runSteps(body.success.messages()), { ...importing, counter })))
}

const inShortPieces = (text: string) =>
  Array.from({ length: Math.ceil(text.length / 100) }, (_, at) => text.slice(100 * at, 100 * at + 100))

const noParts = { installed: { has: () => false }, problems: () => [] } as unknown as Parameters<
  typeof importBody.decode
>[1]

/** The bodies that act on a conversation, with the text wherever one may be. */
const acting = (text: string) => {
  const metadata = asJson(text) ?? { [text.slice(0, longestName)]: text }
  const value = { message_id: text, content: text, metadata, in: text, keep: text, model_name: text, output_name: text }
  const { edit, fork, regenerate, rewind } = conversationBodies
  for (const body of [edit, fork, regenerate, rewind]) body.decode({ value, files: [], problems: [] }, noParts)
}

const givenCase = (text: string) => ({
  question: text,
  name: text,
  tags: [text],
  expectations: [
    { kind: "contains", text },
    { kind: "matches", pattern: text },
    { kind: "calls", tool: text, arguments: asJson(text) ?? {} },
    { kind: "json_schema", schema: asJson(text) ?? {} }
  ]
})

const cases = (value: unknown) => {
  const body = casesBody.decode({ value, files: [], problems: [] }, noParts)
  return Result.isSuccess(body) && runSteps(body.success.cases())
}

const scored = (text: string) => {
  const turn = {
    question: text,
    content: text,
    output: null,
    status: "COMPLETED",
    fault: null,
    stopReason: "stop",
    toolCalls: [{ name: "f", arguments: text, result: text }],
    retrieved: [],
    cited: null,
    usage: noUsage,
    costUsd: null,
    millis: 1,
    provider: null,
    model: null,
    assistantVersion: 1,
    promptHash: null
  } as const
  const expected: ReadonlyArray<PlainExpectation> = [
    { kind: "contains", text: "nowhere", ignore_case: true },
    { kind: "matches", pattern: "(a|b )+[x-z]{3}$" },
    { kind: "equals", text },
    { kind: "json_schema", schema: { type: "object", additionalProperties: false } },
    { kind: "calls", tool: "f", arguments: { a: 1 } },
    { kind: "calls_none" },
    { kind: "refuses" }
  ]
  for (const each of expected) scorePlain(each, turn)
}

const decoding = (schema: Schema.ConstraintDecoder<unknown>, value: (text: string) => unknown): Work => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all" })
  return (text) => decode(value(text))
}

const address = (text: string) => {
  for (const given of [`https://${text}`, `https://a.example/${text}`, `https://[${text}]/`])
    if (URL.canParse(given)) {
      const literal = literalAddress(new URL(given))
      if (literal !== null) isPublicAddress(literal)
    }
}

const paths: Readonly<Record<string, Work>> = {
  "lines of an import": (text) => imported(inShortPieces(text)),
  "a line of an import": (text) =>
    imported(inShortPieces(JSON.stringify({ role: "user", content: text, metadata: { text } }))),
  "messages of an import": (text) =>
    imported({ messages: [{ role: text, content: text, tool_call_id: text }], metadata: { text } }),
  "the body of a fork, a rewind, an edit or a regeneration": acting,
  "decisions about calls": (text) => {
    const args = asJson(text) ?? { [text.slice(0, longestName)]: text }
    const approvals = [{ tool_call_id: text, decision: text, reason: text, arguments: args }]
    return runBodies.decide.decode({ value: { approvals }, files: [], problems: [] }, noParts)
  },
  "cases of an import": (text) => cases({ cases: [givenCase(text)] }),
  "lines of cases": (text) => cases(inShortPieces(text)),
  "a line of cases": (text) => cases(inShortPieces(JSON.stringify(givenCase(text)))),
  "an answer that is scored": scored,
  "a run of an AG-UI client": (text) => {
    const messages = [{ id: "1", role: "user", content: text }]
    const context = [{ description: text, value: text }]
    const state = asJson(text) ?? text
    const value = { threadId: "t", runId: text, messages, context, state, forwardedProps: { colloquy: state } }
    return runBody.decode({ value, files: [], problems: [] }, noParts)
  },
  "the body of a webhook": decoding(WebhookRequest, (text) => ({ url: text, events: [text], description: text })),
  "the address of a webhook": address,
  "a delivery of a webhook": (text) =>
    Effect.runPromise(signedHeaders([webhookSecret], { id: "id", at: new Date(0), body: JSON.stringify({ text }) })),
  "the body of a schedule": decoding(ScheduleRequest, (text) => ({
    cron: text,
    timezone: text,
    content: text,
    thread: { thread_id: text }
  })),
  "the times of a schedule": (text) => [
    readTimes({ cron: text, timezone: text }, new Date(0)),
    readTimes({ cron: text.slice(0, 200), timezone: "Europe/Berlin" }, new Date(0))
  ],
  "a name of a helper": decoding(Colleague, (text) => ({ assistantId: text, name: text, description: text })),
  "a name of a handoff": decoding(handoffName, (text) => text),
  "versions in a header": (text) => versionsIn(text.slice(0, longestName)),
  "the last event in a header": decoding(LastEventId, (text) => text.slice(0, longestName)),
  "a cursor of the inbox": decoding(Cursor, (text) => text.slice(0, longestName)),
  "a query": (text) => termsByLanguage(text),
  "the note on a query": noteOnQuery,
  "terms of a document": (text) => splitTerms(text, "de"),
  "the language of a text": detectLanguage,
  "dates in a conversation": (text) => spokenDates(text, new Date(0)),
  "tokens of a text": estimateTokens,
  "a text for a summary": (text) => cut(text, 50_000, { count: estimateTokens }),
  "a name in a prompt": (text) => onOneLine(text.slice(0, longestName)),
  "a text in its frame": (text) => framed(word, text),
  "the name of a file": (text) => readExtension(text.slice(0, longestName)),
  "a memory": (text) => [memoryKey(text), hasSecret(text), isInstruction(text)],
  "a date of a memory": readDate,
  "lines of memories": (text) => runSteps(readingLines(text, (content) => (hasSecret(content) ? "secret" : null))),
  "a line of memories": (text) => runSteps(readingLines(JSON.stringify({ content: text }), () => null)),
  "what a model learned": readOperations,
  "what a model learned, as JSON": (text) => readOperations(JSON.stringify({ operations: [{ content: text }] })),
  "the order of a model": (text) => readOrder(text, 50),
  "the answer to a typed question": (text) => readStated(text, []),
  "a typed question": (text) => checkTypedAsk({ questions: { [text]: { question: text, options: { [text]: text } } } }),
  "typed options": (text) =>
    checkTypedAsk({
      questions: {
        q: {
          question: "?",
          options: Object.fromEntries(Array.from(text.slice(0, 50_000), (each, at) => [`${each}${at}`, each]))
        }
      }
    }),
  "results of a web search": (text) => {
    const url = "https://example.org/"
    return textOfResults([{ url, title: text }], [{ url, title: text, text, publishedAt: text }], 10_000, word)
  },
  "markdown that is spoken": (text) => spoken(text, (all, feed) => feed(all)),
  "markdown that is spoken in pieces": (text) => spoken(text, inPieces),
  "a line of a table that is spoken in pieces": (text) => spoken(`|${text}`, inPieces),
  "code that is spoken in pieces": (text) => spoken(`\`\`\`\n${text}`, inPieces),
  "events of a vendor in pieces": (text) => {
    const reader = makeSseReader(Number.POSITIVE_INFINITY)
    inPieces(text, (piece) => reader.feed(piece))
    reader.end()
  },
  "thoughts of a model in pieces": (text) => {
    const reader = makeTagSplitter()
    inPieces(text, (piece) => reader.feed(piece, []))
    reader.end([])
  },
  "a text of a model": hasWords,
  "a sentence of a tool server": asSentence,
  "a schema of a tool server": (text) =>
    isUsableSchema({ type: "object", properties: { [text]: asJson(text), a: { enum: [text], required: [text] } } }),
  "a listing of a bucket": readListing,
  "a JSON body": parseJson,
  "a text in a JSON body": (text) => parseJson(JSON.stringify({ text })),
  "a body of /v1": lifted,
  "a picture in a body of /v1": (text) => lifted(`{"url":"data:image/png;base64,${text}`),
  "sound in a body of /v1": (text) => lifted(`{"data":"${text}"}`),
  "a field of a form": (text) => runSteps(decodingFormText(utf8Bytes(text))),
  "a multipart body": form,
  "a field of a multipart body": (text) => form(`${named('name="a"')}${text}`),
  "a file of a multipart body": (text) => form(`${named('name="a"; filename="a.txt"')}${text}`),
  "a name in a multipart body": (text) => form(named(`name="${text.slice(0, 60_000)}"`)),
  "headers of a part": (text) => form(`--B\r\n${text}`),
  "an error of a vendor": (text) => operatorDetail(text, text),
  "the JSON in an answer": jsonIn,
  "an object that is being written": (text) => {
    const partial = new PartialJson()
    inPieces(text, (piece) => partial.push(piece))
  },
  "a text in an object that is being written": (text) => {
    const partial = new PartialJson()
    inPieces(JSON.stringify([[text]]), (piece) => partial.push(piece))
  },
  "a value of a schema": (text) => {
    const fits = Result.getOrThrow(
      checkedSchema({ pattern: "^(a+|b)*c?$", minLength: 2, enum: ["a"], items: { type: "null" } })
    )
    return [fits.findProblems(text), fits.findProblems(Array.from(text.slice(0, 100_000)))]
  },
  "a schema of answers": (text) =>
    checkedSchema({ properties: { [text]: { enum: [text], pattern: text.slice(0, 1000) } } }),
  "a path": (text) => inOneSegment(`/models/${text}`),
  "an event for a client": withoutLineEnds,
  "a text file": read("txt"),
  "a page": read("html"),
  "a table": read("csv"),
  "a document of markdown": read("md"),
  "lines of JSON": read("jsonl"),
  XML: read("xml"),
  "a document of Word": readMade("docx", (text) => docx(paragraph(inXml(text)))),
  "paragraphs of a document of Word": readMade("docx", (text) => docx(inXml(text).replaceAll("?", paragraph("a")))),
  slides: readMade("pptx", (text) => pptx([{ xml: shape(inXml(text)), notes: shape(inXml(text)) }])),
  "a sheet": readMade("xlsx", (text) =>
    xlsx({ One: `<row><c t="inlineStr"><is><t>${inXml(text)}</t></is></c></row>` })
  ),
  "an old document of Word": readMade("doc", (text) => doc(text)),
  "the arguments of a call in pieces": calling,
  "a program": read("ts")
}

const patterns = [
  "a",
  " ",
  "\n",
  "\r\n",
  "\t",
  "word ",
  "word\n",
  "1",
  "12 ",
  ".",
  "a.",
  "1.",
  ",",
  ":",
  '"',
  '"a',
  "'",
  "`",
  "```\n",
  "[",
  "[]",
  "(",
  ")",
  "{",
  "}",
  "<",
  "<a>",
  "<a ",
  "</a>",
  "<!--",
  "<![CDATA[",
  "&",
  "&amp;",
  "&#1",
  "|",
  "a|b\n",
  "-",
  "-\n",
  "# a\n",
  "#",
  ">",
  "*",
  "_",
  "\\",
  '\\"',
  "/",
  "http://a/",
  "a@",
  "=",
  "%",
  "%41",
  "+",
  "\u0301",
  "😀",
  "👩‍👩‍👧",
  "🇩🇪",
  "\ud83d",
  "日本語",
  "สวัสดี",
  "नमस्ते ",
  "\u202e",
  "\u0000",
  "\ufeff",
  "\u2028",
  "aB",
  "0f",
  "aA1/",
  "[1,",
  '{"a":',
  "data: x\n",
  "data:",
  "<think>",
  "</think",
  "2024-01-01 ",
  "last monday ",
  "1 day ago ",
  "--B\r\n",
  "\r\n--",
  "\r\n--B",
  "x: y\r\n",
  '"a","b"\n',
  "class A {\n",
  "’s",
  "z.B. ",
  "A. ",
  "123-45-",
  "4111 ",
  "password is ",
  "ignore all ",
  "- a\n",
  "> ",
  "<tr><td>",
  "「行く。」",
  "3. Oktober ",
  "![a](b)",
  "[a]("
]

const least = (work: Work, text: string): number => {
  let shortest = Number.POSITIVE_INFINITY
  for (let run = 0; run < 2; run++) {
    const before = performance.now()
    work(text)
    shortest = Math.min(shortest, performance.now() - before)
  }
  return shortest
}

/** The patterns that cost a path the most, found with short texts. */
const worstPatterns = (work: Work): ReadonlyArray<string> =>
  patterns
    .map((pattern) => [pattern, least(work, repeated(pattern, 2_000))] as const)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 2)
    .map(([pattern]) => pattern)

describe("work grows in line with", () => {
  it.each(Object.entries(paths))("%s", { timeout: 120_000 }, async (_name, work) => {
    for (const pattern of worstPatterns(work))
      await growsInLine((length) => repeated(pattern, length), 8_000, work, { longest: 500_000 })
  })
})

describe("a schema that a tool server nests without end", () => {
  it("is refused", () => {
    let schema: unknown = []
    for (let depth = 0; depth < 100_000; depth++) schema = [schema]
    assert.isFalse(isUsableSchema({ type: "object", properties: { a: { type: schema } } }))
  })
})
