/** All that users can read of an error. `forOperator` is for operators alone. */
import type { ModelError } from "@colloquy/core/adapters"

export const textForUsers = (error: ModelError | { readonly message: string } | null): string => {
  if (error === null) return ""
  return `${error.message} ${JSON.stringify(Object.assign({}, error, { forOperator: undefined }))}`
}
