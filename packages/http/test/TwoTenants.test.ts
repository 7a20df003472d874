import { InMemory } from "@colloquy/adapters/in-memory"
import { onEmbedded } from "../../../test/databases.ts"
import { twoTenants } from "./TwoTenants.ts"

onEmbedded("in-memory", () => twoTenants(InMemory.layer))
