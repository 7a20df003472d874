"use client"
/** The page: it reads the thread that the address names (`#<thread id>`), so that a reload shows it again and goes on with its answer. */
import { connect } from "@colloquy/http/client"
import { uiMessages } from "@colloquy/http/ai-sdk"
import { useEffect, useState } from "react"
import { Chat, type ChatProps } from "./Chat.tsx"

const readThread = async (id: string): Promise<ChatProps> => {
  if (id === "") return { id: "new", messages: [] }
  const client = await connect({ baseUrl: "/ai" })
  return { id, messages: uiMessages(await client.threads.get(id)) }
}

const Page = () => {
  const [chat, setChat] = useState<ChatProps | null>(null)
  useEffect(() => {
    readThread(location.hash.slice(1)).then(setChat, () => setChat({ id: "new", messages: [] }))
  }, [])
  return chat === null ? <p role="status">The chat opens.</p> : <Chat {...chat} />
}
export default Page
