/** The chat of `useChat` against the standalone server, which is killed while a person is asked. */
import { Chat } from "@ai-sdk/react"
import { assert, describe, it } from "@effect/vitest"
import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai"
import { onEmbedded } from "../../../../test/databases.ts"
import { ColloquyTransport, type TurnMetadata, uiMessages } from "../../src/ai-sdk/index.ts"
import { deskKeys, openDeskService } from "../DeskService.ts"

type Message = UIMessage<TurnMetadata>

const states = ({ lastMessage }: Chat<Message>) =>
  lastMessage?.parts.flatMap((part) => (part.type === "dynamic-tool" ? [part.state] : []))

describe("a chat whose server is killed (SIGKILL) while a call waits for a person", () => {
  onEmbedded("PGlite", () => {
    it("is opened again, and goes on with the decision of its own user", { timeout: 120_000 }, async () => {
      await using service = await openDeskService()
      const { assistant_id } = (await service.call("POST", "/assistants", { name: "a" })).body
      const { thread_id: id } = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body
      const openChat = (apiKey: string, messages: Array<Message> = []) =>
        new Chat<Message>({
          id,
          messages,
          transport: new ColloquyTransport({ baseUrl: service.api, apiKey }),
          sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
        })
      const ended = (chat: Chat<Message>) =>
        new Promise<void>((resolve) => {
          chat["~registerStatusCallback"](() => {
            if (chat.status === "ready" || chat.status === "error") resolve()
          })
        })
      const before = openChat(deskKeys.ada)
      await before.sendMessage({ text: "Please use desk_echo" })
      assert.deepStrictEqual(states(before), ["approval-requested"])
      await service.kill()

      const stored = uiMessages((await service.call("GET", `/threads/${id}`)).body)
      const asked = stored.at(-1)?.parts.find((part) => part.type === "dynamic-tool")
      assert.strictEqual(asked?.state, "approval-requested")
      const decision = { id: asked?.approval?.id ?? "", approved: true }

      const stranger = openChat(deskKeys.bob, stored)
      const refused = ended(stranger)
      await stranger.addToolApprovalResponse(decision)
      await refused
      assert.strictEqual(stranger.status, "error")
      assert.match(stranger.error?.message ?? "", /^There is no run /u)

      const after = openChat(deskKeys.ada, uiMessages((await service.call("GET", `/threads/${id}`)).body))
      const done = ended(after)
      await after.addToolApprovalResponse(decision)
      await done
      assert.deepStrictEqual([after.status, after.error, states(after)], ["ready", undefined, ["output-available"]])
      assert.include(JSON.stringify(after.lastMessage?.parts), "You said: ")
    })
  })
})
