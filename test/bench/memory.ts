import {startDeployment} from './deployment.ts'
import {medianOf} from './median.ts'
import {peakMemoryMbOf} from './process-use.ts'
import {fileOf, withExpressions} from './rows.ts'

const few = 100_000
const many = 1_000_000

/**
 * Measures the memory of an imports worker, sandbox included, and whether the worker becomes slower. One deployment runs 100,000 rows and
 * another 1,000,000, once each. Each row has ten expressions, and the CRM does nothing.
 * Speed is compared between the last and the second tenth of the long run, because the first includes the start. A tenth lasts only a few
 * seconds, so other load on this machine matters. The speed of a tenth is therefore the median of its ten pieces. The plain speed by the clock
 * is given too.
 */
export const measureMemory = async () => {
  const small = await measureRun(few)
  const large = await measureRun(many)
  return {
    peakMemoryMb100k: small.peakMb,
    peakMemoryMb1m: large.peakMb,
    memory1mVs100k: large.peakMb / small.peakMb,
    scale1m: large.tenths.at(-1)! / large.tenths[1]!,
    scale1mPlain: large.plain.at(-1)! / large.plain[1]!,
    rowsPerSecond1m: many / large.seconds,
  }
}

const measureRun = async (rows: number) => {
  const deployment = await startDeployment('memory', {crm: ['test/bench/idle-crm.ts']})
  try {
    const {no, seconds} = await deployment.runImport({csv: fileOf(rows, 'm '), flow: withExpressions})
    const marks = await deployment.query<{at: number}>(
      `select extract(epoch from at)::float8 as at from log_entries where run_no = $1 and (seq = 1 or seq % $2 = 0) order by seq`,
      [no, rows / 100],
    )
    if (marks.length !== 101) throw new Error(`The log of ${rows} rows has ${marks.length - 1} hundredths`)
    const pieces = marks.slice(1).map(({at}, piece) => at - marks[piece]!.at)
    const tenths = Array.from({length: 10}, (_, tenth) => pieces.slice(tenth * 10, tenth * 10 + 10))
    return {
      peakMb: peakMemoryMbOf(deployment.pidOf('imports')),
      seconds,
      tenths: tenths.map(seconds => rows / 100 / medianOf(seconds)),
      plain: tenths.map(seconds => rows / 10 / seconds.reduce((sum, one) => sum + one, 0)),
    }
  } finally {
    await deployment.stop()
  }
}
