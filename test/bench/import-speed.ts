import {bodiesOf, postAll} from './bare-loop.ts'
import {startDeployment} from './deployment.ts'
import {medianOf} from './median.ts'
import {processorSecondsOf} from './process-use.ts'
import {fileOf, plain} from './rows.ts'

const rounds = 5
const rows = 50_000
const callsAtOnce = 5

/**
 * Measures rows per second of an import ÷ those of a bare loop. The loop posts ready-made calls to the same stand-in, 100 records each and five
 * at a time. Rounds are interleaved, and each has other records. The result is the median of their ratios. Also measures the stand-in's share of
 * one core while the import runs.
 */
export const measureImportSpeed = async () => {
  const crm = ['test/simulators/crm.ts', '--control', '--journal', '0', '--switch', 'credits=false']
  const deployment = await startDeployment('speed', {crm})
  const {crmUrl} = deployment
  try {
    const token = await openToken(crmUrl)
    const measured = {ratio: [] as number[], speed: [] as number[], standIn: [] as number[]}
    for (let round = 0; round <= rounds; round++) {
      const bare = await postAll(crmUrl, token, bodiesOf(rows, `bare ${round} `), callsAtOnce)
      const before = processorSecondsOf(deployment.pidOf('crm'))
      const {seconds} = await deployment.runImport({csv: fileOf(rows, `import ${round} `), flow: plain})
      const standIn = (processorSecondsOf(deployment.pidOf('crm')) - before) / seconds
      await fetch(`${crmUrl}/__sim/clear`, {method: 'POST'})
      // The first round does not count, because it compiles the code.
      if (round === 0) continue
      measured.ratio.push(bare / seconds)
      measured.speed.push(rows / seconds)
      measured.standIn.push(standIn)
    }
    return {
      importVsBareLoop: medianOf(measured.ratio),
      importRowsPerSecond: medianOf(measured.speed),
      importStandInShare: medianOf(measured.standIn),
    }
  } finally {
    await deployment.stop()
  }
}

const openToken = async (crmUrl: string) => {
  const answer = await fetch(`${crmUrl}/__sim/grants`, {method: 'POST', body: JSON.stringify({email: 'ana@example.org'})})
  return ((await answer.json()) as {accessToken: string}).accessToken
}
