import {bounded} from '../../files/bounded.ts'
import {lineOf} from '../../files/csv/csv-line.ts'
import type {FoundRun} from '../find.ts'
import {assertKept, assertStillKept} from '../kept.ts'
import {openResultCache, type ResultStream} from '../results/result-cache.ts'
import {type DifferenceDeps, type DifferenceOptions, readDifferences, textOf} from './differences.ts'

const header = ['Row', 'Flow', 'Module', 'Record', 'Field', 'Result', 'Sent', 'Read']

const verifyCache = openResultCache()

/** Makes the CSV file of the differing values completely before its first byte is sent. The file of an ended run is cached. */
export const makeVerifyFile = (deps: DifferenceDeps, found: FoundRun, options: DifferenceOptions): Promise<ResultStream> => {
  const {run} = found
  assertKept(run)
  const key = `verify ${run.id} ${options.withRead}`
  return verifyCache.take(run.state === 'ended' ? key : null, () => bounded(piecesOf(deps, found, options), {}))
}

async function* piecesOf(deps: DifferenceDeps, {run, names}: FoundRun, {withRead}: DifferenceOptions) {
  yield {rows: 0, text: `${lineOf(header)}\r\n`}
  const flows = new Map(names.flows.map(({no, id}) => [no, id]))
  const modules = new Map(names.modules.map(({no, apiName}) => [no, apiName]))
  for await (const {differences} of readDifferences(deps, run)) {
    const lines = differences.map(({row, flow, module, recordId, field, result, sent, read}) =>
      lineOf([
        row ? String(row) : '',
        flows.get(flow) ?? '',
        modules.get(module) ?? '',
        recordId,
        field,
        result,
        textOf(sent) ?? '',
        (withRead && textOf(read)) || '',
      ]),
    )
    yield {rows: lines.length, text: lines.map(line => `${line}\r\n`).join('')}
  }
  await assertStillKept(deps.db, run.no)
}
