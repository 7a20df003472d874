// An application that uses only the Promise client of its package. `size.ts` measures the size of its bundle.
import { Client } from "@colloquy/http"

export const connect = Client.connect
