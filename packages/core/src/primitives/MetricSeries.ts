/**
 * A metric's series for each set of labels, made once: to make one costs more than to count. Each stands on a metric of its own, because a
 * metric remembers the key of the labels that it was last asked with, and of those only. The registry knows them as series of one metric.
 */
import * as Metric from "effect/Metric"

/** Names of models come from outside; beyond so many sets of labels the series are made anew. */
const most = 1000

export const metricSeries = <Input, State>(
  metric: () => Metric.Metric<Input, State>
): ((labels: { readonly [name: string]: string }) => Metric.Metric<Input, State>) => {
  const made = new Map<string, Metric.Metric<Input, State>>()
  return (labels) => {
    const key = JSON.stringify(labels)
    const known = made.get(key)
    if (known !== undefined) return known
    if (made.size >= most) made.clear()
    const series = Metric.withAttributes(metric(), labels)
    made.set(key, series)
    return series
  }
}
