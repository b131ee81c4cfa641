import type {Capabilities} from '../../../sql/doctor-reports.ts'
import type {Json} from '../metadata.ts'

export type ProbeCall = {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  query?: Record<string, string>
  headers?: Record<string, string>
  json?: unknown
}
/** `rows`: the objects of the first list in the answer; empty without a list. */
export type ProbeAnswer = {status: number; code: string | null; json: unknown; rows: Json[]; creditsRemaining: number | null}

/** An existing record that probes look up. `textField`: a field whose value needs no escaping in a query. */
export type Sample = {module: string; record: Json & {id: string}; fields: Json[]; textField: string | null}

export type ProbeContext = {
  ask(call: ProbeCall): Promise<ProbeAnswer>
  select(query: string): Promise<ProbeAnswer>
  modules: Json[]
  org: Json
  user: Json
  sample: Sample | null
  signal: AbortSignal | undefined
}

/** `isExpected` is null if the fact cannot be checked, for example because the org has no record or the user lacks a permission. */
export type Finding = {seen: string; isExpected: boolean | null; capabilities?: Partial<Capabilities>}

/**
 * One fact that the CRM's documentation does not settle, and the calls that check it. `consequence`: what follows if the CRM does not behave as
 * `expected`.
 */
export type Probe = {
  id: string
  fact: string
  expected: string
  consequence: string
  run(context: ProbeContext): Promise<Finding>
}

export const withSample =
  (run: (context: ProbeContext, sample: Sample) => Promise<Finding>) =>
  async (context: ProbeContext): Promise<Finding> =>
    context.sample ? run(context, context.sample) : unknownFinding('No module has a record to look up')

export const withText = (run: (context: ProbeContext, sample: Sample & {textField: string; text: string}) => Promise<Finding>) =>
  withSample(async (context, sample) => {
    const {textField, record} = sample
    return textField === null
      ? unknownFinding('The record has no plain text value')
      : run(context, {...sample, textField, text: String(record[textField])})
  })

export const unknownFinding = (seen: string): Finding => ({seen, isExpected: null})

export const describeAnswer = ({status, code, rows}: ProbeAnswer) =>
  [`HTTP ${status}`, code, ...(code === null && status === 200 ? [`${rows.length} in the list`] : [])].filter(Boolean).join(' ')
