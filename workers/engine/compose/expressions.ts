import {Refusal} from '../../../shared/errors.ts'
import {type ExpressionOutcome, openSandbox, type Sandbox} from '../../../shared/expressions/sandbox.ts'
import type {FileRow} from '../../../shared/files/row.ts'
import {adviseToContinue} from '../../../shared/runs/stop.ts'
import type {Run} from '../../../sql/runs.ts'
import {RunPaused, RunStopped} from '../run-endings.ts'
import type {FlowProgram} from './flow-program.ts'

export type EvaluatedExpressions = Record<string, ExpressionOutcome>

export type Expressions = {
  /**
   * Returns the results of the expressions in the order of the rows. Throws the reason of an aborted signal. Throws RunStopped if expressions of
   * `mostStuck` consecutive rows time out.
   */
  evaluate(program: FlowProgram, rows: readonly FileRow[], signal: AbortSignal): Promise<EvaluatedExpressions[]>
  close(): Promise<void>
}

/**
 * The number of rows in the first call of the sandbox, and in each call that follows a timeout. If an expression times out, the sandbox repeats
 * that call row by row, and a small call returns sooner.
 */
const fewest = 10
const most = 500
/** The run stops after this number of consecutive rows with a timeout. */
const mostStuck = 20

/** The sandbox starts at the first evaluation. */
export const openExpressions = (of: Pick<Run, 'dryRun' | 'engine'>): Expressions => {
  let sandbox: Sandbox | null = null
  let together = fewest
  let stuckInARow = 0
  return {
    async evaluate(program, rows, signal) {
      sandbox ??= openSandbox()
      const outcomes: EvaluatedExpressions[] = []
      while (outcomes.length < rows.length) {
        signal.throwIfAborted()
        const part = rows.slice(outcomes.length, outcomes.length + together)
        const answered = await run(sandbox, program, part)
        for (const one of answered) stuckInARow = isStuck(one) ? stuckInARow + 1 : 0
        if (stuckInARow >= mostStuck) throw failAll(of)
        together = answered.some(isStuck) ? fewest : Math.min(most, together * 2)
        outcomes.push(...answered)
      }
      return outcomes
    },
    close: async () => sandbox?.close(),
  }
}

const run = async (sandbox: Sandbox, {columns, ...batch}: FlowProgram, rows: readonly FileRow[]): Promise<EvaluatedExpressions[]> => {
  try {
    return await sandbox.evaluate({
      ...batch,
      rows: rowsOf(columns, rows),
      numbers: rows.map(({rowNumber}) => rowNumber),
    })
  } catch (error) {
    throw error instanceof Refusal ? new RunPaused(error.code, error.message, 30) : error
  }
}

/**
 * Returns each row as an object by column name. Copies of one object share a V8 shape. `Object.fromEntries` defines each name, so a column may be named
 * `__proto__`.
 */
const rowsOf = (columns: FlowProgram['columns'], rows: readonly FileRow[]): Record<string, string>[] => {
  const blank: Record<string, string> = Object.fromEntries(columns.map(({name}) => [name, '']))
  return rows.map(({cells}) => {
    const row = {...blank}
    for (const {name, at} of columns) row[name] = cells[at] ?? ''
    return row
  })
}

const isStuck = (evaluated: EvaluatedExpressions) => {
  for (const name in evaluated) {
    const outcome = evaluated[name]!
    if ('error' in outcome && outcome.error.code === 'EXPRESSION_TIMEOUT') return true
  }
  return false
}

/** Returns the error that stops the run, because the remaining rows would most likely time out as well. */
const failAll = (of: Pick<Run, 'dryRun' | 'engine'>) =>
  new RunStopped({
    stopped: 'EXPRESSION_TIMEOUT',
    message: `An expression of the flow took too long for ${mostStuck} rows in a row. Correct the expression. ${adviseToContinue(of)}`,
  })
