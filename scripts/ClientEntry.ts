// An application that uses the client for promises and nothing else of its package: what it weighs is measured by `size.ts`.
import { Client } from "@colloquy/http"

export const connect = Client.connect
