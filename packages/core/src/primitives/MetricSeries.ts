/**
 * The series of a metric, one for each set of labels, made once because making a series costs more than counting. Each series has a metric
 * object of its own, because a metric caches only the key of the labels that it was last used with. The registry treats them as series of
 * one metric.
 */
import * as Metric from "effect/Metric"

/** Above this number of label sets the series are made again. Names of models come from outside, so their number is not bounded. */
const most = 1000

export const metricSeries = <Input, State>(
  metric: () => Metric.Metric<Input, State>
): ((labels: { readonly [name: string]: string }) => Metric.Metric<Input, State>) => {
  const made = new Map<string, Metric.Metric<Input, State>>()
  return (labels) => {
    // A turn asks five times. The names are always those of the metric, in one order, so the values are enough.
    let key = ""
    for (const name in labels) key += `${labels[name]}\n`
    const known = made.get(key)
    if (known !== undefined) return known
    if (made.size >= most) made.clear()
    const series = Metric.withAttributes(metric(), labels)
    made.set(key, series)
    return series
  }
}
