import type {PreparedProgram} from './program.ts'
import type {EvaluationCode, ExpressionOutcome} from './sandbox.ts'

type Answer = [next: number, values: unknown[], errors: UnpackedError[]]
type UnpackedError = [at: number, index: number, code: EvaluationCode, message: string, stack: string]

const noValue: ExpressionOutcome = {value: null}

export const unpack = (prepared: PreparedProgram, text: string): Record<string, ExpressionOutcome>[] => {
  const [, values, errors] = JSON.parse(text) as Answer
  const {ran, failed} = prepared
  const thrown = new Map(errors.map(([at, index, code, message, stack]) => [at, {error: prepared.errorOf(index, {code, message, stack})}]))
  const isRun = ran.map(name => !Object.hasOwn(failed, name))
  // Each row is a copy of `blank`, so all rows share one V8 shape and take less memory.
  const blank: Record<string, ExpressionOutcome> = {...failed}
  for (const [index, name] of ran.entries()) if (isRun[index]) blank[name] = noValue
  const rows: Record<string, ExpressionOutcome>[] = []
  for (let at = 0; at < values.length; at += ran.length) {
    const row = {...blank}
    for (let index = 0; index < ran.length; index++)
      if (isRun[index]) row[ran[index]!] = (thrown.size ? thrown.get(at + index) : undefined) ?? {value: values[at + index]}
    rows.push(row)
  }
  return rows
}
