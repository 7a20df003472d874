/** The contract of every storage port on PGlite, in memory. */
import { followUpStoreSuite, storageSuite } from "@colloquy/testing/contracts"
import { oneDatabase, onEmbedded } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { longTextSuite } from "./LongTexts.ts"

onEmbedded("PGlite", () => {
  const stores = oneDatabase(Pglite.layer())
  storageSuite("PGlite", stores, { testClock: false, signals: true })
  followUpStoreSuite("PGlite", stores, { testClock: false, signals: true })
  longTextSuite("Pglite, long texts", stores)
})
