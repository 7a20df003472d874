/** Which rooms are `summaries({ … })`: a kernel that is given one has no other. */
const all = new WeakSet<object>()

export const isSummaryRoom = (value: object): boolean => all.has(value)

export const asSummaryRoom = <Given extends object>(given: Given): Given => {
  all.add(given)
  return given
}
