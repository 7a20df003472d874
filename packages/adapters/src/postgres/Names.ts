/** Checks the name of the schema that the host has chosen, and derives other names from it. */

const plain = /^[a-z_][a-z0-9_]{0,47}$/u

/** Accepts only names that need no escaping in SQL and on a command line, and that fit into the name of a channel (63 bytes). */
export const checkSchemaName = (name: string): string => {
  if (plain.test(name) && !name.startsWith("pg_")) return name
  throw new Error(
    `"${name}" cannot be the name of the schema: use 1 to 48 lower case letters, digits and underscores, not beginning with a digit or "pg_".`
  )
}

export const quote = (name: string): string => `"${name}"`

/** The notification channel on which processes tell each other that a run has changed. */
export const channelName = (schemaName: string): string => `${schemaName}_runs`
