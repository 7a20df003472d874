/** The names that the adapter makes of the host's choice of a schema. */

const plain = /^[a-z_][a-z0-9_]{0,47}$/u

/** A name that needs no care anywhere: in SQL, in a channel (63 bytes), on a command line. */
export const checkSchemaName = (name: string): string => {
  if (plain.test(name) && !name.startsWith("pg_")) return name
  throw new Error(
    `"${name}" cannot be the name of the schema: use 1 to 48 lower case letters, digits and underscores, not beginning with a digit or "pg_".`
  )
}

export const quote = (name: string): string => `"${name}"`

/** The channel of the hints that runs changed. */
export const channelOf = (schemaName: string): string => `${schemaName}_runs`
