/** Whether a text has the form of an address and is one: of `http://host:99999` no request could be sent. */
export const isAddress =
  (form: RegExp) =>
  (given: string): boolean =>
    form.test(given) && URL.canParse(given)
