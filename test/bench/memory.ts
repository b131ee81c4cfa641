import {startDeployment} from './deployment.ts'
import {peakMemoryMbOf} from './process-use.ts'
import {fileOf, withExpressions} from './rows.ts'

const few = 100_000
const many = 1_000_000

/**
 * What an imports worker takes of memory, sandbox included, and whether it slows down: 100,000 rows in a service of their own, then
 * 1,000,000 in another, ten expressions a row, against a CRM that does nothing. Once each: the last tenth of the long run ÷ its second
 * tenth, the first in which nothing is still starting.
 */
export const measureMemory = async () => {
  const small = await measureRun(few)
  const large = await measureRun(many)
  return {
    peakMemoryMb100k: small.peakMb,
    peakMemoryMb1m: large.peakMb,
    memory1mVs100k: large.peakMb / small.peakMb,
    scale1m: large.tenths.at(-1)! / large.tenths[1]!,
    rowsPerSecond1m: many / large.seconds,
  }
}

const measureRun = async (rows: number) => {
  const deployment = await startDeployment('memory', {crm: ['test/bench/idle-crm.ts']})
  try {
    const {no, seconds} = await deployment.runImport({csv: fileOf(rows, 'm '), flow: withExpressions})
    const marks = await deployment.query<{at: number}>(
      `select extract(epoch from at)::float8 as at from run_log where run_no = $1 and (seq = 1 or seq % $2 = 0) order by seq`,
      [no, rows / 10],
    )
    if (marks.length !== 11) throw new Error(`The log of ${rows} rows has ${marks.length - 1} tenths`)
    const tenths = marks.slice(1).map(({at}, tenth) => rows / 10 / (at - marks[tenth]!.at))
    return {peakMb: peakMemoryMbOf(deployment.pidOf('imports')), seconds, tenths}
  } finally {
    await deployment.stop()
  }
}
