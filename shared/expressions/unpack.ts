import type {PreparedProgram} from './program.ts'
import type {EvaluationCode, ExpressionOutcome} from './sandbox.ts'

type Answer = [next: number, values: unknown[], errors: UnpackedError[]]
type UnpackedError = [at: number, index: number, code: EvaluationCode, message: string, stack: string]

export const unpack = (prepared: PreparedProgram, text: string): Record<string, ExpressionOutcome>[] => {
  const [, values, errors] = JSON.parse(text) as Answer
  const {ran, failed} = prepared
  const outcomes: ExpressionOutcome[] = values.map(value => ({value}))
  for (const [at, index, code, message, stack] of errors) outcomes[at] = {error: prepared.errorOf(index, {code, message, stack})}
  const isRun = ran.map(name => !Object.hasOwn(failed, name))
  const rows: Record<string, ExpressionOutcome>[] = []
  for (let at = 0; at < outcomes.length; at += ran.length) {
    const row: Record<string, ExpressionOutcome> = {...failed}
    for (let index = 0; index < ran.length; index++) if (isRun[index]) row[ran[index]!] = outcomes[at + index]!
    rows.push(row)
  }
  return rows
}
