import type {Readable} from 'node:stream'
import type {Hot} from '../../sql/database.ts'
import {type FinalEntry, listFinals, OUTCOMES} from '../../sql/run-log.ts'
import {Refusal} from '../errors.ts'
import type {Snapshot, SnapshotSource} from '../flows/snapshot.ts'
import {writeResults} from '../imports/results-csv.ts'
import type {Outcome, RowOutcome} from '../imports/row-result.ts'
import {spool} from '../imports/spool.ts'
import {type FilePlace, openFile} from '../imports/stored-file.ts'
import {StorageMissing} from '../storage.ts'
import type {FoundRun} from './find.ts'

const rowsPerLook = 1_000
/** Each may take 64 MB of disk and a core for seconds. */
const mostAtOnce = 4
let under = 0

/** The run's results file, whole before its first byte is sent, so that whatever is wrong is answered as a refusal. `open` once; it removes itself. */
export const makeResults = async (tools: FilePlace & {hot: Hot}, {run, snapshot}: FoundRun, sourceId: string | undefined) => {
  if (run.dryRun) throw new Refusal('DRY_RUN', 'A dry run writes nothing, so it has no results')
  if (!snapshot)
    throw new Refusal(
      'NO_FILE',
      "This run's rows are read by an engine of your own, not from a file here: its log says what became of each",
    )
  const source = chooseSource(snapshot, sourceId)
  if (under >= mostAtOnce)
    throw new Refusal('BUSY', 'Other results files are being made: ask again in a few seconds', {retryAfterMs: 5_000})
  under++
  try {
    const spooled = await spool(lines(tools, run.no, snapshot, source))
    return {bytes: spooled.bytes, open: (): Readable => spooled.open().once('close', () => void spooled.remove())}
  } finally {
    under--
  }
}

const chooseSource = ({sources, flows}: Snapshot, id: string | undefined): SnapshotSource => {
  const read = sources.filter(({no}) => flows.some(({sourceNo}) => sourceNo === no))
  if (id === undefined && read.length === 1) return read[0]!
  if (id === undefined)
    throw new Refusal('SOURCE_REQUIRED', 'The run read several files: name one with ?source=', {
      sources: read.map(({id, label}) => ({id, label})),
    })
  const chosen = read.find(source => source.id === id)
  if (!chosen) throw new Refusal('SOURCE_NOT_FOUND', 'The run read no such file')
  return chosen
}

async function* lines({hot, ...place}: FilePlace & {hot: Hot}, run: number, {flows, modules}: Snapshot, source: SnapshotSource) {
  try {
    const mine = flows.filter(({sourceNo}) => sourceNo === source.no)
    const written = modules.filter(({no}) => mine.some(({moduleNo}) => moduleNo === no))
    const {fileColumns, rows} = await openFile(place, source)
    yield* writeResults({
      columns: fileColumns,
      rows,
      outcomes: outcomesOf(hot, {run, rows: source.rows, flows: mine.map(({no}) => no), modules: written}),
      modules: written,
    })
  } catch (error) {
    if (error instanceof StorageMissing) throw new Refusal('FILE_GONE', 'The file of this run is no longer in storage')
    throw error
  }
}

type Wanted = {run: number; rows: number; flows: number[]; modules: Snapshot['modules']}

async function* outcomesOf(hot: Hot, {run, rows, flows, modules}: Wanted): AsyncGenerator<RowOutcome[]> {
  const names = new Map(modules.map(({no, apiName}) => [no, apiName]))
  for (let from = 1; from <= rows; from += rowsPerLook) {
    const finals = await listFinals(hot, {run, flows, from, to: from + rowsPerLook - 1})
    yield [...Map.groupBy(finals, ({number}) => number)].map(([rowNumber, entries]) => ({
      rowNumber,
      entries: entries.map(entry => describe(entry, names)),
    }))
  }
}

const describe = ({module, outcome, recordId, code, message, disclosed}: FinalEntry, names: Map<number, string>) => ({
  module: names.get(module) ?? '',
  outcome: OUTCOMES[outcome] as Outcome,
  recordId,
  code,
  message,
  disclosed,
})
