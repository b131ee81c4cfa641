import type {DiscoveredField} from '../crm/discovered.ts'
import {type Library, readLibrary} from '../expressions/library.ts'
import {type EvaluationError, openSandbox} from '../expressions/sandbox.ts'
import {expressionIssues} from '../flows/expression-issues.ts'
import {namespacesOf, type SnapshotLibrary} from '../flows/libraries.ts'
import {convertValue} from '../flows/value.ts'
import type {Issue} from '../flows/value-issues.ts'
import {openLine} from '../line.ts'

/** What came of one sample row, numbered from 1. `problem`: it gave a value the field does not take. */
export type Tried =
  | {row: number; value: unknown; problem: {code: string; message: string} | null}
  | {row: number; error: Pick<EvaluationError, 'code' | 'message' | 'line' | 'column'>}

/** It gave a value the field takes. */
export const isGood = (one: Tried): boolean => !('error' in one) && one.problem === null

export type Place = {
  columns: string[]
  rows: readonly Record<string, string>[]
  /** The column whose cell is `value`. */
  source: string | null
  /** Held against what it takes, where one is named. */
  field: DiscoveredField | null
  libraries: readonly SnapshotLibrary[]
  context: unknown
  signal: AbortSignal
}

/** All rows together: an expression that takes too long for each would take a core for a minute. */
const longestMs = 5_000

/** Each has a thread of its own for a moment. */
const inLine = openLine({atOnce: 2, mostWaiting: 50, says: 'Too many expressions are being tried at once: ask again in a moment'})

/** Compiles an expression as a flow would, and runs it on true rows, here. What it gives is the asker's to see, and nobody else's. */
export const tryExpression = async (expression: string, place: Place): Promise<{issue: Issue} | {tried: Tried[]}> => {
  const {columns, source, libraries} = place
  const [issue] = expressionIssues(expression, [], {columns, libraries: namespacesOf([...libraries]), hasValue: source !== null})
  if (issue) return {issue}
  return {tried: await inLine(() => run(expression, place))}
}

const run = async (expression: string, {rows, source, field, libraries, context, signal}: Place): Promise<Tried[]> => {
  const sandbox = openSandbox()
  const late = AbortSignal.timeout(longestMs)
  try {
    const outcomes = await sandbox.evaluate({
      expressions: {answer: source === null ? expression : {source: expression, value: source}},
      ...{rows, context, libraries: libraries.map((library): Library => readLibrary(library)), clock: Date.now(), seed: 'sample'},
      signal: AbortSignal.any([signal, late]),
    })
    return outcomes.map(({answer}, at) => {
      if ('error' in answer) return {row: at + 1, error: answer.error}
      return {row: at + 1, value: answer.value, problem: field && problemOf(answer.value, field)}
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
  ...{line: null, column: null},
}

/** Nothing is a value every field takes: what it means is the mapping's to say. */
const problemOf = (value: unknown, field: DiscoveredField) => {
  if (value === null || value === undefined || (typeof value === 'string' && value.trim() === '')) return null
  const converted = convertValue(value, field)
  return converted.ok ? null : {code: converted.code, message: converted.message}
}
