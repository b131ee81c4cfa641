import {Refusal} from '../../shared/errors.ts'
import {type Outcome, openSandbox, type Sandbox} from '../../shared/expressions/sandbox.ts'
import type {Row as FileRow} from '../../shared/imports/row.ts'
import {carriesOn} from '../../shared/runs/stop.ts'
import type {Run} from '../../sql/runs.ts'
import {RunPaused, RunStopped} from './ending.ts'
import type {Program} from './program.ts'

/** What each expression gave for one row, by its name. */
export type Evaluated = Record<string, Outcome>

export type Expressions = {
  /** In the order of the rows. Ends early when the signal says so. */
  evaluate(program: Program, rows: readonly FileRow[], signal: AbortSignal): Promise<Evaluated[]>
  close(): Promise<void>
}

/** Rows that cross together. A row that takes too long may cost a thread: after one, and to begin with, few enough that nobody waits long for the end. */
const fewest = 10
const most = 500
/** So many that took too long one after another are no accident. */
const mostStuck = 20

/** One sandbox for one run, opened when its first expression is to run. */
export const openExpressions = (of: Pick<Run, 'dryRun' | 'engine'>): Expressions => {
  let sandbox: Sandbox | null = null
  let together = fewest
  let stuckInARow = 0
  return {
    async evaluate(program, rows, signal) {
      sandbox ??= openSandbox()
      const outcomes: Evaluated[] = []
      while (outcomes.length < rows.length) {
        signal.throwIfAborted()
        const part = rows.slice(outcomes.length, outcomes.length + together)
        const answered = await run(sandbox, program, part)
        for (const one of answered) stuckInARow = isStuck(one) ? stuckInARow + 1 : 0
        if (stuckInARow >= mostStuck) throw allStuck(of)
        together = answered.some(isStuck) ? fewest : Math.min(most, together * 2)
        outcomes.push(...answered)
      }
      return outcomes
    },
    close: async () => sandbox?.close(),
  }
}

const run = async (sandbox: Sandbox, {columns, ...batch}: Program, rows: readonly FileRow[]): Promise<Evaluated[]> => {
  try {
    return await sandbox.evaluate({
      ...batch,
      rows: rows.map(({cells}) => Object.fromEntries(columns.map(({name, at}) => [name, cells[at] ?? '']))),
      numbers: rows.map(({rowNumber}) => rowNumber),
    })
  } catch (error) {
    throw error instanceof Refusal ? new RunPaused(error.code, error.message, 30) : error
  }
}

const isStuck = (evaluated: Evaluated) =>
  Object.values(evaluated).some(outcome => 'error' in outcome && outcome.error.code === 'EXPRESSION_TIMEOUT')

/** The rest of the file would take as long, row by row, and end the same way. */
const allStuck = (of: Pick<Run, 'dryRun' | 'engine'>) =>
  new RunStopped({
    stopped: 'EXPRESSION_TIMEOUT',
    message: `An expression of the flow took too long for ${mostStuck} rows in a row. Mend it. ${carriesOn(of)}`,
  })
