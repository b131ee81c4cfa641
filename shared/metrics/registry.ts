import {Counter, collectDefaultMetrics, Gauge, Histogram, Registry} from 'prom-client'

/**
 * What this process counts about itself. Labels come from closed tables of ours (routes, codes, jobs, outcomes, operations): never an org, a
 * person, an address, a module or an id, which would make as many series as there are customers and tell whoever reads them who those are.
 */
export const registry = new Registry()

type Described = {name: string; help: string; labels?: readonly string[]}

/** Only ever grows; its rate is what is looked at. Its name ends in `_total`. */
export const counter = ({name, help, labels = []}: Described) =>
  new Counter({name: `lading_${name}`, help, labelNames: labels, registers: [registry]})

/** What is so at this moment. */
export const gauge = ({name, help, labels = []}: Described, of: Registry = registry) =>
  new Gauge({name: `lading_${name}`, help, labelNames: labels, registers: [of]})

/** How long something took, in seconds, as counts up to each bound. Its name ends in `_seconds`. */
export const histogram = ({name, help, labels = [], bounds}: Described & {bounds: number[]}) =>
  new Histogram({name: `lading_${name}`, help, labelNames: labels, buckets: bounds, registers: [registry]})

/** From what a request takes to what a slow call to the CRM does. */
export const BRIEF = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 75]
/** From a job that looks and ends to a run of hours. */
export const LONG = [0.05, 0.25, 1, 5, 15, 60, 300, 1800, 7200, 28_800]

let isWatched = false

/**
 * Event-loop lag, processor, memory, collections, open files: measured from the first call on. Costs a timer every 10 ms, so a process that
 * nobody scrapes does not begin.
 */
export const watchProcess = (): void => {
  if (isWatched) return
  isWatched = true
  collectDefaultMetrics({register: registry})
  // Called totals and no counters: the same is told without the word.
  for (const name of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${name}_total`)
}
