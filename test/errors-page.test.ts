/** `docs/errors.md` is made from the declarations of the errors: `npm run test:quick -- -u` writes it after a change. */
import { ModelError, ModelErrorReason } from "@colloquy/core/adapters"
import { assert, expect, it } from "@effect/vitest"
import { join } from "node:path"
import { ErrorCode } from "../packages/core/src/realtime/Frames.ts"
import { declaredErrors, faultCodes, root, statusByError, wireStatuses } from "./ErrorsPage.ts"

/** Errors whose message is handed over, and that say nothing else about themselves. */
const others: Readonly<Record<string, string>> = {
  InvalidKey: "The API key is missing, unknown, revoked or too old.",
  ModelError: "A call of a model failed: its `reason` is one of the codes below.",
  OwnerMissing: "A call named no owner. Use `colloquy.as(…)`, or name the owner in the options of the call."
}

/** The codes that turns give to a failed run, beside those of models. */
const codes: Readonly<Record<string, string>> = {
  answer_not_stored: "The database refused the content of the answer. The log of the server has the cause.",
  budget_exceeded: "The tokens or dollars of the day, or of the run, are used up. What was said is kept.",
  internal_error: "A fault of the server. Its log has the cause.",
  interrupted: "The process that answered has stopped. Send the message again, unless tools were called.",
  not_stored: "The message was refused after its stream had begun. Nothing was stored.",
  repeated:
    "Another request with the same idempotency key came at the same moment, and its turn goes on. Send this one again to read it.",
  output_invalid: "The answer does not fit the schema that was asked for. `detail.problems` names every place.",
  output_not_supported:
    "The model answered without words, or with media that could not be kept. Choose a model that writes.",
  review_failed: "A guard failed or was too late, so its text was not shown. Look at the guard.",
  review_stopped: "A guard stopped the answer. Its reason is the message.",
  store_unavailable: "The database was away for too long. What was said may be lost; send the message again.",
  thread_busy: "The message waited too long for its thread. Send it again.",
  too_many_tool_rounds: "The model called tools more often than `hostedRounds` or `max_steps` allows."
}

/** What `retryable` is, in words. What is no plain yes or no is decided where the fault is made. */
const again: Readonly<Record<string, string>> = { true: "yes", false: "no", error: "if it was late" }

const ofSessions: { readonly [Code in ErrorCode]: string } = {
  unauthorized: "The key or the ticket is missing or wrong.",
  forbidden: "The key does not have the scope `write`.",
  ticket_invalid: "The ticket is unknown, used, or older than a minute. Ask for a new one.",
  origin_mismatch: "The ticket was made for another page.",
  too_many_waiting: "Too many connections wait for their first frame. Connect again later.",
  first_frame_timeout: "The first frame did not come in time.",
  invalid_first_frame: "The first frame cannot be read, or names something that does not go together.",
  thread_not_found: "There is no such thread.",
  assistant_not_found: "There is no such assistant.",
  model_mismatch: "The model does not belong to the provider.",
  provider_unavailable: "The provider cannot be reached, or is not registered.",
  insufficient_credit: "There is not enough credit.",
  session_conflict: "Another session or a run writes the thread. End it first.",
  history_too_large: "The conversation does not fit the session. Begin a new thread.",
  not_ready: "A frame came before `session.begin`. Wait for it.",
  invalid_frame: "A frame cannot be read. The session goes on.",
  unsupported_frame: "The model of this session does not take such a frame. The session goes on.",
  invalid_tool_output: "An output names no open call. The session goes on.",
  frame_too_large: "A frame is larger than the server takes.",
  input_limit: "More sound came than a session may have waiting. Send it at the speed of speech.",
  session_limit: "The session has reached its longest time. Begin a new one on the same thread.",
  idle_timeout: "Nobody spoke for too long.",
  provider_error: "The provider failed.",
  provider_closed: "The provider has closed the connection.",
  history_incomplete: "Not everything that was said could be stored.",
  billing_pending: "The session has ended, and its costs are not stored yet. They will be.",
  internal_error: "A fault of the server. Its log has the cause."
}

const row = (...cells: ReadonlyArray<string>) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>) =>
  [row(...head), `|${head.map(() => "---").join("|")}|`, ...rows.map((cells) => row(...cells))].join("\n")

const reasons: ReadonlySet<string> = new Set(ModelErrorReason.literals)

const modelRows = ModelErrorReason.literals.map((reason) => {
  const error = new ModelError({ reason, provider: "p", model: "m" })
  return [`\`${reason}\``, error.message.replace(/ \(p\/m.*$/u, ""), error.isRetryable ? "yes" : "no"]
})

const page = `# What does this error mean?

Made from the sources. The sentences use words of the glossary: [thread](../GLOSSARY.md#thread), [run](../GLOSSARY.md#run), [turn](../GLOSSARY.md#turn), [owner](../GLOSSARY.md#owner), [host](../GLOSSARY.md#host), [room](../GLOSSARY.md#room), [follow-up](../GLOSSARY.md#follow-up), [erasure](../GLOSSARY.md#erasure), [catalogue](../GLOSSARY.md#catalogue), [variant](../GLOSSARY.md#variant), [scorer](../GLOSSARY.md#scorer), [judge](../GLOSSARY.md#judge), [typed answer](../GLOSSARY.md#typed-answer).

An error of the library has a class and the same word as its \`_tag\`: \`error instanceof ThreadBusy\`, \`error._tag === "ThreadBusy"\`. Its message says what happened and what to do. Over HTTP an error is a status with \`{"detail": …}\`: a sentence, or for 422 a list of \`{loc, msg, type}\` with every problem and its place.

A turn that has begun and fails is no error of the call: its reply has the status \`FAILED\` and a \`fault\` with \`code\`, \`message\` and \`retryable\`.

## Statuses over HTTP

${table(
  ["status", "when"],
  wireStatuses.toSorted((a, b) => a.status - b.status).map(({ status, when }) => [String(status), when])
)}

With 429 and 503 \`Retry-After\` says when to send the request again. A request with \`Idempotency-Key\` can be repeated without a second effect.

## Codes of a failed turn

${table(
  ["code", "what happened, and what to do", "again?"],
  [
    ...modelRows,
    ...Object.entries(codes).map(([code, sentence]) => [
      `\`${code}\``,
      sentence,
      again[faultCodes.get(code) ?? ""] ?? "unknown"
    ])
  ]
)}

"Again" is the \`retryable\` of the fault: the same message may succeed later. After a tool was called it is always false, because the tool may have done its work.

## Errors of the library

"…" stands for a value. The second column is the status over HTTP, where the error can reach a client.

${table(
  ["error", "HTTP", "what it says"],
  declaredErrors.map(({ comment, name, says }) => [
    `\`${name}\``,
    statusByError.get(name) ?? "",
    says.length > 0 ? says.join(" Or: ") : (others[name] ?? comment)
  ])
)}

## Codes of a voice session

A [voice session](realtime.md) tells them in an \`error\` frame. Where the sentence does not say that the session goes on, the socket is closed.

${table(
  ["code", "what happened, and what to do"],
  ErrorCode.literals.map((code) => [`\`${code}\``, ofSessions[code]])
)}
`

it("the page of errors is made from their declarations, of which each says something", async () => {
  assert.isAbove(declaredErrors.length, 80)
  assert.deepStrictEqual(
    [...faultCodes.keys()].filter((code) => codes[code] === undefined && !reasons.has(code)),
    []
  )
  for (const code of Object.keys(codes)) assert.isDefined(again[faultCodes.get(code) ?? ""], code)
  const silent = declaredErrors.filter(
    ({ comment, name, says }) => `${comment}${others[name] ?? ""}` === "" && says.length === 0
  )
  assert.deepStrictEqual(silent, [])
  const unanswered = [...statusByError].filter(([, status]) => status === "")
  assert.deepStrictEqual(unanswered, [])
  await expect(page).toMatchFileSnapshot(join(root, "docs/errors.md"))
})
