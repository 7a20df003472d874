/** An answer that is one JSON value: `output_schema` asks for it. The value and how it came about are fields of the reply. */
import { outputIn, outputsPartName } from "@colloquy/core/wings"
import { isGiven, type Path, problem } from "../bodies/RawFields.ts"
import type { Wing } from "./Wing.ts"

/** The fields that a message cannot have beside a schema. */
const others = { json_output: (value: unknown) => value === true, system_one: isGiven }

const isOther = (name: string): name is keyof typeof others => Object.hasOwn(others, name)

const wirePath = ([first, ...path]: Path): Path => (first === "name" ? ["output_name"] : ["output_schema", ...path])

export const outputWing: Wing = {
  part: outputsPartName,
  message: {
    concerns: ["output_schema", "output_name"],
    asked: ({ output_schema }) =>
      isGiven(output_schema) ? [{ path: ["output_schema"], title: "A schema of answers" }] : [],
    details: { of: "output_schema", fields: ["output_name"] },
    needsModel: true,
    problems: (fields) =>
      isGiven(fields["output_schema"])
        ? Object.keys(others)
            .filter((name) => isOther(name) && others[name](fields[name]))
            .map((name) => problem([name], "not_supported", `A message has an output_schema or ${name}, not both.`))
        : [],
    options: ({ output_name, output_schema }) => ({
      schema: output_schema ?? null,
      ...(output_name == null ? {} : { name: output_name })
    }),
    bodyPath: wirePath
  },
  fields: ({ answer }) => {
    const output = outputIn(answer)
    return output === null ? {} : { added: { output: output.value, output_method: output.method } }
  }
}
