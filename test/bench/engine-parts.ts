import {Readable} from 'node:stream'
import {parse} from 'csv-parse'
import {openSandbox} from '../../shared/expressions/sandbox.ts'
import {HOW} from '../../sql/chain-rows.ts'
import {admit, settle} from '../../sql/ledger.ts'
import {refreshStatistics} from '../../sql/statistics.ts'
import {beginRun, created, intent, openLedger, settlement} from '../support/running.ts'
import {bodiesOf, postAll, rowsPerCall} from './bare-loop.ts'
import {startDeployment} from './deployment.ts'
import {medianOf} from './median.ts'
import {expressions, fileOf, withExpressions} from './rows.ts'

const rounds = 5
const rows = 50_000
const callsAtOnce = 10
const rowsPerCrossing = 500

/**
 * Measures the bare parts of an import ÷ the engine, which does them all. Each part runs alone on the same rows, one after another: parse
 * the file, run ten expressions over its twelve columns, post the records to a CRM that does nothing, and write each batch's intent and
 * settlement. Rounds are interleaved. The result is the median of their ratios.
 */
export const measureEngineParts = async () => {
  const deployment = await startDeployment('parts', {crm: ['test/bench/idle-crm.ts']})
  try {
    const measured = {ratio: [] as number[], parts: [] as Parts[], engine: [] as number[]}
    for (let round = 0; round <= rounds; round++) {
      const csv = fileOf(rows, `${round} `)
      const parts = await measureParts(csv, deployment.crmUrl)
      const {seconds} = await deployment.runImport({csv, flow: withExpressions})
      // The first round does not count, because it compiles the code.
      if (round === 0) continue
      measured.ratio.push((parts.parse + parts.evaluate + parts.post + parts.write) / seconds)
      measured.parts.push(parts)
      measured.engine.push(seconds)
    }
    const median = (name: keyof Parts) => medianOf(measured.parts.map(parts => parts[name]))
    return {
      engineVsParts: medianOf(measured.ratio),
      engineSeconds: medianOf(measured.engine),
      partParseSeconds: median('parse'),
      partEvaluateSeconds: median('evaluate'),
      partPostSeconds: median('post'),
      partWriteSeconds: median('write'),
    }
  } finally {
    await deployment.stop()
  }
}

type Parts = {parse: number; evaluate: number; post: number; write: number}

const measureParts = async (csv: Buffer, crmUrl: string): Promise<Parts> => {
  const [parsed, records] = await timed(() => parseAll(csv))
  const [evaluated] = await timed(() => evaluateAll(records))
  const post = await postAll(crmUrl, 'none', bodiesOf(rows, 'part '), callsAtOnce)
  return {parse: parsed, evaluate: evaluated, post, write: await writeAll()}
}

const timed = async <T>(work: () => Promise<T>): Promise<[seconds: number, made: T]> => {
  const start = performance.now()
  const made = await work()
  return [(performance.now() - start) / 1000, made]
}

const parseAll = async (csv: Buffer) => {
  const records: string[][] = []
  for await (const record of Readable.from([csv]).pipe(parse())) records.push(record)
  return records
}

const evaluateAll = async ([header, ...records]: string[][]) => {
  const sandbox = openSandbox()
  try {
    for (let from = 0; from < records.length; from += rowsPerCrossing) {
      const part = records.slice(from, from + rowsPerCrossing)
      const given = part.map(cells => Object.fromEntries(header!.map((name, at) => [name, cells[at]!])))
      await sandbox.evaluate({expressions, rows: given, clock: 0, seed: 'bench'})
    }
  } finally {
    await sandbox.close()
  }
}

/** Executes both statements of every batch, one batch after another, and refreshes the statistics as the engine does. Returns the seconds. */
const writeAll = async () => {
  const ledger = await openLedger('bench_parts', {connections: 2})
  try {
    const run = await beginRun(ledger)
    const [seconds] = await timed(async () => {
      for (let batch = 1; batch <= rows / rowsPerCall; batch++) {
        await writeBatch(ledger, run, batch)
        if (batch * rowsPerCall === 2_000 || batch * rowsPerCall === 20_000) await refreshStatistics(ledger.hot, {fewerThan: 1e9})
      }
    })
    return seconds
  } finally {
    await ledger.close()
  }
}

type Ledger = Awaited<ReturnType<typeof openLedger>>

const writeBatch = async ({hot}: Ledger, run: Awaited<ReturnType<typeof beginRun>>, batch: number) => {
  const from = (batch - 1) * rowsPerCall + 1
  const numbers = Array.from({length: rowsPerCall}, (_, at) => from + at)
  await admit(hot, intent(run, batch, from, rowsPerCall))
  const kept = numbers.map(n => ({module: 1, key: `f.${n}`, recordId: `440000000${n}`, how: HOW.made, matchKey: null}))
  await settle(hot, {
    ...settlement(run, batch, {batches: [batch], log: numbers.map(n => created(n)), kept, counts: [rowsPerCall]}),
    cursor: {flow: 1, lowWater: numbers.at(-1)!},
  })
}
