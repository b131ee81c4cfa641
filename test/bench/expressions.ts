import base from '@jitl/quickjs-wasmfile-release-sync'
import {newQuickJSWASMModuleFromVariant} from 'quickjs-emscripten-core'
import {type ExpressionOutcome, openSandbox} from '../../shared/expressions/sandbox.ts'
import {medianOf} from './median.ts'

const rounds = 9
const batches = 40
const batchRows = 500

/** Ten common expressions over a row of twelve columns. Together they read all columns. */
const expressions = {
  name: 'row.first.trim() + " " + row.last.trim()',
  upper: 'row.city.toUpperCase()',
  either: "row.phone ? row.phone : 'none'",
  amount: 'Number(row.amount.slice(1)) || 0',
  words: "row.title.split(' ').length",
  dashed: "row.street.replace(/\\s+/g, '-')",
  fallback: "row.fax ?? ''",
  size: "row.employees.length > 3 ? 'large' : 'small'",
  path: `\`\${row.country}/\${row.zip}\``,
  isMail: "row.email.includes('@')",
}

const rowAt = (at: number) => ({
  first: ` First ${at} `,
  last: `Last ${at}`,
  city: `City of ${at % 97}`,
  phone: at % 3 ? `+49 30 ${100_000 + at}` : '',
  amount: `€${at * 3}`,
  title: `Head of number ${at % 13}`,
  street: `${at % 200} Long  Street`,
  fax: '',
  employees: String(at),
  country: `Country ${at % 50}`,
  zip: String(10_000 + at),
  email: `person${at}@example.org`,
})

/**
 * Measures rows per second of `evaluate` ÷ those of the bare engine. The bare engine is the same WASM on this thread, without limits, checks,
 * errors by row or a second thread. It takes JSON, runs one loop and returns JSON, one batch at a time. Rounds are interleaved. The result is
 * the median of their ratios.
 */
export const measureExpressions = async () => {
  const rows = Array.from({length: batchRows}, (_, at) => rowAt(at))
  const bare = await openBare()
  const sandbox = openSandbox()
  const ours = () => sandbox.evaluate({expressions, rows, clock: 0, seed: 'bench'})
  if (JSON.stringify(bare(rows)) !== JSON.stringify(valuesOf(await ours()))) throw new Error('The two do not agree')
  const measured = {bare: [] as number[], ours: [] as number[]}
  for (let round = 0; round <= rounds; round++) {
    measured.bare.push(await rate(() => bare(rows)))
    measured.ours.push(await rate(ours))
  }
  await sandbox.close()
  const [, ...ratios] = measured.ours.map((each, round) => each / measured.bare[round]!)
  return {
    expressionsOverBareSandbox: medianOf(ratios),
    expressionRowsPerSecond: medianOf(measured.ours.slice(1)),
  }
}

const valuesOf = (outcomes: Record<string, ExpressionOutcome>[]) =>
  outcomes.map(row => Object.keys(expressions).map(name => 'value' in row[name]! && row[name].value))

const rate = async (work: () => unknown) => {
  const start = performance.now()
  for (let batch = 0; batch < batches; batch++) await work()
  return (batches * batchRows * 1000) / (performance.now() - start)
}

const openBare = async () => {
  const quickjs = await newQuickJSWASMModuleFromVariant(base as unknown as Parameters<typeof newQuickJSWASMModuleFromVariant>[0])
  const context = quickjs.newContext()
  const list = Object.values(expressions).map(source => `(row, value) => (${source})`)
  const run = context.unwrapResult(
    context.evalCode(`const functions = [${list.join(',')}];
      json => JSON.stringify(JSON.parse(json).map(row => functions.map(evaluate => evaluate(row))))`),
  )
  return (rows: unknown[]): unknown[][] => {
    using given = context.newString(JSON.stringify(rows))
    using answered = context.unwrapResult(context.callFunction(run, context.undefined, given))
    return JSON.parse(context.getString(answered))
  }
}
