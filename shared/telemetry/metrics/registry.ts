import {Counter, collectDefaultMetrics, Gauge, Histogram, Registry} from 'prom-client'

/**
 * The metrics of this process. Label values come from closed tables in this code: routes, codes, jobs, outcomes, operations. Never use an org,
 * person, address, module or id as a label. The number of series would grow with the customers, and a scrape would reveal customers.
 */
export const registry = new Registry()

type MetricDescription = {name: string; help: string; labels?: readonly string[]}

/** Creates a counter, a value that only grows, for computing rates. Its name ends in `_total`. */
export const counter = ({name, help, labels = []}: MetricDescription) =>
  new Counter({name: `lading_${name}`, help, labelNames: labels, registers: [registry]})

export const gauge = ({name, help, labels = []}: MetricDescription, of: Registry = registry) =>
  new Gauge({name: `lading_${name}`, help, labelNames: labels, registers: [of]})

/** Creates a histogram of durations in seconds, as counts up to each bound. Its name ends in `_seconds`. */
export const histogram = ({name, help, labels = [], bounds}: MetricDescription & {bounds: number[]}) =>
  new Histogram({name: `lading_${name}`, help, labelNames: labels, buckets: bounds, registers: [registry]})

/** Bounds in seconds, from the duration of a request to that of a slow CRM call. */
export const BRIEF = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 75]
/** Bounds in seconds, from a job that ends immediately to a run of several hours. */
export const LONG = [0.05, 0.25, 1, 5, 15, 60, 300, 1800, 7200, 28_800]

let isWatched = false

/**
 * Measures event-loop lag, CPU, memory, garbage collections and open files from the first call on. Measuring costs a timer every 10 ms, so a process
 * that is never scraped does not measure.
 */
export const watchProcess = (): void => {
  if (isWatched) return
  isWatched = true
  collectDefaultMetrics({register: registry})
  // These gauges are removed, because their names end like those of counters and other metrics contain the same values.
  for (const name of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${name}_total`)
}
