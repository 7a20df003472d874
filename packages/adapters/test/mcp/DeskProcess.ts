/** The desk as a program that speaks over its standard input and output. */
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { makeDesk } from "./DeskServer.ts"

serveStdio(makeDesk)
