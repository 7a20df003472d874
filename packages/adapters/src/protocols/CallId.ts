/**
 * An id for a call to which the vendor gave none. A conversation may change its model, and Chat Completions of OpenAI and Azure refuses an id of
 * more than 40 characters.
 */
export const newCallId = (): string => `call_${crypto.randomUUID().replaceAll("-", "")}`
