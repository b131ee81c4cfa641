import {readEntries} from '../../shared/runs/log.ts'
import {type FilledRun, openFilledRun} from './filled-run.ts'
import {medianOf} from './median.ts'

const entries = 1_000_000
const page = 1_000
const rounds = 101
const warmUps = 5

/**
 * Measures the time of a log page of 1,000 entries at the end of 1,000,000 ÷ the time of the first page. The log is first in Postgres, then in
 * storage.
 */
export const measureLogDepth = async () => {
  const filled = await openFilledRun('bench_log', entries)
  try {
    const logDepthRatio = await depthOf(filled, entries - page)
    await filled.archive()
    const movedLogDepthRatio = await depthOf(filled, entries - page)
    // Half of the page is in one stored object, half in the next.
    const movedLogAcrossRatio = await depthOf(filled, entries - 10_000 - page / 2)
    return {logDepthRatio, movedLogDepthRatio, movedLogAcrossRatio}
  } finally {
    await filled.close()
  }
}

const depthOf = async ({tools, found}: FilledRun, after: number) => {
  const measured = {first: [] as number[], deep: [] as number[]}
  for (let round = -warmUps; round < rounds; round++) {
    const first = await timePage(tools, found.run.no, 0)
    const deep = await timePage(tools, found.run.no, after)
    if (round < 0) continue
    measured.first.push(first)
    measured.deep.push(deep)
  }
  return medianOf(measured.deep) / medianOf(measured.first)
}

const timePage = async (tools: FilledRun['tools'], run: number, after: number) => {
  const start = performance.now()
  const {length} = await readEntries(tools, {run, after, limit: page})
  if (length !== page) throw new Error(`A page of ${length} entries instead of ${page}`)
  return performance.now() - start
}
