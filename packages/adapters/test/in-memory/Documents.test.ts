/** The contracts of the wing `documents` on the in-memory stores. */
import { blobStoreSuite, documentStoreSuite } from "@colloquy/testing/contracts"
import { InMemory } from "../../src/in-memory/index.ts"

blobStoreSuite("BlobStore in memory", InMemory.layer)
documentStoreSuite("DocumentStore in memory", InMemory.layer)
