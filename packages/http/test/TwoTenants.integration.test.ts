import { Pglite } from "@colloquy/adapters/pglite"
import { Postgres } from "@colloquy/adapters/postgres"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../test/databases.ts"
import { onScratchSchema } from "../../adapters/test/postgres/Scratch.ts"
import { twoTenants } from "./TwoTenants.ts"

onEmbedded("PGlite", () => twoTenants(Pglite.layer()))

onPostgres((url) => twoTenants(onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema }))))
