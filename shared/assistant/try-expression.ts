import {openLimiter} from '../concurrency/limiter.ts'
import type {DiscoveredField} from '../crm/discovered.ts'
import {type Library, readLibrary} from '../expressions/library.ts'
import {type EvaluationError, openSandbox} from '../expressions/sandbox.ts'
import {zoneOf} from '../mapping/flows/date-defaults.ts'
import {expressionIssues} from '../mapping/flows/expression-issues.ts'
import {conversionTypeOf} from '../mapping/flows/field-types.ts'
import {namespacesOf, type SnapshotLibrary} from '../mapping/flows/libraries.ts'
import {CLEAR, convertValue, USERS} from '../mapping/flows/value.ts'
import type {FlowIssue} from '../mapping/flows/value-issues.ts'

/** The result of one sample row, numbered from 1. `problem`: why the field refuses the value, or null. */
export type TriedRow =
  | {row: number; value: unknown; problem: {code: string; message: string} | null}
  | {row: number; error: Pick<EvaluationError, 'code' | 'message' | 'line' | 'column'>}

export const isGood = (one: TriedRow): boolean => !('error' in one) && one.problem === null

export type TryExpressionInput = {
  columns: string[]
  rows: readonly Record<string, string>[]
  /** The column whose cell is `value`. */
  source: string | null
  field: DiscoveredField | null
  libraries: readonly SnapshotLibrary[]
  settings: {expressionContext: unknown; timezone: string}
  signal: AbortSignal
}

/** Time limit for all rows together. Without this limit, a slow expression could occupy a CPU core for a minute. */
const longestMs = 5_000

/** Limits concurrent tries, because each try occupies a thread. */
const inLine = openLimiter(2, {
  mostWaiting: 50,
  says: 'Too many expressions are being tried at the moment. Try again in a few seconds',
})

/** Compiles an expression as a flow would and runs it on the rows. If the rows are unmasked, only the caller may see the results. */
export const tryExpression = async (expression: string, input: TryExpressionInput): Promise<{issue: FlowIssue} | {tried: TriedRow[]}> => {
  const {columns, source, libraries} = input
  const [issue] = expressionIssues(expression, [], {columns, libraries: namespacesOf([...libraries]), hasValue: source !== null})
  if (issue) return {issue}
  return {tried: await inLine(() => run(expression, input))}
}

const run = async (expression: string, {rows, source, field, libraries, settings, signal}: TryExpressionInput): Promise<TriedRow[]> => {
  const sandbox = openSandbox()
  const late = AbortSignal.timeout(longestMs)
  try {
    const outcomes = await sandbox.evaluate({
      expressions: {answer: source === null ? expression : {source: expression, value: source}},
      rows,
      context: settings.expressionContext,
      libraries: libraries.map((library): Library => readLibrary(library)),
      clock: Date.now(),
      seed: 'sample',
      signal: AbortSignal.any([signal, late]),
    })
    return outcomes.map(({answer}, at) => {
      if ('error' in answer) return {row: at + 1, error: answer.error}
      return {row: at + 1, value: answer.value, problem: field && problemOf(answer.value, field, zoneOf(settings))}
    })
  } catch (error) {
    if (signal.aborted || !late.aborted) throw error
    return rows.map((_, at) => ({row: at + 1, error: tookTooLong}))
  } finally {
    await sandbox.close()
  }
}

const tookTooLong = {
  code: 'EXPRESSION_TIMEOUT' as const,
  message: `These rows together take more than ${longestMs / 1000} s`,
  line: null,
  column: null,
}

/**
 * Returns why a run would not write the value. Every field accepts an empty value, because the mapping decides what it means, and the clear token. A
 * run looks up the e-mail address of a user.
 */
const problemOf = (value: unknown, field: DiscoveredField, zone: string | undefined) => {
  if (value === null || value === undefined || value === CLEAR || (typeof value === 'string' && value.trim() === '')) return null
  if (USERS.has(field.type) && typeof value === 'string' && value.includes('@')) return null
  const converted = convertValue(value, {...field, type: conversionTypeOf(field)}, {zone})
  return converted.ok ? null : {code: converted.code, message: converted.message}
}
