import type {Readable} from 'node:stream'
import type {Db, Hot, Tx} from '../../../sql/database.ts'
import {findPlan} from '../../../sql/plans.ts'
import {type FinalEntry, OUTCOMES, type OutcomeName, PHASES} from '../../../sql/run-log.ts'
import {findRetryId, type Run} from '../../../sql/runs.ts'
import {Refusal} from '../../errors.ts'
import {editsIn} from '../../files/cleaning/edit-cells.ts'
import {ingest} from '../../files/ingest.ts'
import {isCompatibleReader, Reader} from '../../files/reader.ts'
import {explainLift, mostBytesOf, type SourceDeps} from '../../files/sources/add.ts'
import {editSource} from '../../files/sources/edit.ts'
import type {SourceEvidence} from '../../files/sources/evidence.ts'
import {assertOpen, findImportSource} from '../../files/sources/find.ts'
import {type TextFacts, textProblems} from '../../files/text/text-problems.ts'
import {newId} from '../../ids.ts'
import type {Snapshot, SnapshotSource} from '../../mapping/flows/snapshot.ts'
import {type FoundRun, findImportRun} from '../find.ts'
import {RecordsMoved, readOutcomes} from '../results/outcomes.ts'
import type {FailedRowsOrigin} from '../results/reason-columns.ts'
import {chooseSource} from '../results/results.ts'
import {frozenOf, readBy} from '../rows.ts'
import {assertNotUndone} from '../undo/undo-status.ts'
import type {Corrections} from './find-corrections.ts'

type CorrectionDeps = SourceDeps & {hot: Hot}
type CorrectInput = {org: string; importId: string; runId: string; source: string | undefined; charset: string | undefined; body: Readable}

export type CorrectedSource = Pick<Corrections, 'rows' | 'kept' | 'matchedBy'> & {run: string; source: string; cells: number}

/**
 * Matches the rows of a corrected file to the rows of an ended run. Stores the changed cells as edited cells of the run's file. A retry
 * then writes these rows under their row numbers, and no row twice. The corrected file itself is not kept.
 */
export const correctRun = async (deps: CorrectionDeps, {body, charset, ...input}: CorrectInput): Promise<CorrectedSource> => {
  const {org, importId} = input
  await assertOpen(deps.db, {org, importId})
  deps.parsing.assertRoom(org)
  const {foundRun, snapshot, frozen: files, source: onlySource} = await findCorrected(deps, input)
  const {run} = foundRun
  const {limits} = await findPlan(deps.db, org)
  const key = `${org}/${importId}/${newId('src')}`
  const upload = {body, maxBytes: mostBytesOf(deps.config, limits), storage: deps.storage, key, named: {charset, kept: encodingOf(files)}}
  const match = async (reader: unknown, origin: FailedRowsOrigin | undefined) => {
    const frozen = files.length === 1 ? files[0]! : chooseByHeader(snapshot, origin)
    const source = onlySource ?? (await findUnchangedSource(deps.db, input, frozen))
    const settled = await readAgainIfMoved(() => listSettled(deps, {org, importId, last: foundRun, source: frozen}))
    const shown = origin ? await findShown(deps.db, {org, importId, origin}) : null
    const corrections = await deps.parsing.run(org, 'corrections', {
      source,
      corrected: {fileKey: key, reader},
      settled,
      keys: keysOf(snapshot, frozen),
      before: editsIn(shown?.cleaning ?? []),
      shownAs: shown && (shown.readings ?? {}),
    })
    return {source, corrections}
  }
  const {
    found: {source, corrections},
  } = await ingest(upload, async file => {
    // Open quotes in the header are accepted here. `match` refuses them unless a person accepted open quotes in the run's file.
    const kept = file.format === 'csv' ? {...file, reader: {openQuotes: 'keep' as const}} : file
    const {reader, evidence, corrects} = await deps.parsing.run(org, 'readNew', kept)
    const {sniffed, text} = JSON.parse(evidence) as SourceEvidence
    assertReadable({reader, sniffed, text})
    return match(reader, corrects)
  }).catch(error => explainLift(deps, org, error))
  await deps.storage.remove(key)
  const base = {version: source.version, assertCurrent: (tx: Tx) => assertLastRun(tx, run)}
  const {rows, cells, kept, matchedBy} = corrections
  if (cells.length > 0) await editSource(deps, {org, importId, sourceId: source.id}, {cells}, base)
  return {run: run.id, source: source.id, rows, cells: cells.length, kept, matchedBy}
}

/**
 * Finds the snapshot source from which a failed.csv was made. Its cleaning contains the edits that failed.csv shows. Null if the run or source is
 * gone.
 */
const findShown = async (
  db: Db,
  {org, importId, origin}: {org: string; importId: string; origin: FailedRowsOrigin},
): Promise<SnapshotSource | null> => {
  const found = await findImportRun(db, {org, importId, runId: origin.run}).catch(error => {
    if (error instanceof Refusal) return null
    throw error
  })
  return found?.snapshot?.sources.find(({id}) => id === origin.source) ?? null
}

/**
 * Returns the encoding of the run's files; undefined for workbooks, and if the encodings differ. A corrected file whose bytes prove no encoding is
 * read with this encoding.
 */
const encodingOf = (files: SnapshotSource[]): string | undefined => {
  const readers = files.map(({reader}) => Reader.parse(reader))
  const encodings = new Set(readers.map(reader => (reader.format === 'csv' ? reader.encoding : undefined)))
  return encodings.size === 1 ? [...encodings][0] : undefined
}

/**
 * Chooses the file that the header of a failed.csv names. Any other file needs the parameter `source`, because its rows could also fit another file
 * of the run. A failed.csv of another run is refused when its rows are matched.
 */
const chooseByHeader = (snapshot: Snapshot, origin: FailedRowsOrigin | undefined): SnapshotSource => {
  const files = readBy(snapshot)
  return origin ? (files.find(({id}) => id === origin.source) ?? files[0]!) : chooseSource(snapshot, undefined)
}

/** Throws if the text of the corrected file is not certain. Wrongly read cells would differ from those of the run, and so become edits. */
const assertReadable = (facts: TextFacts) => {
  const [problem] = textProblems(facts)
  if (!problem) return
  const remedy = 'Save the file as UTF-8, or name its encoding in Content-Type, such as text/csv; charset=windows-1252'
  throw new Refusal(problem.kind === 'encoding' ? 'ENCODING_REQUIRED' : 'BAD_BYTES', `${problem.message}. ${remedy}`)
}

/**
 * Finds the last run of the chain, and the files that may be corrected: the named one, or all that the run read. `source`: null if there are several,
 * because only the header of the corrected file names its source.
 */
const findCorrected = async ({db}: CorrectionDeps, {org, importId, runId, source: named}: Omit<CorrectInput, 'body' | 'charset'>) => {
  const foundRun = await findLastRun(db, {org, importId, runId})
  const {run} = foundRun
  if (run.dryRun)
    throw new Refusal('DRY_RUN', 'A dry run writes nothing, so there is nothing to correct. Edit the rows of the import instead')
  await assertNotUndone(db, run)
  if (run.state !== 'ended') throw new Refusal('IMPORT_RUNNING', 'The run has not ended. Wait for it to end, or cancel it')
  const {snapshot, source: first} = frozenOf(foundRun, named)
  const frozen = named === undefined ? readBy(snapshot) : [first]
  const source = frozen.length === 1 ? await findUnchangedSource(db, {org, importId}, first) : null
  return {foundRun, source, snapshot, frozen}
}

/** Finds the file in the import. It must be read as in the run, because edited cells refer to rows by number. */
const findUnchangedSource = async (db: Db, {org, importId}: Pick<CorrectInput, 'org' | 'importId'>, frozen: SnapshotSource) => {
  const {source} = await findImportSource(db, {org, importId, sourceId: frozen.id})
  if (!isCompatibleReader(frozen.reader, source.reader))
    throw new Refusal(
      'SNAPSHOT_CHANGED',
      `"${source.label}" is read with other options than in the run. Restore the options, then correct its rows`,
    )
  return source
}

/** Finds the last run of the retry chain, because only that run can be retried. Rows have the same numbers in every run of the chain. */
const findLastRun = async (db: Db, {org, importId, runId}: Pick<CorrectInput, 'org' | 'importId' | 'runId'>): Promise<FoundRun> => {
  const found = await findImportRun(db, {org, importId, runId})
  const later = await findRetryId(db, found.run.no)
  return later === null ? found : findLastRun(db, {org, importId, runId: later})
}

/** Throws if the run was undone or retried while its corrected file was received. The caller must have locked the import. */
const assertLastRun = async (tx: Tx, run: Run) => {
  await assertNotUndone(tx, run)
  if ((await findRetryId(tx, run.no)) !== null)
    throw new Refusal('BUSY', 'The run was retried while its corrected file was received. Send the file again', {retryAfterMs: 1_000})
}

/**
 * Returns the columns of the match fields of the file's first flow with a match. Empty without such a flow, or if a match field is not read
 * from a column.
 */
const keysOf = ({flows}: Snapshot, {no}: SnapshotSource): string[] => {
  const flow = flows.find(({sourceNo, flow}) => sourceNo === no && flow.match)?.flow
  const columns = flow?.match?.by.map(name => flow.fields.find(({field}) => field === name)) ?? []
  return columns.every(field => field?.mode === 'column') ? columns.map(field => (field as {source: string}).source) : []
}

const readAgainIfMoved = <T>(read: () => Promise<T>): Promise<T> =>
  read().catch(error => {
    if (error instanceof RecordsMoved) return read()
    throw error
  })

const writtenOutcomes: OutcomeName[] = ['created', 'updated', 'inherited', 'unanswered']
const openOutcomes: OutcomeName[] = ['failed', 'refused', 'skipped', 'would_ask']

type SettledQuery = {org: string; importId: string; last: FoundRun; source: SnapshotSource}
const [SETTLED, OPEN] = [1, 2]

/**
 * Lists the rows that no retry writes, in ascending order. The newest run of the chain that logged a row decides, because a run may end before it
 * reaches every row. Stops at a run that expired or did not read the file.
 */
const listSettled = async (deps: CorrectionDeps, {org, importId, last, source}: SettledQuery): Promise<Uint32Array> => {
  const states = new Uint8Array(source.rows + 1)
  for (let found: FoundRun | null = last; found && found.run.expiredAt === null; ) {
    const {run, snapshot}: FoundRun = found
    const frozen = snapshot?.sources.find(({id}) => id === source.id)
    if (!snapshot || !frozen) break
    for await (const finals of readOutcomes(deps, {run: run.no, source: frozen, flows: snapshot.flows}))
      for (const [number, entries] of Map.groupBy(finals, ({number}) => number)) states[number] ||= isSettled(entries) ? SETTLED : OPEN
    found = run.retryOf === null ? null : await findImportRun(deps.db, {org, importId, runId: run.retryOf})
  }
  return Uint32Array.from([...states.keys()].filter(number => states[number] === SETTLED))
}

/**
 * Whether no retry writes the row: one of its flows wrote or inherited it, or got no answer, and none left anything to do. Values that were kept and
 * tags that were refused are no reason to write a row again, and neither is a skipped row whose record was patched.
 */
const isSettled = (entries: FinalEntry[]) => {
  const patched = new Set(entries.flatMap(({flow, phase, outcome}) => (isNamed(phase, 'patch') && isUpdated(outcome) ? [flow] : [])))
  const decisive = entries.filter(({flow, phase}) => !isNamed(phase, 'edit', 'tag') && !(isNamed(phase, 'write') && patched.has(flow)))
  const outcomes = decisive.map(({outcome}) => OUTCOMES[outcome]!)
  return outcomes.some(outcome => writtenOutcomes.includes(outcome)) && !outcomes.some(outcome => openOutcomes.includes(outcome))
}

const isNamed = (phase: number, ...names: (typeof PHASES)[number][]) => names.includes(PHASES[phase]!)
const isUpdated = (outcome: number) => OUTCOMES[outcome] === 'updated'
