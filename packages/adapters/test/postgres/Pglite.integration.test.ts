/** The contract of every storage port on PGlite, in memory. */
import { followUpStoreSuite, storageSuite } from "@colloquy/testing/contracts"
import { onEmbedded } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { longTextSuite } from "./LongTexts.ts"

onEmbedded("PGlite", () => {
  storageSuite("PGlite", Pglite.layer(), { testClock: false, signals: true })
  followUpStoreSuite("PGlite", Pglite.layer(), { testClock: false, signals: true })
  longTextSuite("Pglite, long texts", Pglite.layer())
})
