import {Readable} from 'node:stream'
import {parse} from 'csv-parse'
import {parseHere} from '../../shared/files/parser/pool.ts'
import {makeRunFile} from '../../shared/runs/results/results.ts'
import {type FilledRun, fileKey, openFilledRun} from './filled-run.ts'
import {medianOf} from './median.ts'

const rounds = 5
const rows = 250_000

/**
 * Measures source bytes per second of making results.csv of 250,000 rows ÷ bytes per second that the bare CSV parser reads: with the log in
 * Postgres, then after its move to storage.
 */
export const measureResultsSpeed = async () => {
  const filled = await openFilledRun('bench_results', rows)
  try {
    await filled.tools.storage.put(fileKey, Readable.from([Buffer.from(fileText())]))
    const resultsVsParser = await speedOf(filled)
    await filled.archive()
    return {resultsVsParser, movedResultsVsParser: await speedOf(filled)}
  } finally {
    await filled.close()
  }
}

const fileText = () =>
  `first,last,email,phone,city,street,zip,amount\n${Array.from(
    {length: rows},
    (_, at) =>
      `First ${at},Last ${at},person${at}@example.org,"49 30 ${100_000 + at}",City of ${at % 97},"${at % 200} Long, Street",${10_000 + at},${at}.50`,
  ).join('\n')}\n`

const speedOf = async ({tools, found}: FilledRun) => {
  const measured = {bare: [] as number[], ours: [] as number[]}
  for (let round = 0; round <= rounds; round++) {
    measured.bare.push(await timed(async () => drainStream((await tools.storage.read(fileKey)).pipe(parse({columns: false})))))
    measured.ours.push(
      await timed(async () => drainStream((await makeRunFile({...tools, parsing: parseHere(tools)}, 'org_bench', found, 'results')).body)),
    )
  }
  return medianOf(measured.bare.slice(1)) / medianOf(measured.ours.slice(1))
}

const drainStream = async (stream: Readable) => {
  let pieces = 0
  for await (const _ of stream) pieces++
  return pieces
}

const timed = async (work: () => Promise<unknown>) => {
  const start = performance.now()
  await work()
  return performance.now() - start
}
