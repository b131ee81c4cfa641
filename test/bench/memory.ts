import {startDeployment} from './deployment.ts'
import {medianOf} from './median.ts'
import {peakMemoryMbOf} from './process-use.ts'
import {fileOf, withExpressions} from './rows.ts'

const few = 100_000
const many = 1_000_000

/**
 * What an imports worker takes of memory, sandbox included, and whether it slows down: 100,000 rows in a service of their own, then
 * 1,000,000 in another, ten expressions a row, against a CRM that does nothing. Once each: the last tenth of the long run ÷ its second
 * tenth, the first in which nothing is still starting. A tenth lasts a few seconds, in which a neighbour of this machine decides as much as
 * the engine does: its speed is the median of its ten pieces. As the clock has it, with whatever happened beside it, stands next to it.
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
      `select extract(epoch from at)::float8 as at from run_log where run_no = $1 and (seq = 1 or seq % $2 = 0) order by seq`,
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
